//===- FakeMachine.h - Kernels that are C++ functions -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands for the SIMT machine where the driver is tested: an image names its
// kernels, "fake: copy add", and a test says what they do.
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_VIRTUALGPU_FAKEMACHINE_H
#define RING_UNITTESTS_RUNTIME_VIRTUALGPU_FAKEMACHINE_H

#include "Machine.h"

#include <functional>

namespace ring::test {

/// The values of its parameters, and the memory that it sees; what went wrong,
/// or "".
using FakeKernel = std::function<std::string(const std::vector<uint64_t> &,
                                             vgpu::DeviceMemory &)>;

/// From now on kernels of this name, with so many parameters of 8 bytes.
void defineKernel(const std::string &name, size_t parameters, FakeKernel body);

} // namespace ring::test

#endif // RING_UNITTESTS_RUNTIME_VIRTUALGPU_FAKEMACHINE_H
