//===- AttentionShapes.h - Sizes of an attention ----------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_TOOLS_RINGRUN_ATTENTIONSHAPES_H
#define RING_LIB_TOOLS_RINGRUN_ATTENTIONSHAPES_H

#include "ring/Tools/RingRun/DenseAttention.h"

namespace ring::tools {

struct AttentionShapes {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t sq = 0;
  int64_t sk = 0;
  int64_t depth = 0;
  int64_t valueDepth = 0;
};

/// The sizes of the operands, an error that names the first operand that does
/// not fit: "attention operand key: expected 1x2x256x64, got 1x2x256x32xf32".
llvm::Expected<AttentionShapes>
attentionShapes(const AttentionOperands &operands, const AttentionSpec &spec);

} // namespace ring::tools

#endif // RING_LIB_TOOLS_RINGRUN_ATTENTIONSHAPES_H
