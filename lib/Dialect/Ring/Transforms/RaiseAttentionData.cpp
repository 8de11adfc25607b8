//===- RaiseAttentionData.cpp - Masks of data -----------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionData.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

#include <limits>

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

/// Writes expressions down, which live no longer than the match.
class ProgramWriter {
public:
  ProgramWriter(ExprContext &context, const AttentionIndices &at,
                const OperandRead &query, ScalarProgram &program)
      : context(context), at(at), query(query), program(program) {}

  /// The number of the step that gives `expr`; nothing where it depends on
  /// anything else than batch, heads and positions.
  std::optional<unsigned> add(Expr *expr);

private:
  using Step = ScalarProgram::Step;

  std::optional<unsigned> addNew(Expr *expr);
  std::optional<unsigned> append(Step step) {
    program.steps.push_back(std::move(step));
    return program.steps.size() - 1;
  }

  ExprContext &context;
  const AttentionIndices &at;
  const OperandRead &query;
  ScalarProgram &program;
  llvm::DenseMap<Expr *, std::optional<unsigned>> known;
};

} // namespace

std::optional<unsigned> ProgramWriter::add(Expr *expr) {
  expr = context.resolve(expr);
  auto [it, inserted] = known.try_emplace(expr);
  if (!inserted)
    return it->second;
  std::optional<unsigned> step = addNew(expr);
  known[expr] = step;
  return step;
}

std::optional<unsigned> ProgramWriter::addNew(Expr *expr) {
  switch (expr->kind) {
  case Expr::Kind::Constant: {
    auto constant = dyn_cast_or_null<TypedAttr>(expr->constant);
    if (!constant || !constant.getType().isIntOrIndexOrFloat())
      return std::nullopt;
    return append({Step::Kind::Constant, 0, constant});
  }
  case Expr::Kind::Position: {
    const Indices dimensions = {query.target[0], query.target[1], at.query,
                                at.key};
    for (auto [dim, index] : llvm::enumerate(dimensions)) {
      if (index.empty() || index != expr->indices[0])
        continue;
      program.target[dim] = index;
      return append({Step::Kind::Position, static_cast<unsigned>(dim)});
    }
    return std::nullopt;
  }
  case Expr::Kind::Load: {
    std::optional<OperandRead> read = readScoreData(at, query, expr);
    if (!read)
      return std::nullopt;
    for (auto [dim, index] : llvm::enumerate(read->target))
      if (!index.empty())
        program.target[dim] = index;
    program.reads.push_back(*read);
    return append(
        {Step::Kind::Read, static_cast<unsigned>(program.reads.size() - 1)});
  }
  case Expr::Kind::Apply: {
    Step apply = {Step::Kind::Apply, 0, nullptr, expr->op};
    for (Expr *operand : expr->operands) {
      std::optional<unsigned> step = add(operand);
      if (!step)
        return std::nullopt;
      apply.operands.push_back(*step);
    }
    return append(std::move(apply));
  }
  case Expr::Kind::Reduce:
  case Expr::Kind::Invariant:
  case Expr::Kind::Unknown:
    return std::nullopt;
  }
  llvm_unreachable("all kinds of expressions are handled");
}

std::optional<unsigned> mlir::ring::writeProgram(ExprContext &context,
                                                 const AttentionIndices &at,
                                                 const OperandRead &query,
                                                 Expr *expr,
                                                 ScalarProgram &program) {
  return ProgramWriter(context, at, query, program).add(expr);
}

Value ScalarProgram::build(
    OpBuilder &builder, Location loc, const Indices &shape, Type type,
    function_ref<Value(OpBuilder &, ValueRange)> result) const {
  auto sizesOf = [](const Indices &indices) {
    return llvm::map_to_vector(indices, getSize);
  };
  auto mapOf = [&](const Indices &indices) {
    SmallVector<AffineExpr> exprs;
    for (auto [dim, index] : llvm::enumerate(indices))
      exprs.push_back(index.empty() ? builder.getAffineConstantExpr(0)
                                    : builder.getAffineDimExpr(dim));
    return AffineMap::get(4, 0, exprs, builder.getContext());
  };
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const OperandRead &read : reads) {
    auto inputType = RankedTensorType::get(sizesOf(read.target),
                                           getElementTypeOrSelf(read.tensor));
    inputs.push_back(rearrange(builder, loc, read.tensor, read.indices,
                               read.target, inputType));
    maps.push_back(mapOf(read.target));
  }
  Value init = tensor::EmptyOp::create(builder, loc, sizesOf(shape), type);
  maps.push_back(builder.getMultiDimIdentityMap(4));
  SmallVector<utils::IteratorType> loops(4, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &b, Location at, ValueRange arguments) {
    SmallVector<Value> values;
    for (const Step &step : steps) {
      switch (step.kind) {
      case Step::Kind::Read:
        values.push_back(arguments[step.number]);
        break;
      case Step::Kind::Constant:
        values.push_back(arith::ConstantOp::create(b, at, step.constant));
        break;
      case Step::Kind::Position:
        values.push_back(linalg::IndexOp::create(b, at, step.number));
        break;
      case Step::Kind::Apply: {
        IRMapping mapping;
        for (auto [operand, number] :
             llvm::zip_equal(step.op->getOperands(), step.operands))
          mapping.map(operand, values[number]);
        values.push_back(b.clone(*step.op, mapping)->getResult(0));
        break;
      }
      }
    }
    linalg::YieldOp::create(b, at, result(b, values));
  };
  return linalg::GenericOp::create(builder, loc, TypeRange(init.getType()),
                                   inputs, ValueRange(init), maps, loops, body)
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

std::optional<DataMask>
mlir::ring::matchDataMask(ExprContext &context, const AttentionIndices &at,
                          const OperandRead &query,
                          ArrayRef<HidingCondition> hiding) {
  // The tensor that is made has one size for each dimension.
  for (const Index &index :
       {query.target[0], query.target[1], at.query, at.key})
    if (ShapedType::isDynamic(getSize(index)))
      return std::nullopt;
  DataMask mask;
  ProgramWriter writer(context, at, query, mask.program);
  for (const HidingCondition &part : hiding) {
    std::optional<unsigned> step = writer.add(part.condition);
    if (!step)
      return std::nullopt;
    mask.conditions.push_back({*step, part.negated});
  }
  return mask;
}

Value mlir::ring::buildDataMask(OpBuilder &builder, Location loc,
                                const DataMask &mask, const Indices &target,
                                Type type) {
  return mask.program.build(
      builder, loc, target, type, [&](OpBuilder &b, ValueRange steps) {
        Value all;
        for (auto [step, negated] : mask.conditions) {
          Value holds = steps[step];
          if (negated) {
            Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
            holds = arith::XOrIOp::create(b, loc, holds, yes);
          }
          all = all ? arith::AndIOp::create(b, loc, all, holds) : holds;
        }
        auto real = dyn_cast<FloatType>(type);
        if (!real)
          return all;
        Value zero = arith::ConstantOp::create(b, loc, b.getFloatAttr(real, 0));
        Value hidden = arith::ConstantOp::create(
            b, loc,
            b.getFloatAttr(real, -std::numeric_limits<double>::infinity()));
        return Value(arith::SelectOp::create(b, loc, all, zero, hidden));
      });
}
