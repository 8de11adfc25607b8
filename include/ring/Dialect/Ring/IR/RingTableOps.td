//===- RingTableOps.td - What is known at run time ----------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGTABLEOPS_TD
#define RING_DIALECT_RING_IR_RINGTABLEOPS_TD

include "ring/Dialect/Ring/IR/RingCommunicationOps.td"

def Ring_TablesOp : Ring_StateOp<"tables", [AttrSizedOperandSegments]> {
  let summary = "layout tables that are computed at run time";
  let description = [{
    The tables of queries and keys of `layout`, for sequences of these sizes:
    where a size is dynamic, and for `balanced` where segments, lengths or
    offsets decide how much there is to do (all as in `ring.attention`). `outs`
    have one row for each entry that such a layout may need; what is left of
    them becomes empty entries. Belongs to the host function: every rank is
    given the same tables.

    Example:

    ```mlir
    %tq, %tk = ring.tables #ring.layout<zigzag> ranks 4 sizes(%sq, %sk) mask(<causal>)
        outs(%a, %b) : (index, index, tensor<8x5xi64>, tensor<8x5xi64>)
        -> (tensor<8x5xi64>, tensor<8x5xi64>)
    ```

    Constraints:
    - ranks is positive;
    - segments, lengths, offsets and mask as in `ring.slices`;
    - tables are [entries, 5], both tensors or both memrefs; where their number
      is static, it is enough for the layout.
  }];
  let arguments = (ins Ring_LayoutAttr:$layout, I64Attr:$ranks,
    Index:$query_count, Index:$key_count,
    Optional<Ring_ShapedOf<[I32], 2>>:$query_segments,
    Optional<Ring_ShapedOf<[I32], 2>>:$key_segments,
    Optional<Ring_ShapedOf<[I32], 1>>:$lengths,
    Optional<Ring_ShapedOf<[I32], 1>>:$offsets,
    Ring_Table:$query_table, Ring_Table:$key_table,
    OptionalAttr<Ring_MaskAttr>:$mask);
  let results = (outs Variadic<AnyTensor>:$results);
  let assemblyFormat = [{
    $layout `ranks` $ranks `sizes` `(` $query_count `,` $key_count `)`
    (`segments` `(` $query_segments^ `,` $key_segments `)`)?
    (`lengths` `(` $lengths^ `)`)? (`offsets` `(` $offsets^ `)`)?
    (`mask` `(` $mask^ `)`)?
    `outs` `(` $query_table `,` $key_table `)`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() {
      unsigned first = getQueryTableMutable().getOperandNumber();
      return MutableOperandRange(getOperation(), first, 2);
    }
  }];
}

def Ring_PaddedSizeOp : Ring_Op<"padded_size", [
    AlwaysSpeculatable, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the longest local size under a table";
  let description = [{
    What the local tensors of all ranks are padded to. Has no effect but to read
    a memref.

    Example: `%n = ring.padded_size %table ranks 4 : tensor<8x5xi64>`

    Constraints:
    - ranks is positive;
    - the table is [entries, 5], see `#ring.layout`.
  }];
  let arguments = (ins Ring_Table:$table, I64Attr:$ranks);
  let results = (outs Index:$size);
  let assemblyFormat = "$table `ranks` $ranks attr-dict `:` type($table)";
  let hasVerifier = 1;
}

def Ring_RequireEqualOp : Ring_Op<"require_equal", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "ends the program with a message where two sizes differ";
  let description = [{
    Stands in a host function for what the verifier of `ring.attention` checks
    where sizes are static. `what` names the size.

    Example: `ring.require_equal %a, %b "batch of query and key"`
  }];
  let arguments = (ins Index:$lhs, Index:$rhs, StrAttr:$what);
  let assemblyFormat = "$lhs `,` $rhs $what attr-dict";
  let hasCanonicalizeMethod = 1;
}

#endif // RING_DIALECT_RING_IR_RINGTABLEOPS_TD
