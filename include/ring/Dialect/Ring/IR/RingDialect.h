//===- RingDialect.h - The ring dialect -------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGDIALECT_H
#define RING_DIALECT_RING_IR_RINGDIALECT_H

#include "ring/Analysis/Layout.h"
#include "ring/Analysis/Mask.h"
#include "ring/Analysis/Schedule.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "ring/Dialect/Ring/IR/RingDialect.h.inc"
#include "ring/Dialect/Ring/IR/RingEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ring/Dialect/Ring/IR/RingAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ring/Dialect/Ring/IR/RingTypes.h.inc"

#define GET_OP_CLASSES
#include "ring/Dialect/Ring/IR/RingOps.h.inc"

namespace mlir::ring {

/// Discardable attribute of a `shard.grid`: the order of the ranks around the
/// ring, a permutation of 0..N-1 (DenseI64ArrayAttr or array of integers).
inline constexpr llvm::StringLiteral kOrderAttrName = "ring.order";
/// Discardable attribute of a rank function: the host function it belongs to.
inline constexpr llvm::StringLiteral kRankOfAttrName = "ring.rank_of";
/// Discardable attribute of a rank function that calls those of its attentions
/// and else works on its own positions only.
inline constexpr llvm::StringLiteral kLocalAttrName = "ring.local";
/// On what runs a rank function (ring.host.run, ring.call): the one for ranks
/// that compute on a GPU, where others compute on a CPU.
inline constexpr llvm::StringLiteral kDeviceCalleeAttrName =
    "ring.device_callee";
/// Discardable attribute of a rank function: its `#ring.layout`.
inline constexpr llvm::StringLiteral kLayoutAttrName = "ring.layout";
/// Discardable attribute of a rank function: how many transfers it keeps in
/// flight, plus the block in use (an integer).
inline constexpr llvm::StringLiteral kSlotsAttrName = "ring.slots";
/// Discardable attribute of a rank function: an integer that differs between
/// programs that cannot run together.
inline constexpr llvm::StringLiteral kFingerprintAttrName = "ring.fingerprint";
/// Discardable attribute of a rank function: what it computes, for people who
/// have to find out why two fingerprints differ (a string).
inline constexpr llvm::StringLiteral kProgramAttrName = "ring.program";

/// Most ranks of a ring. Tables, and the work of some analyses, grow with it.
inline constexpr int64_t kMaxRingSize = 1024;

/// The ring along axis `axis` of the grid, in its `ring.order`. The grid has
/// been verified.
::ring::RingOrder getRingOrder(shard::GridOp grid, int64_t axis);

/// The layout table as an IR constant [entries, 5] and back. `parseTable`
/// returns nothing where there is no constant.
DenseIntElementsAttr tableAttr(MLIRContext *context,
                               llvm::ArrayRef<::ring::LayoutEntry> entries);
/// The constant that a table is, also in memory; null where it is none.
DenseIntElementsAttr constantTable(Value table);
std::optional<std::vector<::ring::LayoutEntry>> parseTable(Attribute table);
std::optional<std::vector<::ring::LayoutEntry>> parseTable(Value table);

/// The local type of a rank: `type` with dimension `dim` dynamic.
RankedTensorType localType(RankedTensorType type, int64_t dim);

/// The values from outside that a `score` region uses and that are no
/// constants, in the order of their first use.
llvm::SmallVector<Value> getScoreCaptures(Region &score);
/// Copies, with `b`, the constants from outside that a `score` region uses, but
/// for those that `mapping` has already, and maps them.
void cloneScoreConstants(OpBuilder &b, Region &score, IRMapping &mapping);

} // namespace mlir::ring

#endif // RING_DIALECT_RING_IR_RINGDIALECT_H
