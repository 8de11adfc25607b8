//===- RaiseAttentionExpr.cpp - One element of a tensor -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionExpr.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Linalg ops
//===----------------------------------------------------------------------===//

static bool isParallel(utils::IteratorType iterator) {
  return iterator == utils::IteratorType::parallel;
}

static bool isReduction(utils::IteratorType iterator) {
  return iterator == utils::IteratorType::reduction;
}

namespace mlir::ring {

/// The elements of one linalg op's results.
class LinalgExpansion {
public:
  LinalgExpansion(ExprContext &context, linalg::LinalgOp op)
      : context(context), op(op), iterators(op.getIteratorTypesArray()),
        sizes(op.getStaticLoopRanges()), loops(op.getNumLoops()) {}

  /// Null where the op is not understood.
  Expr *run(unsigned result, const Indices &indices);

  /// The indices of a result's element at the variables of parallel loops.
  Indices getOwnIndices(unsigned result);

private:
  bool bindLoops(AffineMap map, const Indices &indices, ShapedType type);
  std::optional<Indices> apply(AffineMap map, ShapedType type);
  Expr *reduction(unsigned result, const Indices &indices, Value yielded);
  Expr *scalar(Value value);
  Expr *argument(BlockArgument argument);
  Expr *gather(tensor::ExtractOp extract);

  ExprContext &context;
  linalg::LinalgOp op;
  SmallVector<utils::IteratorType> iterators;
  SmallVector<int64_t> sizes;
  SmallVector<std::optional<Index>> loops;
  DenseMap<Value, Expr *> scalars;
};

} // namespace mlir::ring

Indices LinalgExpansion::getOwnIndices(unsigned result) {
  for (auto [i, iterator] : llvm::enumerate(iterators))
    if (isParallel(iterator))
      loops[i] = context.variable(op, i, sizes[i]);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  auto type = cast<ShapedType>(op->getResult(result).getType());
  return apply(map, type).value_or(Indices());
}

/// Finds the loop indices at which the element at `indices` is written.
bool LinalgExpansion::bindLoops(AffineMap map, const Indices &indices,
                                ShapedType type) {
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      if (constant.getValue() != 0 || type.getDimSize(dim) != 1)
        return false;
      continue;
    }
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || loops[loop.getPosition()] ||
        !isParallel(iterators[loop.getPosition()]))
      return false;
    loops[loop.getPosition()] = indices[dim];
  }
  for (auto [i, iterator] : llvm::enumerate(iterators)) {
    if (isReduction(iterator))
      loops[i] = context.variable(op, i, sizes[i]);
    else if (!loops[i] && sizes[i] == 1)
      loops[i] = Index();
    else if (!loops[i])
      return false;
  }
  return true;
}

std::optional<Indices> LinalgExpansion::apply(AffineMap map, ShapedType type) {
  Indices result;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      if (!loops[loop.getPosition()])
        return std::nullopt;
      result.push_back(*loops[loop.getPosition()]);
      continue;
    }
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (!constant || constant.getValue() != 0 || type.getDimSize(dim) != 1)
      return std::nullopt;
    result.push_back(Index());
  }
  return result;
}

Expr *LinalgExpansion::argument(BlockArgument argument) {
  OpOperand &operand = op->getOpOperand(argument.getArgNumber());
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type)
    return scalar(operand.get());
  // The running value of a reduction is not an element of any tensor.
  if (op.isDpsInit(&operand) && op.getNumReductionLoops() != 0)
    return nullptr;
  std::optional<Indices> indices =
      apply(op.getMatchingIndexingMap(&operand), type);
  return indices ? context.load(operand.get(), *indices) : nullptr;
}

/// The element of a tensor that has no loop, at indices that are the loops' all
/// the same.
Expr *LinalgExpansion::gather(tensor::ExtractOp extract) {
  Indices indices;
  for (auto [value, size] : llvm::zip(
           extract.getIndices(), extract.getTensor().getType().getShape())) {
    std::optional<Index> index = context.asIndex(scalar(value));
    if (!index || ShapedType::isDynamic(size) ||
        ShapedType::isDynamic(getSize(*index)) || getSize(*index) > size)
      return nullptr;
    indices.push_back(std::move(*index));
  }
  return context.load(extract.getTensor(), indices);
}

Expr *LinalgExpansion::scalar(Value value) {
  auto known = scalars.find(value);
  if (known != scalars.end())
    return known->second;
  Operation *def = value.getDefiningOp();
  bool inside = value.getParentBlock() == op.getBlock();
  Expr *expr = nullptr;
  Attribute constant;
  if (auto blockArgument = dyn_cast<BlockArgument>(value);
      blockArgument && inside) {
    expr = argument(blockArgument);
  } else if (matchPattern(value, m_Constant(&constant))) {
    expr = context.create({Expr::Kind::Constant, def, value, {}, constant});
  } else if (!inside) {
    expr = context.create({Expr::Kind::Invariant, def, value});
  } else if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    Index position = *loops[index.getDim()];
    expr = context.create({Expr::Kind::Position, def, value, {position}});
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(def)) {
    expr = gather(extract);
  } else if (OpTrait::hasElementwiseMappableTraits(def) &&
             def->getNumResults() == 1 && def->getNumRegions() == 0 &&
             isMemoryEffectFree(def)) {
    Expr apply = {Expr::Kind::Apply, def, value};
    for (Value operand : def->getOperands())
      apply.operands.push_back(scalar(operand));
    expr = context.create(std::move(apply));
  }
  if (!expr)
    expr = context.create({Expr::Kind::Unknown, def ? def : op, value});
  return scalars[value] = expr;
}

Expr *LinalgExpansion::reduction(unsigned result, const Indices &indices,
                                 Value yielded) {
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 ||
      !combiner->hasTrait<OpTrait::IsCommutative>())
    return nullptr;
  Value running = op.getRegionOutputArgs()[result];
  bool first = combiner->getOperand(0) == running;
  if (first == (combiner->getOperand(1) == running))
    return nullptr;
  Expr reduce = {Expr::Kind::Reduce, combiner, op->getResult(result)};
  reduce.operands = {context.load(op.getDpsInits()[result], indices),
                     scalar(combiner->getOperand(first ? 1 : 0))};
  for (auto [i, iterator] : llvm::enumerate(iterators))
    if (isReduction(iterator))
      llvm::append_range(reduce.variables, *loops[i]);
  return context.create(std::move(reduce));
}

Expr *LinalgExpansion::run(unsigned result, const Indices &indices) {
  if (!op.hasPureTensorSemantics() || !op.getBlock() ||
      op.getBlock()->getNumArguments() != op->getNumOperands())
    return nullptr;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  auto type = cast<ShapedType>(op->getResult(result).getType());
  if (!bindLoops(map, indices, type))
    return nullptr;
  Value yielded = op.getBlock()->getTerminator()->getOperand(result);
  return op.getNumReductionLoops() ? reduction(result, indices, yielded)
                                   : scalar(yielded);
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

Expr *ExprContext::create(Expr expr) {
  exprs.push_back(std::make_unique<Expr>(std::move(expr)));
  return exprs.back().get();
}

Index ExprContext::variable(Operation *op, unsigned loop, int64_t size) {
  auto [it, inserted] = variables.try_emplace({op, loop}, variables.size());
  return wholeVariable(it->second, size);
}

Expr *ExprContext::load(Value tensor, const Indices &indices) {
  std::vector<int64_t> key;
  for (const Index &index : indices) {
    for (const Digit &digit : index)
      key.insert(key.end(), {digit.variable, digit.divisor, digit.size});
    key.push_back(-1);
  }
  auto [it, inserted] =
      loads.try_emplace({tensor.getAsOpaquePointer(), std::move(key)});
  if (inserted)
    it->second =
        create({Expr::Kind::Load, tensor.getDefiningOp(), tensor, indices});
  return it->second;
}

Expr *ExprContext::element(linalg::LinalgOp op, unsigned result) {
  return load(op->getResult(result),
              LinalgExpansion(*this, op).getOwnIndices(result));
}

Expr *ExprContext::expand(Expr *expr) {
  if (!expr->isLoad())
    return nullptr;
  auto [it, inserted] = expansions.try_emplace(expr);
  if (!inserted)
    return it->second;
  Expr *expansion = expandLoad(expr);
  if (expansion)
    expandedOps.insert(expr->op);
  return expansions[expr] = expansion;
}

/// The value of a constant, also of one number in a resource; others stay
/// there.
static DenseElementsAttr getDenseConstant(Value value) {
  DenseElementsAttr dense;
  DenseResourceElementsAttr resource;
  if (matchPattern(value, m_Constant(&dense)))
    return dense;
  if (!matchPattern(value, m_Constant(&resource)) ||
      resource.getNumElements() != 1)
    return {};
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  bool isSplat = false;
  if (!blob || !DenseElementsAttr::isValidRawBuffer(resource.getType(),
                                                    blob->getData(), isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                             blob->getData());
}

/// True iff of each group all dimensions but the first are read from end to
/// end.
static bool coversInnerDimensions(const Indices &indices, RankedTensorType type,
                                  ArrayRef<ReassociationIndices> groups) {
  return llvm::all_of(groups, [&](const ReassociationIndices &group) {
    return llvm::all_of(ArrayRef(group).drop_front(), [&](int64_t dim) {
      return getSize(indices[dim]) == type.getDimSize(dim);
    });
  });
}

Expr *ExprContext::expandLoad(Expr *expr) {
  Operation *def = expr->op;
  auto type = dyn_cast<RankedTensorType>(expr->value.getType());
  if (!def || !type ||
      static_cast<int64_t>(expr->indices.size()) != type.getRank())
    return nullptr;
  if (DenseElementsAttr dense = getDenseConstant(expr->value))
    return dense.isSplat() ? create({Expr::Kind::Constant,
                                     def,
                                     expr->value,
                                     {},
                                     dense.getSplatValue<Attribute>()})
                           : nullptr;
  if (def->getBlock() != block)
    return nullptr;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(def))
    return LinalgExpansion(*this, linalgOp)
        .run(cast<OpResult>(expr->value).getResultNumber(), expr->indices);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(def))
    return expandExtraction(expr, slice);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(def))
    return expandInsertion(expr, insert);
  if (auto concat = dyn_cast<tensor::ConcatOp>(def))
    return expandConcatenation(expr, concat);
  // Below, an index that is not whole would not be seen or be another one.
  auto areWhole = [&](ArrayRef<Index> indices, ArrayRef<int64_t> shape) {
    return llvm::all_of_zip(indices, shape, isWhole);
  };
  if (auto cast = dyn_cast<tensor::CastOp>(def))
    return areWhole(expr->indices, type.getShape())
               ? load(cast.getSource(), expr->indices)
               : nullptr;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(def)) {
    // A part of an inner dimension has gaps.
    if (!coversInnerDimensions(expr->indices, type,
                               expand.getReassociationIndices()))
      return nullptr;
    Indices indices;
    for (const ReassociationIndices &group : expand.getReassociationIndices())
      indices.push_back(concatenate(
          ArrayRef(expr->indices).slice(group.front(), group.size())));
    // A tensor of rank 0 expands to unit dimensions without any group.
    return load(expand.getSrc(), indices);
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(def)) {
    Indices indices;
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    for (auto [dim, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      if (group.size() == 1) {
        indices.push_back(expr->indices[dim]);
        continue;
      }
      if (!isWhole(expr->indices[dim], type.getDimSize(dim)))
        return nullptr;
      std::optional<Indices> parts =
          split(expr->indices[dim], shape.slice(group.front(), group.size()));
      if (!parts)
        return nullptr;
      llvm::append_range(indices, *parts);
    }
    // A rank of 0 is collapsed from unit dimensions, each read at 0.
    indices.resize(shape.size());
    return load(collapse.getSrc(), indices);
  }
  return nullptr;
}

std::optional<Index> ExprContext::asIndex(Expr *expr) {
  expr = resolve(expr);
  if (expr->kind == Expr::Kind::Position)
    return expr->indices[0];
  if (auto value = dyn_cast_or_null<IntegerAttr>(expr->constant))
    return value.getValue().isZero() ? std::optional(Index()) : std::nullopt;
  if (expr->kind != Expr::Kind::Apply)
    return std::nullopt;
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(expr->op)) {
    std::optional<Index> index = asIndex(expr->operands[0]);
    int64_t size = index ? getSize(*index) : ShapedType::kDynamic;
    Type type = expr->value.getType();
    // All of these keep what has room in 31 bits.
    bool keeps = isa<IndexType>(type) || type.getIntOrFloatBitWidth() >= 32;
    return ShapedType::isStatic(size) && size <= INT32_MAX && keeps
               ? index
               : std::nullopt;
  }
  // select(i < 0, i + size, i)
  auto select = dyn_cast<arith::SelectOp>(expr->op);
  Expr *test = select ? resolve(expr->operands[0]) : nullptr;
  if (!test || test->kind != Expr::Kind::Apply)
    return std::nullopt;
  auto compare = dyn_cast<arith::CmpIOp>(test->op);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt ||
      !asIndex(test->operands[0]) || asIndex(test->operands[1]) != Index() ||
      resolve(test->operands[1])->kind != Expr::Kind::Constant)
    return std::nullopt;
  return asIndex(expr->operands[2]);
}

Expr *ExprContext::resolve(Expr *expr) {
  while (Expr *expansion = expand(expr))
    expr = expansion;
  return expr;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

bool ExprContext::equalIndices(const Indices &a, const Indices &b,
                               const Renaming &renaming) {
  if (a.size() != b.size())
    return false;
  for (auto [indexA, indexB] : llvm::zip_equal(a, b)) {
    Index renamed = indexB;
    for (Digit &digit : renamed) {
      const auto *pair = llvm::find_if(renaming, [&](const auto &pair) {
        return pair.second.variable == digit.variable;
      });
      if (pair != renaming.end())
        digit.variable = pair->first.variable;
      else if (llvm::any_of(renaming, [&](const auto &pair) {
                 return pair.first.variable == digit.variable;
               }))
        return false;
    }
    if (renamed != indexA)
      return false;
  }
  return true;
}

bool ExprContext::equal(Expr *a, Expr *b, const Renaming &renaming) {
  if (a->isLoad() && b->isLoad() && a->value == b->value &&
      equalIndices(a->indices, b->indices, renaming))
    return true;
  // Of two loads, the later op is built from the earlier one if anything.
  if (a->isLoad() && b->isLoad() && a->value != b->value) {
    bool expandA =
        a->op && a->op->getBlock() == block &&
        (!b->op || b->op->getBlock() != block || b->op->isBeforeInBlock(a->op));
    Expr *expansion = expand(expandA ? a : b);
    if (!expansion)
      return false;
    return expandA ? equal(expansion, b, renaming)
                   : equal(a, expansion, renaming);
  }
  if (a->isLoad() || b->isLoad()) {
    Expr *expansionA = a->isLoad() ? expand(a) : a;
    Expr *expansionB = b->isLoad() ? expand(b) : b;
    return expansionA && expansionB && equal(expansionA, expansionB, renaming);
  }

  if (a->kind != b->kind ||
      getElementTypeOrSelf(a->value) != getElementTypeOrSelf(b->value))
    return false;
  switch (a->kind) {
  case Expr::Kind::Constant:
    return a->constant == b->constant;
  case Expr::Kind::Position:
    return equalIndices(a->indices, b->indices, renaming);
  case Expr::Kind::Invariant:
    return a->value == b->value;
  case Expr::Kind::Apply:
    return a->op->getName() == b->op->getName() &&
           a->op->getAttrDictionary() == b->op->getAttrDictionary() &&
           llvm::all_of_zip(a->operands, b->operands, [&](Expr *x, Expr *y) {
             return equal(x, y, renaming);
           });
  case Expr::Kind::Reduce: {
    if (a->op->getName() != b->op->getName() ||
        a->variables.size() != b->variables.size() ||
        !equal(a->operands[0], b->operands[0], renaming))
      return false;
    Renaming inner = renaming;
    for (auto [x, y] : llvm::zip_equal(a->variables, b->variables)) {
      if (x.size != y.size)
        return false;
      if (x.variable != y.variable)
        inner.push_back({x, y});
    }
    return equal(a->operands[1], b->operands[1], inner);
  }
  case Expr::Kind::Load:
  case Expr::Kind::Unknown:
    return false;
  }
  llvm_unreachable("all kinds of expressions are handled");
}

bool ExprContext::mentions(Expr *expr, const Digit &variable) {
  auto has = [&](const Index &index) {
    return llvm::any_of(index, [&](const Digit &digit) {
      return digit.variable == variable.variable;
    });
  };
  return llvm::any_of(expr->indices, has) ||
         llvm::any_of(expr->operands, [&](Expr *operand) {
           return mentions(operand, variable);
         });
}
