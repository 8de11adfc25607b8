//===- Chips.h - The chips that kernels are made for ------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_RINGTOGPU_CHIPS_H
#define RING_CONVERSION_RINGTOGPU_CHIPS_H

#include <string>

namespace mlir::ring {

/// All that convert-ring-to-gpu takes, for messages: "sm_80, sm_86 or sm_89".
std::string kernelChips();

} // namespace mlir::ring

#endif // RING_CONVERSION_RINGTOGPU_CHIPS_H
