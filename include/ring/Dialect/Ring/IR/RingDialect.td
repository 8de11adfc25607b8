//===- RingDialect.td - The ring dialect -------------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGDIALECT_TD
#define RING_DIALECT_RING_IR_RINGDIALECT_TD

include "mlir/IR/OpBase.td"

def Ring_Dialect : Dialect {
  let name = "ring";
  let cppNamespace = "::mlir::ring";
  let summary = "Exact attention over a ring of devices";
  let description = [{
    The `ring` dialect takes attention from one op on whole tensors
    (`ring.attention`) to a program for N ranks: each keeps its block of
    queries, blocks of keys and values travel around the ring
    (`ring.permute_start`, `ring.permute_wait`), and each rank folds the block
    it holds into a running state (`ring.online_attention`), until
    `ring.finalize` turns the state into the result.

    The grid of ranks is upstream's `shard.grid`. Its discardable attribute
    `ring.order = [permutation]` gives the order of the ranks around the ring.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::shard::ShardDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

class Ring_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ring_Dialect, mnemonic, traits>;

#endif // RING_DIALECT_RING_IR_RINGDIALECT_TD
