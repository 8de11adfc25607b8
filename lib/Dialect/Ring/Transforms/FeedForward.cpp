//===- FeedForward.cpp - What may run block by block ----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FeedForward.h"
#include "LocalOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
/// Finds the feed-forward that ends with one product.
class Search {
public:
  Search(const LocalPart &part, const SequencePropagation &propagation,
         const llvm::DenseMap<Operation *, unsigned> &order)
      : part(part), propagation(propagation), order(order) {}

  std::optional<FeedForward> run(Operation *last);

private:
  using Ops = llvm::SetVector<Operation *>;

  bool isProduct(Operation *op);
  /// The operand of a product that runs along the sequence.
  Value activation(Operation *op);
  bool collect(Value value);
  bool isClosed(const Ops &set, Value output);
  bool isUsedOutside(Operation *op, const Ops &set);
  SmallVector<CutInput> inputsOf(const Ops &set);
  void takeNorm();
  void takeResidual();

  const LocalPart &part;
  const SequencePropagation &propagation;
  const llvm::DenseMap<Operation *, unsigned> &order;
  Ops ops;
  Value output;
};
} // namespace

bool mlir::ring::isMadeOfNothing(Operation *op, const LocalPart &part,
                                 const SequencePropagation &propagation) {
  const OpSequence *form = propagation.localForm(op);
  if (!form || neededPositions(op, *form))
    return false;
  for (auto [value, dim] : llvm::zip_equal(op->getOperands(), form->operands))
    if (dim && !(part.isMade(value, *dim) && value.getDefiningOp() &&
                 isMadeOfNothing(value.getDefiningOp(), part, propagation)))
      return false;
  return true;
}

static int64_t elements(Value value) {
  return cast<ShapedType>(value.getType()).getNumElements();
}

bool Search::isProduct(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && part.ops.contains(op) &&
         linalg::isaContractionOpInterface(linalgOp) && activation(op);
}

Value Search::activation(Operation *op) {
  const OpSequence *form = propagation.localForm(op);
  if (!form || form->operands.size() != 3 ||
      form->operands[0].has_value() == form->operands[1].has_value())
    return {};
  return op->getOperand(form->operands[0] ? 0 : 1);
}

/// Goes back from what the last product reads to products that widen; false
/// where anything else comes first.
bool Search::collect(Value value) {
  Operation *op = value.getDefiningOp();
  const OpSequence *form = op ? propagation.localForm(op) : nullptr;
  if (!form || !part.isMade(value, *propagation.sequenceOf(value)))
    return false;
  if (isMadeOfNothing(op, part, propagation) || !ops.insert(op))
    return true;
  if (isProduct(op))
    return elements(op->getResult(0)) > elements(activation(op));
  for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), form->operands))
    if (dim && !collect(operand))
      return false;
  return true;
}

bool Search::isUsedOutside(Operation *op, const Ops &set) {
  return llvm::any_of(op->getResults(), [&](Value result) {
    return part.results.contains(result) ||
           llvm::any_of(result.getUsers(), [&](Operation *user) {
             // Attention is given its operands through a scatter.
             return isa<ScatterOp>(user) ||
                    (part.ops.contains(user) && !set.contains(user));
           });
  });
}

SmallVector<CutInput> Search::inputsOf(const Ops &set) {
  SmallVector<CutInput> inputs;
  for (Operation *op : set) {
    const OpSequence &form = *propagation.localForm(op);
    for (auto [value, dim] :
         llvm::zip_equal(op->getOperands(), form.operands)) {
      Operation *source = value.getDefiningOp();
      if (!dim || (source && part.isMade(value, *dim) &&
                   (set.contains(source) ||
                    isMadeOfNothing(source, part, propagation))))
        continue;
      if (llvm::none_of(inputs,
                        [&, value = value, dim = dim](const CutInput &input) {
                          return input.whole == value && input.dim == *dim;
                        }))
        inputs.push_back({value, *dim});
    }
  }
  return inputs;
}

static int64_t totalElements(ArrayRef<CutInput> inputs) {
  int64_t total = 0;
  for (const CutInput &input : inputs)
    total += elements(input.whole);
  return total;
}

/// What is used here only, back to what is used elsewhere as well, unless that
/// is more.
void Search::takeNorm() {
  Ops taken = ops;
  SmallVector<CutInput> work = inputsOf(taken);
  while (!work.empty()) {
    Operation *op = work.pop_back_val().whole.getDefiningOp();
    if (!op || taken.contains(op) || !part.ops.contains(op) ||
        !propagation.localForm(op) || isProduct(op) || isUsedOutside(op, taken))
      continue;
    taken.insert(op);
    work = inputsOf(taken);
  }
  if (totalElements(inputsOf(taken)) <= totalElements(inputsOf(ops)))
    ops = std::move(taken);
}

/// The sum with what went around, through reshapes.
void Search::takeResidual() {
  bool summed = false;
  while (!part.results.contains(output)) {
    Operation *next = nullptr;
    for (Operation *user : output.getUsers())
      if (part.ops.contains(user) || isa<ScatterOp>(user)) {
        if (next && next != user)
          return;
        next = user;
      }
    if (!next || isa<ScatterOp>(next) || next->getNumResults() != 1 ||
        elements(next->getResult(0)) != elements(output))
      return;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(next);
    bool isReshape = isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(next);
    if (!isReshape &&
        (summed || !linalgOp ||
         linalgOp.getNumLoops() != linalgOp.getNumParallelLoops()))
      return;
    summed |= !isReshape;
    ops.insert(next);
    output = next->getResult(0);
  }
}

std::optional<FeedForward> Search::run(Operation *last) {
  if (!isProduct(last) ||
      elements(activation(last)) <= elements(last->getResult(0)))
    return std::nullopt;
  if (!collect(activation(last)))
    return std::nullopt;
  ops.insert(last);
  output = last->getResult(0);
  if (llvm::any_of(ops, [&](Operation *op) {
        return op != last && isUsedOutside(op, ops);
      }))
    return std::nullopt;
  takeNorm();
  takeResidual();
  FeedForward found;
  SmallVector<Operation *> sorted(ops.getArrayRef());
  llvm::sort(sorted, [&](Operation *a, Operation *b) {
    return order.lookup(a) < order.lookup(b);
  });
  found.ops.insert_range(sorted);
  found.inputs = inputsOf(found.ops);
  found.output = output;
  return found;
}

std::vector<FeedForward>
mlir::ring::findFeedForwards(func::FuncOp host, const LocalPart &part,
                             const SequencePropagation &propagation) {
  llvm::DenseMap<Operation *, unsigned> order;
  for (auto [index, op] : llvm::enumerate(host.front()))
    order[&op] = index;
  std::vector<FeedForward> found;
  llvm::DenseSet<Operation *> taken;
  for (Operation *op : llvm::reverse(part.ops)) {
    if (taken.contains(op))
      continue;
    std::optional<FeedForward> next = Search(part, propagation, order).run(op);
    if (!next || llvm::any_of(next->ops, [&](Operation *inner) {
          return taken.contains(inner);
        }))
      continue;
    taken.insert_range(next->ops);
    found.push_back(std::move(*next));
  }
  return found;
}
