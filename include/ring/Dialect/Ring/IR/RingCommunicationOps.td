//===- RingCommunicationOps.td - Moving data ----------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGCOMMUNICATIONOPS_TD
#define RING_DIALECT_RING_IR_RINGCOMMUNICATIONOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ring/Dialect/Ring/IR/RingAttentionOps.td"

/// The grid is a `shard.grid` with static sizes that has this axis.
class Ring_GridOp<string mnemonic, list<Trait> traits>
    : Ring_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<SymbolUserOpInterface>])>;

def Ring_OwnerOp : Ring_GridOp<"owner", [Pure]> {
  let summary = "the rank whose block is here in a round";
  let description = [{
    In round t the rank at place x of the ring holds the block of the rank at
    place (x - t) mod N. Places follow the grid's `ring.order`; where it is left
    out, rank r is at place r.

    Example: `%owner = ring.owner %round on @ring axis 0`

    Constraints:
    - the grid is a `shard.grid` that has this axis, with a static size.
  }];
  let arguments = (ins Index:$round, FlatSymbolRefAttr:$grid, I64Attr:$axis);
  let results = (outs Index:$owner);
  let assemblyFormat = "$round `on` $grid `axis` $axis attr-dict";
  let hasCanonicalizer = 1;
}

def Ring_PermuteStartOp : Ring_GridOp<"permute_start", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "starts an asynchronous shift by one around the ring";
  let description = [{
    Sends the operands, as one message group, to the next rank of the ring and
    will receive the like from the previous one. With a future as operand it
    sends on what that transfer, not waited for yet, will deliver: transfers on
    one axis run in order.

    Example:

    ```mlir
    %f1 = ring.permute_start %k, %v on @ring axis 0 : tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>
    %f2 = ring.permute_start %f1 on @ring axis 0 : !ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>>
    ```

    What is sent must not be written before the transfer is done.

    Constraints:
    - sends one or more tensors, or one or more memrefs, or one future;
    - the grid is a `shard.grid` that has this axis, with a static size;
    - the future is waited for exactly once on every path, which
      `ring-verify-schedule` proves.
  }];
  let arguments = (ins
    Variadic<AnyTypeOf<[AnyRankedTensor, AnyMemRef, Ring_FutureType]>>:$sources,
    FlatSymbolRefAttr:$grid, I64Attr:$axis);
  let results = (outs Ring_FutureType:$future);
  let assemblyFormat = [{
    $sources `on` $grid `axis` $axis attr-dict `:` type($sources)
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The future whose delivery is sent on; null where tensors are sent.
    ::mlir::Value getForwarded() {
      ::mlir::Value first = getSources().front();
      return ::mlir::isa<FutureType>(first.getType()) ? first : ::mlir::Value();
    }
  }];
}

def Ring_PermuteWaitOp : Ring_Op<"permute_wait", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits for a transfer and returns what arrived";
  let description = [{
    Returns when what was sent has left and what is received has arrived. On
    memrefs it returns the addresses of what arrived, which the transport
    chooses.

    Example: `%k1, %v1 = ring.permute_wait %f : !ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>>`

    Constraints:
    - returns the payload of the future.
  }];
  let arguments = (ins Ring_FutureType:$future);
  let results = (outs Variadic<AnyType>:$received);
  let assemblyFormat = "$future attr-dict `:` custom<WholeType>(type($future))";
  let hasCanonicalizer = 1;
}

def Ring_ScatterOp : Ring_GridOp<"scatter", [Pure]> {
  let summary = "whole tensor to the local tensor of each rank";
  let description = [{
    The boundary of a sharded program: rank r's local tensor holds, along
    `dim`, the positions that the table gives to r, padded with zeros to the
    longest rank's.

    Example: `%ql = ring.scatter %q by %table dim 2 on @ring axis 0 : tensor<1x8x256x64xf32>, tensor<4x5xi64> -> tensor<1x8x?x64xf32>`

    Constraints:
    - `dim` is a dimension of the operand;
    - the result is the operand with `dim` made dynamic;
    - the table is [entries, 5], see `#ring.layout`;
    - the grid is a `shard.grid` that has this axis, with a static size.
  }];
  let arguments = (ins AnyRankedTensor:$source, Ring_TensorOf<[I64], 2>:$table,
    I64Attr:$dim, FlatSymbolRefAttr:$grid, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$local);
  let assemblyFormat = [{
    $source `by` $table `dim` $dim `on` $grid `axis` $axis attr-dict
    `:` type($source) `,` type($table) `->` type($local)
  }];
  let hasVerifier = 1;
}

def Ring_GatherOp : Ring_GridOp<"gather", [
    Pure,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "the ranks' local tensors to the whole tensor";
  let description = [{
    The inverse of `ring.scatter`: each position is taken from the rank that
    owns it; padding is dropped.

    Example: `%o = ring.gather %ol by %table dim 2 on @ring axis 0 : tensor<1x8x?x64xf32>, tensor<4x5xi64> -> tensor<1x8x256x64xf32>`

    Constraints:
    - `dim` is a dimension of the result;
    - there is one of `sizes` for each dynamic dimension of the result;
    - the operand is the result with `dim` made dynamic;
    - the table is [entries, 5], see `#ring.layout`;
    - the grid is a `shard.grid` that has this axis, with a static size.
  }];
  let arguments = (ins AnyRankedTensor:$local, Ring_TensorOf<[I64], 2>:$table,
    Variadic<Index>:$sizes, I64Attr:$dim, FlatSymbolRefAttr:$grid,
    I64Attr:$axis);
  let results = (outs AnyRankedTensor:$whole);
  let assemblyFormat = [{
    $local `by` $table `dim` $dim (`sizes` `(` $sizes^ `)`)?
    `on` $grid `axis` $axis attr-dict
    `:` type($local) `,` type($table) `->` type($whole)
  }];
  let hasVerifier = 1;
}

#endif // RING_DIALECT_RING_IR_RINGCOMMUNICATIONOPS_TD
