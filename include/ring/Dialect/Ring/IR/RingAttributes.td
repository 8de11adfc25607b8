//===- RingAttributes.td - Attributes of the ring dialect --*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGATTRIBUTES_TD
#define RING_DIALECT_RING_IR_RINGATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "ring/Dialect/Ring/IR/RingDialect.td"
include "ring/Dialect/Ring/IR/RingEnums.td"

class Ring_Attr<string name, string attrMnemonic> : AttrDef<Ring_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Ring_MaskAttr : Ring_Attr<"Mask", "mask"> {
  let summary = "the position-dependent part of a mask";
  let description = [{
    Which keys a query may see by position. The position of key j is j. The
    position p of query i is i (`align = top_left`, and where `align` is left
    out), i + Sk - Sq (`bottom_right`), or i + offset where the op has
    `offsets`. Every part is optional and may be written in any order; a pair is
    visible iff all parts that are given let it through.

    | part | visible iff |
    |---|---|
    | `causal` | j <= p |
    | `window = [L, R]` | p - L <= j <= p + R; `*` is unbounded, `[0, 0]` is "only itself" |
    | `chunk = C` | floor(p / C) = floor(j / C) |
    | `prefix = P` | keys j < P escape `causal`; window and chunk still apply |

    Example:

    ```mlir
    #ring.mask<causal, window = [127, 0]>
    #ring.mask<window = [*, 16], align = bottom_right>
    #ring.mask<causal, prefix = 32>
    ```

    Constraints:
    - window sides are not negative;
    - `chunk` is at least 1;
    - `prefix` is not negative and comes with `causal`;
    - each part is written once.
  }];
  let parameters = (ins
    "bool":$causal,
    "std::optional<int64_t>":$left,
    "std::optional<int64_t>":$right,
    "bool":$hasWindow,
    "std::optional<int64_t>":$chunk,
    "std::optional<int64_t>":$prefix,
    "std::optional<Alignment>":$align);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// True iff visibility depends on where queries stand relative to keys.
    bool dependsOnPositions() const {
      return getCausal() || getLeft() || getRight() || getChunk();
    }
    /// The mask for sequences of `queryCount` and `keyCount` positions.
    ::ring::PositionalMask bind(int64_t queryCount, int64_t keyCount) const;
  }];
}

def Ring_LayoutAttr : Ring_Attr<"Layout", "layout"> {
  let summary = "how positions are dealt to the ranks of a ring";
  let description = [{
    - `contiguous`: rank r of N owns floor(r*S/N) to floor((r+1)*S/N);
    - `zigzag`: 2N chunks, rank r owns chunks r and 2N-1-r, which evens out
      causal work;
    - `striped, G`: block-cyclic with G consecutive positions a block
      (1 where G is left out);
    - `balanced`: 16 chunks a rank, or up to 64 where so few cannot be dealt
      evenly, by the area that the mask leaves.

    Chunk k of C covers floor(k*S/C) to floor((k+1)*S/C), so any sequence length
    works. What passes and programs use is the table made from the layout:
    `tensor<Ex5xi64>` with entries (owner, begin, block, stride, count), each
    `count` blocks of `block` consecutive positions, the first at `begin`, the
    others `stride` apart.

    Example:

    ```mlir
    #ring.layout<zigzag>
    #ring.layout<striped, 16>
    ```

    Constraints:
    - the granularity is at least 1, and 1 unless the layout is striped.
  }];
  let parameters = (ins
    "LayoutKind":$kind,
    DefaultValuedParameter<"int64_t", "1">:$granularity);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The tables of queries and keys for one attention.
    ::ring::LayoutPair tables(int64_t ranks, int64_t queryCount,
                              int64_t keyCount,
                              const ::ring::PositionalMask &mask) const;
    /// As `ring-run --layout` spells it: `striped` or `striped:16`.
    std::string spelling() const;
    /// The attribute spelled so; null where `spelling` is no layout.
    static LayoutAttr fromSpelling(::mlir::MLIRContext *context,
                                   ::llvm::StringRef spelling);
  }];
}

#endif // RING_DIALECT_RING_IR_RINGATTRIBUTES_TD
