//===- DriverErrors.cpp - Names and texts of the driver's errors ----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"

using namespace ring::vgpu;

CUresult ring::vgpu::cuGetErrorName(CUresult code, const char **name) {
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  switch (code) {
#define RING_VGPU_CASE(symbol, number, text)                                   \
  case symbol:                                                                 \
    *name = #symbol;                                                           \
    return CUDA_SUCCESS;
    RING_VGPU_ERRORS(RING_VGPU_CASE)
#undef RING_VGPU_CASE
  }
  *name = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult ring::vgpu::cuGetErrorString(CUresult code, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  switch (code) {
#define RING_VGPU_CASE(symbol, number, message)                                \
  case symbol:                                                                 \
    *text = message;                                                           \
    return CUDA_SUCCESS;
    RING_VGPU_ERRORS(RING_VGPU_CASE)
#undef RING_VGPU_CASE
  }
  *text = nullptr;
  return CUDA_ERROR_INVALID_VALUE;
}
