//===- SharedTables.cpp - Layout tables of a local function ---------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutTables.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::ring;

namespace {
class SharedTables {
public:
  SharedTables(MutableArrayRef<RankProgram> programs, LayoutAttr layout)
      : programs(programs), layout(layout) {}

  LogicalResult apply(ArrayRef<func::CallOp> hostCalls);

private:
  void decide();
  LogicalResult replace(func::FuncOp where, OpOperand &table);
  LogicalResult replaceAround(func::CallOp call);

  MutableArrayRef<RankProgram> programs;
  LayoutAttr layout;
  llvm::MapVector<Attribute, DenseIntElementsAttr> tables; ///< old to new
  llvm::DenseMap<std::pair<Operation *, Attribute>, Value> constants;
  TableReplacer replacer;
};
} // namespace

/// Visible pairs; none where everything is visible, since any layout that deals
/// positions out evenly is even then.
static int64_t pairsToBalance(RankProgram &program) {
  SlicesArithmetic arithmetic(program.slices.front());
  int64_t visible = ::ring::countRing(arithmetic.mask, arithmetic.queryView(),
                                      arithmetic.keyView(), arithmetic.keyCount,
                                      program.order())
                        .visiblePairs;
  return visible == arithmetic.queryCount * arithmetic.keyCount ? 0 : visible;
}

/// Where attentions differ in their masks, the one with most to do decides.
void SharedTables::decide() {
  SmallVector<std::pair<int64_t, RankProgram *>> byWork;
  for (RankProgram &program : programs)
    byWork.emplace_back(pairsToBalance(program), &program);
  llvm::sort(byWork, [](const auto &a, const auto &b) {
    StringRef first = a.second->function.getName();
    StringRef second = b.second->function.getName();
    return a.first != b.first ? a.first > b.first : first < second;
  });
  for (auto &[pairs, program] : byWork) {
    SlicesOp op = program->slices.front();
    SlicesArithmetic old(op);
    ::ring::LayoutPair fresh =
        layout.tables(program->ranks(), old.queryCount, old.keyCount, old.mask);
    MLIRContext *context = op.getContext();
    tables.try_emplace(constantTable(op.getQueryTable()),
                       tableAttr(context, fresh.queries));
    tables.try_emplace(constantTable(op.getKeyTable()),
                       tableAttr(context, fresh.keys));
  }
}

LogicalResult SharedTables::replace(func::FuncOp where, OpOperand &table) {
  Attribute old = constantTable(table.get());
  auto *found = tables.find(old);
  if (!old || found == tables.end())
    return table.getOwner()->emitError("layout table is none of those that the "
                                       "attentions compute with");
  Value &constant = constants[{where, old}];
  if (!constant) {
    auto b = OpBuilder::atBlockBegin(&where.front());
    constant = arith::ConstantOp::create(b, where.getLoc(), found->second);
  }
  replacer.replace(table, constant);
  return success();
}

/// Gives the scatters of the operands and the gathers of the results of a call
/// of the local function their tables.
LogicalResult SharedTables::replaceAround(func::CallOp call) {
  auto host = call->getParentOfType<func::FuncOp>();
  if (!host)
    return call.emitError("call of a rank function outside a func.func");
  llvm::SetVector<Operation *> scatters;
  for (Value operand : call.getOperands())
    if (auto scatter = operand.getDefiningOp<ScatterOp>())
      scatters.insert(scatter);
  for (Operation *op : scatters) {
    auto scatter = cast<ScatterOp>(op);
    // Other uses of the same local tensor keep their layout.
    if (llvm::any_of(scatter->getUsers(),
                     [&](Operation *user) { return user != call; })) {
      auto own = cast<ScatterOp>(OpBuilder(call).clone(*scatter));
      call->replaceUsesOfWith(scatter.getLocal(), own.getLocal());
      scatter = own;
    }
    if (failed(replace(host, scatter.getTableMutable())))
      return failure();
  }
  for (Operation *user : call->getUsers()) {
    auto gather = dyn_cast<GatherOp>(user);
    if (!gather)
      return user->emitError("uses a local tensor outside ring.gather");
    if (failed(replace(host, gather.getTableMutable())))
      return failure();
  }
  return success();
}

LogicalResult SharedTables::apply(ArrayRef<func::CallOp> hostCalls) {
  for (RankProgram &program : programs) {
    if (failed(checkLayoutCanChange(program)))
      return failure();
    if (!program.hasConstantTables())
      return program.function.emitError(
          "layout tables among local ops are not constant");
  }
  decide();
  for (RankProgram &program : programs) {
    for (SlicesOp op : program.slices)
      if (failed(replace(program.function, op.getQueryTableMutable())) ||
          failed(replace(program.function, op.getKeyTableMutable())))
        return failure();
    program.function->setAttr(kLayoutAttrName, layout);
    remarkBalance(program, layout);
  }
  for (func::CallOp call : hostCalls)
    if (failed(replaceAround(call)))
      return failure();
  replacer.eraseDead();
  return success();
}

LogicalResult
mlir::ring::applySharedLayout(MutableArrayRef<RankProgram> programs,
                              LayoutAttr layout,
                              ArrayRef<func::CallOp> hostCalls) {
  return SharedTables(programs, layout).apply(hostCalls);
}
