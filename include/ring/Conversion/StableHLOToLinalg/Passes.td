//===- Passes.td - StableHLO to linalg ---------------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_CONVERSION_STABLEHLOTOLINALG_PASSES_TD
#define RING_CONVERSION_STABLEHLOTOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertStableHLOToLinalgPass
    : Pass<"convert-stablehlo-to-linalg", "::mlir::ModuleOp"> {
  let summary = "lower StableHLO in generic form to linalg on tensors";
  let description = [{
    The StableHLO dialect is not linked: its ops are matched by name, in the
    generic form of a file that was read with unregistered dialects allowed
    (`mlir-opt --allow-unregistered-dialect`, `stablehlo-opt
    --mlir-print-op-generic`). Their meaning is that of the StableHLO
    specification.

    | StableHLO | becomes |
    |---|---|
    | elementwise ops, `compare`, `select`, `clamp`, `convert`; `chlo.square`, `chlo.erf` | `linalg.generic` of `arith` and `math` |
    | `broadcast_in_dim`, `iota`, `dynamic_iota`, `gather` | `linalg.generic` |
    | `dot_general`, `reduce` | `linalg.generic` with reduction loops |
    | `transpose` | `linalg.transpose` |
    | `reshape` | `tensor.expand_shape`, `tensor.collapse_shape` |
    | `slice`, `concatenate`, `pad` | `tensor.extract_slice`, `tensor.insert_slice` |
    | `constant` | `arith.constant` |
    | `optimization_barrier` | its operands |

    Sums of products of 16-bit floats are accumulated in f32. Precision
    attributes allow for less than that and are not needed.

    An op, an attribute of it or a type that is not understood is an error at
    the op that names it. Types are ranked tensors of static shape.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

#endif // RING_CONVERSION_STABLEHLOTOLINALG_PASSES_TD
