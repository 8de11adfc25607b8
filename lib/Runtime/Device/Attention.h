//===- Attention.h - An attention on a GPU, round by round ------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_RUNTIME_DEVICE_ATTENTION_H
#define RING_RUNTIME_DEVICE_ATTENTION_H

#include "Device.h"
#include "WorkList.h"

struct ring_device_attention {
  ring_attention_kernel kernel;
  std::string name; ///< of the kernel, which may be gone
  ring::cuda::CUfunction function = nullptr;
  ring::runtime::WorkShape shape;
  ring_attention_params params = {}; ///< but for the lists
  std::vector<uint8_t> states;       ///< tiles that have one
  bool begun = false, finished = false;
};

#endif // RING_RUNTIME_DEVICE_ATTENTION_H
