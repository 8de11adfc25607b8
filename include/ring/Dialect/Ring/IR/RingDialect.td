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

    The grid of ranks is upstream's `shard.grid`; a ring is one axis of it. A
    rank is known to the ops by its index along that axis.

    Attributes on the ops of other dialects:

    | attribute | on | meaning |
    |---|---|---|
    | `ring.order = [0, 2, 1, 3]` | `shard.grid` | the order of the ranks around the ring: a permutation of 0..N-1, for every axis of N ranks |
    | `ring.rank_of = @f` | a function | it is what each rank runs for the host function `@f` |
    | `ring.local` | a function | this rank function has no rounds: it calls those of its attentions, and else works on its own positions |
    | `ring.layout = #ring.layout<...>` | a function | the layout of this rank function |
    | `ring.slots = 3` | a function | the slots that its transfers need, with the block in use |
    | `ring.fingerprint = 42` | a function | ranks whose programs have other fingerprints cannot run with it |
    | `ring.program = "4 ranks; ..."` | a function | what the fingerprint stands for, in words; shown where two differ |

    Any other attribute `ring.*` is an error.
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
