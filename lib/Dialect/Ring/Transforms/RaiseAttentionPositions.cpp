//===- RaiseAttentionPositions.cpp - Scalars of positions -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionPositions.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Dependence
//===----------------------------------------------------------------------===//

bool PositionEvaluator::addDependence(const Indices &indices,
                                      Dependence &dependence) const {
  for (const Index &index : indices)
    for (const Digit &digit : index) {
      if (!query.empty() && digit.variable == query[0].variable)
        dependence.onQuery = true;
      else if (!key.empty() && digit.variable == key[0].variable)
        dependence.onKey = true;
      else
        return false;
      if (ShapedType::isDynamic(digit.size))
        return false;
    }
  return true;
}

bool PositionEvaluator::addDependence(Expr *expr, Dependence &dependence,
                                      llvm::DenseSet<Expr *> &seen) {
  expr = context.resolve(expr);
  if (!seen.insert(expr).second)
    return true;
  switch (expr->kind) {
  case Expr::Kind::Constant:
    return true;
  case Expr::Kind::Position:
    return addDependence(expr->indices, dependence);
  case Expr::Kind::Apply:
    return llvm::all_of(expr->operands, [&](Expr *operand) {
      return addDependence(operand, dependence, seen);
    });
  case Expr::Kind::Load: {
    Dependence own;
    if (!addDependence(expr->indices, own))
      return false;
    if (!own.onQuery || !own.onKey) {
      dependence.onQuery |= own.onQuery;
      dependence.onKey |= own.onKey;
      return tensors.evaluate(expr->value) != nullptr;
    }
    dependence.tables.push_back(expr);
    return getTable(expr).has_value();
  }
  case Expr::Kind::Reduce:
  case Expr::Kind::Invariant:
  case Expr::Kind::Unknown:
    return false;
  }
  llvm_unreachable("all kinds of expressions are handled");
}

std::optional<PositionEvaluator::Dependence>
PositionEvaluator::getDependence(Expr *expr) {
  Dependence dependence;
  llvm::DenseSet<Expr *> seen;
  if (!addDependence(expr, dependence, seen))
    return std::nullopt;
  return dependence;
}

std::optional<PositionEvaluator::Table>
PositionEvaluator::getTable(Expr *load) {
  std::optional<ConstantElements> elements = ConstantElements::get(load->value);
  if (!elements)
    return std::nullopt;
  Table table = {*elements};
  SmallVector<int64_t> strides = computeStrides(elements->getType().getShape());
  for (auto [index, stride] : llvm::zip_equal(load->indices, strides)) {
    if (index.empty())
      continue;
    if (index != query && index != key)
      return std::nullopt;
    (index == query ? table.queryStride : table.keyStride) += stride;
  }
  return table;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

std::optional<int64_t> PositionEvaluator::getPosition(const Index &index,
                                                      int64_t queryAt,
                                                      int64_t keyAt) const {
  int64_t position = 0;
  for (const Digit &digit : index) {
    bool ofQuery = !query.empty() && digit.variable == query[0].variable;
    if (!ofQuery && (key.empty() || digit.variable != key[0].variable))
      return std::nullopt;
    int64_t variable = ofQuery ? queryAt : keyAt;
    position = position * digit.size + variable / digit.divisor % digit.size;
  }
  return position;
}

Attribute PositionEvaluator::evaluateNew(Expr *expr, int64_t queryAt,
                                         int64_t keyAt) {
  switch (expr->kind) {
  case Expr::Kind::Constant:
    return expr->constant;
  case Expr::Kind::Position:
    if (std::optional<int64_t> position =
            getPosition(expr->indices[0], queryAt, keyAt))
      return IntegerAttr::get(expr->value.getType(), *position);
    return {};
  case Expr::Kind::Apply: {
    SmallVector<Attribute> operands;
    for (Expr *operand : expr->operands) {
      operands.push_back(evaluate(operand, queryAt, keyAt));
      if (!operands.back())
        return {};
    }
    return tensors.getFolder().fold(expr->op, operands);
  }
  case Expr::Kind::Load: {
    const std::vector<Attribute> *elements = tensors.evaluate(expr->value);
    if (!elements)
      return {};
    int64_t place = 0;
    for (auto [index, size] : llvm::zip_equal(
             expr->indices,
             cast<RankedTensorType>(expr->value.getType()).getShape())) {
      std::optional<int64_t> position = getPosition(index, queryAt, keyAt);
      if (!position)
        return {};
      place = place * size + *position;
    }
    return (*elements)[place];
  }
  case Expr::Kind::Reduce:
  case Expr::Kind::Invariant:
  case Expr::Kind::Unknown:
    return {};
  }
  llvm_unreachable("all kinds of expressions are handled");
}

Attribute PositionEvaluator::evaluate(Expr *expr, int64_t queryAt,
                                      int64_t keyAt) {
  expr = context.resolve(expr);
  auto [it, inserted] = values.try_emplace(expr);
  if (!inserted)
    return it->second;
  Attribute value = evaluateNew(expr, queryAt, keyAt);
  return values[expr] = value;
}

Attribute PositionEvaluator::evaluateFor(Expr *expr, Expr *table,
                                         Attribute element) {
  values.clear();
  values[table] = element;
  return evaluate(expr, 0, 0);
}

std::vector<Attribute> PositionEvaluator::evaluateAll(Expr *expr,
                                                      bool alongKey) {
  int64_t size = getSize(alongKey ? key : query);
  std::vector<Attribute> result;
  for (int64_t position = 0; position < size; ++position) {
    values.clear();
    Attribute value =
        evaluate(expr, alongKey ? 0 : position, alongKey ? position : 0);
    if (!value)
      return {};
    result.push_back(value);
  }
  return result;
}
