//===- RaiseAttentionExpr.h - One element of a tensor -----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one element of a tensor is, as an expression of other elements.
//
// Linalg ops, named or generic, casts and reshapes all say the same kind of
// thing: the element at these indices is this function of those elements. So a
// matcher on expressions sees through how a computation is cut into ops, which
// dimensions are merged on the way, and where a value is transposed or
// broadcast. Expressions are built on demand, one op at a time.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONEXPR_H
#define RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONEXPR_H

#include "RaiseAttentionIndex.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <map>
#include <memory>
#include <vector>

namespace mlir::ring {

struct Expr {
  enum class Kind {
    Load,      ///< the element of `value` at `indices`
    Constant,  ///< `constant`
    Position,  ///< the number `indices[0]`
    Apply,     ///< the scalar op `op` on `operands`
    Reduce,    ///< `op` over all `variables`: operands {initial value, element}
    Invariant, ///< the scalar `value`, the same for all elements
    Unknown    ///< anything else, computed from `operands` in some way; equal
               ///< to nothing, not even to itself
  };

  Kind kind;
  /// The op to name when this expression is in the way; null for a function
  /// argument.
  Operation *op = nullptr;
  Value value = nullptr;
  Indices indices = {};
  Attribute constant = nullptr;
  SmallVector<Expr *, 3> operands = {};
  Index variables = {};

  bool isReduction() const { return kind == Kind::Reduce; }
  bool isLoad() const { return kind == Kind::Load; }
};

/// True unless `index` has fewer values than a dimension of `size`.
bool isWhole(const Index &index, int64_t size);

/// Variables of one expression renamed to those of another; each stands for one
/// other, of equal size.
using Renaming = SmallVector<std::pair<Digit, Digit>, 2>;

/// Owns expressions and expands them within one block.
class ExprContext {
public:
  explicit ExprContext(Block *block) : block(block) {}

  MLIRContext *getContext() const { return block->getParentOp()->getContext(); }

  /// The element of result `result` of `op` that its parallel loops, as
  /// variables, address.
  Expr *element(linalg::LinalgOp op, unsigned result);

  /// The element of `tensor` at `indices`.
  Expr *load(Value tensor, const Indices &indices);

  /// What the op that makes a loaded tensor says about the element. Null where
  /// it is not understood, or where `expr` is no load.
  Expr *expand(Expr *expr);

  /// Expands until the outermost part is no load, or a load of something that
  /// is not understood.
  Expr *resolve(Expr *expr);

  /// True iff `a` is `b` with each variable `second` of `renaming` replaced by
  /// its `first`. Compares meaning as far as ops are understood: how either is
  /// cut into ops does not matter.
  bool equal(Expr *a, Expr *b, const Renaming &renaming = {});

  /// `expr` with `first`, which has fewer values, in the place of `variable`.
  /// Null where a dimension is not read by `variable` alone.
  Expr *restrict(Expr *expr, const Digit &variable, const Digit &first);

  /// Of a load from a concatenation along the dimension that `variable` runs
  /// over, the element for the last value of `variable`; null where the last
  /// part has several, or where it is no such load.
  Expr *loadLast(Expr *expr, const Digit &variable);

  /// The index that an integer expression is, through conversions and the test
  /// for a negative index that frameworks have; nothing where it is none.
  std::optional<Index> asIndex(Expr *expr);

  /// True iff `variable` occurs in `expr` as far as it is expanded. What it is
  /// loaded from may be constant along it nevertheless.
  static bool mentions(Expr *expr, const Digit &variable);

  /// The ops that were expanded.
  const llvm::DenseSet<Operation *> &getExpandedOps() const {
    return expandedOps;
  }

  Expr *create(Expr expr);

  /// The variable of a loop of `op`, from 0 to its size.
  Index variable(Operation *op, unsigned loop, int64_t size);

private:
  Expr *expandLoad(Expr *expr);
  Expr *expandExtraction(Expr *expr, tensor::ExtractSliceOp slice);
  Expr *expandInsertion(Expr *expr, tensor::InsertSliceOp insert);
  Expr *expandConcatenation(Expr *expr, tensor::ConcatOp concat);
  bool equalIndices(const Indices &a, const Indices &b,
                    const Renaming &renaming);

  Block *block;
  std::vector<std::unique_ptr<Expr>> exprs;
  /// Loads are unique, so that each is expanded once.
  std::map<std::pair<void *, std::vector<int64_t>>, Expr *> loads;
  llvm::DenseMap<Expr *, Expr *> expansions;
  /// A variable of a reduction never is free in what it reduces, nor does an op
  /// occur in its own operands: one variable for each loop of an op does.
  llvm::DenseMap<std::pair<Operation *, unsigned>, unsigned> variables;
  llvm::DenseSet<Operation *> expandedOps;
};

} // namespace mlir::ring

#endif // RING_LIB_DIALECT_RING_TRANSFORMS_RAISEATTENTIONEXPR_H
