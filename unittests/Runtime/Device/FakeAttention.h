//===- FakeAttention.h - The kernel of the fake driver ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_DEVICE_FAKEATTENTION_H
#define RING_UNITTESTS_RUNTIME_DEVICE_FAKEATTENTION_H

#include "FakeDriver.h"

namespace ring::test {

/// Runs a launch of so many items and head blocks, item after item, in the
/// words of Device.h. Scale 1, natural units.
void runFakeAttention(const ring_attention_params &params, unsigned items,
                      unsigned headBlocks, int device, int launch);

} // namespace ring::test

#endif // RING_UNITTESTS_RUNTIME_DEVICE_FAKEATTENTION_H
