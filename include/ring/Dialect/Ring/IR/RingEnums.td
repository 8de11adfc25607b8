//===- RingEnums.td - Enumerations of the ring dialect -----*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGENUMS_TD
#define RING_DIALECT_RING_IR_RINGENUMS_TD

include "mlir/IR/EnumAttr.td"
include "ring/Dialect/Ring/IR/RingDialect.td"

def Ring_Alignment : I32EnumAttr<"Alignment",
    "where query 0 stands relative to key 0", [
      I32EnumAttrCase<"TopLeft", 0, "top_left">,
      I32EnumAttrCase<"BottomRight", 1, "bottom_right">]> {
  let cppNamespace = "::mlir::ring";
  let genSpecializedAttr = 0;
}

def Ring_LayoutKind : I32EnumAttr<"LayoutKind", "who owns which positions", [
      I32EnumAttrCase<"Contiguous", 0, "contiguous">,
      I32EnumAttrCase<"Zigzag", 1, "zigzag">,
      I32EnumAttrCase<"Striped", 2, "striped">,
      I32EnumAttrCase<"Balanced", 3, "balanced">]> {
  let cppNamespace = "::mlir::ring";
  let genSpecializedAttr = 0;
}

def Ring_EmptyRows : I32EnumAttr<"EmptyRows",
    "what a query that sees no key gives", [
      I32EnumAttrCase<"Zero", 0, "zero">,
      I32EnumAttrCase<"Uniform", 1, "uniform">,
      I32EnumAttrCase<"NaN", 2, "nan">]> {
  let cppNamespace = "::mlir::ring";
  let genSpecializedAttr = 0;
}
def Ring_EmptyRowsAttr : EnumAttr<Ring_Dialect, Ring_EmptyRows, "empty_rows">;

#endif // RING_DIALECT_RING_IR_RINGENUMS_TD
