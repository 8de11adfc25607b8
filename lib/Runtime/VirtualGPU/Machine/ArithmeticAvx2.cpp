//===- ArithmeticAvx2.cpp - The same for AVX2 and FMA ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#define RING_ISA avx2
#include "Arithmetic.inc"
