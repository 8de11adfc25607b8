//===- AttentionKernel.h - Blockwise attention on a GPU ---------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_RINGTOGPU_ATTENTIONKERNEL_H
#define RING_LIB_CONVERSION_RINGTOGPU_ATTENTIONKERNEL_H

#include "TilePlan.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::ring {

/// What a kernel computes, besides the masks, ids and lengths that it is told
/// at run time.
struct AttentionKernelSpec {
  GPUTilePlan plan;
  Type element; ///< of query, key and value: f16, bf16 or f32
  Type out;     ///< element type of the result
  Type bias;    ///< element type, null: none
  float scale;
  std::optional<float> softcap;
  Region *score; ///< null: none
  EmptyRows emptyRows;

  /// More than a scale is done to the scores; a negative scale counts, since a
  /// maximum before it would be a minimum.
  bool transformsScores() const {
    return bias || softcap || score || !(scale > 0);
  }
};

/// Fills the body of a kernel whose only argument is a `ring_attention_params`
/// by value. `shared` is the module's global of dynamic shared memory. False
/// where the `score` region holds something that a kernel cannot do; the error
/// has been emitted.
bool buildAttentionKernel(const AttentionKernelSpec &spec,
                          LLVM::LLVMFuncOp kernel, LLVM::GlobalOp shared);

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_RINGTOGPU_ATTENTIONKERNEL_H
