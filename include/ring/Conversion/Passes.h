//===- Passes.h - Conversions of the ring dialect ---------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_PASSES_H
#define RING_CONVERSION_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

namespace mlir::ring {

// Each generated file undefines the macros it answers to.
#define GEN_PASS_DECL
#include "ring/Conversion/AttentionToLinalg/Passes.h.inc"
#define GEN_PASS_DECL
#include "ring/Conversion/ContractionToVector/Passes.h.inc"
#define GEN_PASS_DECL
#include "ring/Conversion/LinalgToParallel/Passes.h.inc"
#define GEN_PASS_DECL
#include "ring/Conversion/RingToGPU/Passes.h.inc"
#define GEN_PASS_DECL
#include "ring/Conversion/RingToLLVM/Passes.h.inc"
#define GEN_PASS_DECL
#include "ring/Conversion/RingToVector/Passes.h.inc"
#define GEN_PASS_DECL
#include "ring/Conversion/StableHLOToLinalg/Passes.h.inc"
#define GEN_PASS_DECL
#include "ring/Conversion/TorchToRing/Passes.h.inc"
#define GEN_PASS_DECL
#include "ring/Conversion/TosaToLinalg/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ring/Conversion/AttentionToLinalg/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Conversion/ContractionToVector/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Conversion/LinalgToParallel/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Conversion/RingToGPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Conversion/RingToLLVM/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Conversion/RingToVector/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Conversion/StableHLOToLinalg/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Conversion/TorchToRing/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ring/Conversion/TosaToLinalg/Passes.h.inc"

} // namespace mlir::ring

#endif // RING_CONVERSION_PASSES_H
