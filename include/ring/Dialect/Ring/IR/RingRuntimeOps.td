//===- RingRuntimeOps.td - Ops next to the runtime ----------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGRUNTIMEOPS_TD
#define RING_DIALECT_RING_IR_RINGRUNTIMEOPS_TD

include "ring/Dialect/Ring/IR/RingTableOps.td"

/// Ranked, since it becomes a strided descriptor.
def Ring_Shaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef],
                            "ranked tensor or memref">;

def Ring_RanksOp : Ring_Op<"host.ranks", [Pure]> {
  let summary = "how many ranks of the ring live in this process";
  let description = [{
    The leading size of the stacks that `ring.host.scatter`, `ring.host.run` and
    `ring.host.gather` work on. Lowers to `ring_host_local_ranks`.

    Example: `%n = ring.host.ranks`
  }];
  let arguments = (ins);
  let results = (outs Index:$ranks);
  let assemblyFormat = "attr-dict";
}

def Ring_HostScatterOp : Ring_StateOp<"host.scatter", []> {
  let summary = "ring.scatter into a stack of local tensors";
  let description = [{
    `outs` is [local ranks, ...the local tensor...]. Lowers to
    `ring_host_scatter`.

    Example:

    ```mlir
    %s = ring.host.scatter %q by %table dim 2 outs(%stack)
      : (tensor<1x8x256x64xf32>, tensor<4x5xi64>, tensor<?x1x8x64x64xf32>)
      -> tensor<?x1x8x64x64xf32>
    ```

    Constraints:
    - `dim` is a dimension of the whole tensor;
    - the stack has one dimension more than the whole tensor, its element type,
      and its sizes but for the first and `dim`;
    - the table is [entries, 5], see `#ring.layout`;
    - both are tensors, or both are memrefs.
  }];
  let arguments = (ins Ring_Shaped:$source, Ring_Table:$table,
    Ring_Shaped:$stacked, I64Attr:$dim);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = [{
    $source `by` $table `dim` $dim `outs` `(` $stacked `)`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() { return getStackedMutable(); }
  }];
}

def Ring_HostGatherOp : Ring_StateOp<"host.gather", []> {
  let summary = "ring.gather from a stack of local tensors";
  let description = [{
    The stack is [local ranks, ...the local tensor...]. Lowers to
    `ring_host_gather`.

    Example:

    ```mlir
    %o = ring.host.gather %stack by %table dim 2 outs(%empty)
      : (tensor<?x1x8x64x64xf32>, tensor<4x5xi64>, tensor<1x8x256x64xf32>)
      -> tensor<1x8x256x64xf32>
    ```

    Constraints:
    - as of `ring.host.scatter`, with `outs` the whole tensor.
  }];
  let arguments = (ins Ring_Shaped:$stacked, Ring_Table:$table,
    Ring_Shaped:$whole, I64Attr:$dim);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = [{
    $stacked `by` $table `dim` $dim `outs` `(` $whole `)`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() { return getWholeMutable(); }
  }];
}

def Ring_HostRunOp : Ring_StateOp<"host.run", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a rank function on every rank of this process";
  let description = [{
    Inputs and `outs` are stacks [local ranks, ...the rank function's
    tensor...]; the r-th local rank works on the r-th part of each. What is
    `replicated` every rank is given as it is. The rank function takes the
    inputs, then the replicated values, then its outputs. `ranks` is the number of
    ranks that the rank function was compiled for, on all processes. Lowers to
    `ring_host_run`.

    Example:

    ```mlir
    %o = ring.host.run @attention_rank ranks 4 (%q, %k, %v) outs(%empty)
      : (tensor<?x1x8x64x64xf32>, tensor<?x1x2x64x64xf32>, tensor<?x1x2x64x64xf32>,
         tensor<?x1x8x64x64xf32>) -> tensor<?x1x8x64x64xf32>
    ```

    Constraints:
    - the callee is a function;
    - `ranks` is positive;
    - every stack has a leading dimension, of one size;
    - `outs` are all tensors, or all memrefs.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, I64Attr:$ranks,
    Variadic<Ring_Shaped>:$inputs, Variadic<AnyType>:$replicated,
    Variadic<Ring_Shaped>:$outputs);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = [{
    $callee `ranks` $ranks ` ` `(` $inputs `)`
    (`replicated` `(` $replicated^ `)`)? `outs` `(` $outputs `)`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

def Ring_CallOp : Ring_StateOp<"call", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a rank function from another one";
  let description = [{
    What a rank does for one attention, called on its local tensors by what it
    does around it. The callee takes the inputs, then its outputs. Lowers to a
    call with the rank's context whose status is checked.

    Example:

    ```mlir
    %o = ring.call @f_attention (%q, %k, %v) outs(%empty)
      : (tensor<1x8x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>,
         tensor<1x8x?x64xf32>) -> tensor<1x8x?x64xf32>
    ```

    Constraints:
    - the callee is a function;
    - `outs` are all tensors, or all memrefs.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$inputs,
    Variadic<Ring_Shaped>:$outputs);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = [{
    $callee ` ` `(` $inputs `)` `outs` `(` $outputs `)`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

def Ring_ParallelCallOp : Ring_Op<"parallel_call", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a kernel for each item on the pool of the context";
  let description = [{
    Calls `callee(item, arguments...)` for item = 0 .. count - 1, in any order
    and at once, and returns when all have ended. Lowers to
    `ring_parallel_for` in a rank function, to `ring_host_parallel_for` in a host
    function. `round` labels the trace (-1: none).

    Example: `ring.parallel_call @kernel(%count, %round) (%q, %k) : memref<?xf32>, memref<?xf32>`

    Constraints:
    - the callee is a function; one of func takes (index, types of the
      arguments) and has no results.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Index:$count, Index:$round,
    Variadic<AnyType>:$arguments);
  let assemblyFormat = [{
    $callee `(` $count `,` $round `)` `(` $arguments `)` attr-dict
    (`:` type($arguments)^)?
  }];
}

#endif // RING_DIALECT_RING_IR_RINGRUNTIMEOPS_TD
