//===- ApplyLayout.cpp - Who owns which positions -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ring {
#define GEN_PASS_DEF_APPLYLAYOUTPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

namespace {
struct ApplyLayoutPass
    : mlir::ring::impl::ApplyLayoutPassBase<ApplyLayoutPass> {
  using ApplyLayoutPassBase::ApplyLayoutPassBase;
  void runOnOperation() override;
};
} // namespace

/// The tables as constants at the start of `function`.
static std::pair<Value, Value> tableConstants(func::FuncOp function,
                                              const ::ring::LayoutPair &tables,
                                              Location loc) {
  auto b = OpBuilder::atBlockBegin(&function.front());
  MLIRContext *context = function.getContext();
  Value queries =
      arith::ConstantOp::create(b, loc, tableAttr(context, tables.queries));
  Value keys =
      arith::ConstantOp::create(b, loc, tableAttr(context, tables.keys));
  return {queries, keys};
}

namespace {
/// Gives tables to operands.
class TableReplacer {
public:
  void replace(OpOperand &operand, Value table) {
    if (Operation *old = operand.get().getDefiningOp())
      replaced.insert(old);
    operand.set(table);
  }
  /// Erases what nobody uses any more: constants, and computed tables with
  /// their casts. Not earlier: one operand may be given a table twice.
  void eraseDead() {
    while (!replaced.empty()) {
      Operation *old = replaced.pop_back_val();
      if (!isOpTriviallyDead(old))
        continue;
      for (Value operand : old->getOperands())
        if (Operation *source = operand.getDefiningOp())
          replaced.insert(source);
      old->erase();
    }
  }

private:
  llvm::SetVector<Operation *> replaced;
};
} // namespace

/// Gives the scatters of the operands and the gathers of the results of one
/// call these tables, which are known before it.
static LogicalResult retableCall(func::CallOp call, Value queries, Value keys,
                                 TableReplacer &replacer) {
  for (unsigned index = 0; index < call.getNumOperands(); ++index) {
    auto scatter = call.getOperand(index).getDefiningOp<ScatterOp>();
    if (!scatter && index < kInputCount)
      return call.emitError("operand ")
             << index << " of a rank function comes from no ring.scatter";
    if (!scatter) // the same on every rank, whatever the layout
      continue;
    // Other uses of the same local tensor keep their layout, also those of this
    // call: what is query and key needs both tables.
    if (!scatter.getLocal().hasOneUse()) {
      scatter = cast<ScatterOp>(OpBuilder(call).clone(*scatter));
      call.setOperand(index, scatter.getLocal());
    }
    scatter->moveBefore(call);
    bool isKeyOrValue = index == 1 || index == 2;
    replacer.replace(scatter.getTableMutable(), isKeyOrValue ? keys : queries);
  }
  for (Value result : call.getResults())
    for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
      auto gather = dyn_cast<GatherOp>(user);
      if (!gather)
        return user->emitError("uses a local tensor outside ring.gather");
      replacer.replace(gather.getTableMutable(), queries);
    }
  return success();
}

/// Says how even the work of the ranks is, now.
static void remarkBalance(RankProgram &program, LayoutAttr layout) {
  func::FuncOp function = program.function;
  SlicesArithmetic arithmetic(program.slices.front());
  ::ring::RingCounts counts = ::ring::countRing(
      arithmetic.mask, arithmetic.queryView(), arithmetic.keyView(),
      arithmetic.keyCount, program.order());
  remark::passed(function.getLoc(), remark::RemarkOpts::name("ApplyLayout")
                                        .category("ring-apply-layout")
                                        .function(function.getName()))
      << remark::metric("layout", layout.spelling())
      << remark::metric("balance", counts.balance)
      << remark::metric("round_balance", counts.roundBalance);
}

/// Tables that the compiler knows.
static LogicalResult applyConstantLayout(RankProgram &program,
                                         LayoutAttr layout,
                                         ArrayRef<func::CallOp> calls) {
  func::FuncOp function = program.function;
  SlicesArithmetic old(program.slices.front());
  ::ring::LayoutPair tables =
      layout.tables(program.ranks(), old.queryCount, old.keyCount, old.mask);
  auto [queries, keys] = tableConstants(function, tables, function.getLoc());
  TableReplacer replacer;
  for (SlicesOp op : program.slices) {
    replacer.replace(op.getQueryTableMutable(), queries);
    replacer.replace(op.getKeyTableMutable(), keys);
  }
  for (func::CallOp call : calls) {
    auto host = call->getParentOfType<func::FuncOp>();
    if (!host)
      return call.emitError("call of a rank function outside a func.func");
    auto [ofQueries, ofKeys] = tableConstants(host, tables, call.getLoc());
    if (failed(retableCall(call, ofQueries, ofKeys, replacer)))
      return failure();
  }
  replacer.eraseDead();
  remarkBalance(program, layout);
  return success();
}

namespace {
/// Tables that the host function computes and gives to the ranks, as the last
/// two arguments of the rank function.
class RunTimeTables {
public:
  RunTimeTables(RankProgram &program, LayoutAttr layout)
      : program(program), layout(layout), slices(program.slices.front()) {}

  LogicalResult apply(ArrayRef<func::CallOp> calls);

private:
  void addArguments();
  LogicalResult computeTables(func::CallOp call);
  /// What the call gives for a value of the rank function; null for null.
  FailureOr<Value> onHost(func::CallOp call, Value value);

  RankProgram &program;
  LayoutAttr layout;
  SlicesOp slices;
  int64_t queryCount = 0, keyCount = 0; ///< where the tables were constants
  bool hadConstants = false;
  TableReplacer replacer;
};
} // namespace

void RunTimeTables::addArguments() {
  SlicesArithmetic old(slices);
  queryCount = old.queryCount;
  keyCount = old.keyCount;
  hadConstants = true;
  func::FuncOp function = program.function;
  Type type = runTimeTableType(function.getContext());
  unsigned first = function.getNumArguments();
  for (unsigned index : {first, first + 1})
    (void)function.insertArgument(index, type, {}, function.getLoc());
  for (SlicesOp op : program.slices) {
    replacer.replace(op.getQueryTableMutable(), function.getArgument(first));
    replacer.replace(op.getKeyTableMutable(), function.getArgument(first + 1));
  }
}

FailureOr<Value> RunTimeTables::onHost(func::CallOp call, Value value) {
  if (!value)
    return Value();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &program.function.front() ||
      argument.getArgNumber() >= call.getNumOperands())
    return slices.emitError("ids, lengths, offsets or tables of a work list "
                            "are no arguments of the rank function");
  return call.getOperand(argument.getArgNumber());
}

LogicalResult RunTimeTables::computeTables(func::CallOp call) {
  RunTimeVisibility visibility;
  for (auto [ofRank, ofHost] :
       {std::pair<Value, Value *>(slices.getQuerySegments(),
                                  &visibility.querySegments),
        {slices.getKeySegments(), &visibility.keySegments},
        {slices.getLengths(), &visibility.lengths},
        {slices.getOffsets(), &visibility.offsets}}) {
    FailureOr<Value> found = onHost(call, ofRank);
    if (failed(found))
      return failure();
    *ofHost = *found;
  }
  ImplicitLocOpBuilder b(call.getLoc(), call);
  Value sizes[2];
  if (hadConstants) {
    sizes[0] = arith::ConstantIndexOp::create(b, queryCount);
    sizes[1] = arith::ConstantIndexOp::create(b, keyCount);
  } else {
    FailureOr<Value> table = onHost(call, slices.getQueryTable());
    if (failed(table))
      return failure();
    auto old = withoutCasts(*table).getDefiningOp<TablesOp>();
    if (!old)
      return call.emitError("a layout table comes from no ring.tables");
    sizes[0] = old.getQueryCount();
    sizes[1] = old.getKeyCount();
  }
  TablesOp tables = createTables(b, layout, program.ranks(), sizes[0], sizes[1],
                                 visibility, slices.getMaskAttr());
  Value queries = tables.getResult(0), keys = tables.getResult(1);
  if (hadConstants) {
    call.getOperandsMutable().append({queries, keys});
  } else {
    for (auto [ofRank, table] :
         {std::pair<Value, Value>(slices.getQueryTable(), queries),
          {slices.getKeyTable(), keys}})
      replacer.replace(
          call->getOpOperand(cast<BlockArgument>(ofRank).getArgNumber()),
          table);
  }
  return retableCall(call, queries, keys, replacer);
}

LogicalResult RunTimeTables::apply(ArrayRef<func::CallOp> calls) {
  if (program.hasConstantTables())
    addArguments();
  for (func::CallOp call : calls)
    if (failed(computeTables(call)))
      return failure();
  replacer.eraseDead();
  func::FuncOp function = program.function;
  remark::passed(function.getLoc(), remark::RemarkOpts::name("ApplyLayout")
                                        .category("ring-apply-layout")
                                        .function(function.getName()))
      << remark::add("tables are computed at run time")
      << remark::metric("layout", layout.spelling());
  return success();
}

/// Whether the program can still change, or is laid out so already.
static FailureOr<bool> needsLayout(RankProgram &program, LayoutAttr layout) {
  func::FuncOp function = program.function;
  if (function->getAttr(kLayoutAttrName) == layout)
    return false;
  if (llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<MemRefType>))
    return function.emitError("the layout of a program on memrefs cannot "
                              "change");
  if (!program.isWhole())
    return function.emitError("the layout of a program whose blocks have been "
                              "classified cannot change");
  return true;
}

static LogicalResult applyLayout(RankProgram &program, LayoutAttr layout,
                                 ArrayRef<func::CallOp> calls) {
  // How much there is to do is not known before the program runs.
  bool atRunTime = !program.hasConstantTables() ||
                   (layout.getKind() == LayoutKind::Balanced &&
                    hasRunTimeVisibility(program.slices.front()));
  if (failed(atRunTime ? RunTimeTables(program, layout).apply(calls)
                       : applyConstantLayout(program, layout, calls)))
    return failure();
  program.function->setAttr(kLayoutAttrName, layout);
  return success();
}

//===----------------------------------------------------------------------===//
// Attentions that share their positions
//===----------------------------------------------------------------------===//

namespace {
/// The attentions of one local function: what a rank has of one it gives to the
/// next, so that each sequence has one table for all of them.
class SharedTables {
public:
  SharedTables(func::FuncOp local, LayoutAttr layout)
      : local(local), layout(layout) {}

  LogicalResult apply(MutableArrayRef<RankProgram> programs,
                      ArrayRef<func::CallOp> hostCalls);

private:
  void decide(ArrayRef<RankProgram *> programs);
  LogicalResult replace(func::FuncOp where, OpOperand &table);

  func::FuncOp local;
  LayoutAttr layout;
  llvm::MapVector<Attribute, DenseIntElementsAttr> tables; ///< old to new
  llvm::DenseMap<std::pair<Operation *, Attribute>, Value> constants;
  TableReplacer replacer;
};
} // namespace

static Attribute constantOf(Value table) {
  Attribute attr;
  matchPattern(table, m_Constant(&attr));
  return attr;
}

static int64_t visiblePairs(RankProgram &program) {
  SlicesArithmetic arithmetic(program.slices.front());
  return ::ring::countRing(arithmetic.mask, arithmetic.queryView(),
                           arithmetic.keyView(), arithmetic.keyCount,
                           program.order())
      .visiblePairs;
}

/// Where attentions differ in their masks, the one with most to do decides.
void SharedTables::decide(ArrayRef<RankProgram *> programs) {
  SmallVector<std::pair<int64_t, RankProgram *>> byWork;
  for (RankProgram *program : programs)
    byWork.emplace_back(visiblePairs(*program), program);
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
    tables.try_emplace(constantOf(op.getQueryTable()),
                       tableAttr(context, fresh.queries));
    tables.try_emplace(constantOf(op.getKeyTable()),
                       tableAttr(context, fresh.keys));
  }
}

LogicalResult SharedTables::replace(func::FuncOp where, OpOperand &table) {
  Attribute old = constantOf(table.get());
  auto *found = tables.find(old);
  if (!old || found == tables.end())
    return table.getOwner()->emitError("layout table is not one of the "
                                       "attentions' around it");
  Value &constant = constants[{where, old}];
  if (!constant) {
    auto b = OpBuilder::atBlockBegin(&where.front());
    constant = arith::ConstantOp::create(b, where.getLoc(), found->second);
  }
  replacer.replace(table, constant);
  return success();
}

LogicalResult SharedTables::apply(MutableArrayRef<RankProgram> programs,
                                  ArrayRef<func::CallOp> hostCalls) {
  SmallVector<RankProgram *> changing;
  for (RankProgram &program : programs) {
    FailureOr<bool> needed = needsLayout(program, layout);
    if (failed(needed))
      return failure();
    if (!*needed)
      return success(); // one layout for all of them
    if (!program.hasConstantTables())
      return program.function.emitError(
          "layout tables among local ops are not constant");
    changing.push_back(&program);
  }
  decide(changing);
  for (RankProgram *program : changing) {
    for (SlicesOp op : program->slices)
      if (failed(replace(program->function, op.getQueryTableMutable())) ||
          failed(replace(program->function, op.getKeyTableMutable())))
        return failure();
    program->function->setAttr(kLayoutAttrName, layout);
    remarkBalance(*program, layout);
  }
  for (func::CallOp call : hostCalls) {
    auto host = call->getParentOfType<func::FuncOp>();
    if (!host)
      return call.emitError("call of a rank function outside a func.func");
    llvm::SetVector<Operation *> scatters;
    for (Value operand : call.getOperands())
      if (auto scatter = operand.getDefiningOp<ScatterOp>())
        scatters.insert(scatter);
    for (Operation *scatter : scatters)
      if (failed(replace(host, cast<ScatterOp>(scatter).getTableMutable())))
        return failure();
    for (Operation *user : call->getUsers()) {
      auto gather = dyn_cast<GatherOp>(user);
      if (!gather)
        return user->emitError("uses a local tensor outside ring.gather");
      if (failed(replace(host, gather.getTableMutable())))
        return failure();
    }
  }
  replacer.eraseDead();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void ApplyLayoutPass::runOnOperation() {
  auto attr = LayoutAttr::fromSpelling(&getContext(), layout);
  if (!attr) {
    getOperation().emitError("unknown layout '")
        << layout.getValue()
        << "', expected contiguous, zigzag, striped[:G] or balanced";
    return signalPassFailure();
  }
  llvm::DenseMap<Operation *, SmallVector<func::CallOp>> calls;
  SymbolTableCollection symbols;
  getOperation().walk([&](func::CallOp call) {
    calls[symbols.lookupNearestSymbolFrom(call, call.getCalleeAttr())]
        .push_back(call);
  });
  llvm::MapVector<Operation *, SmallVector<RankProgram>> shared;
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
    if (!RankProgram::isRankFunction(function))
      continue;
    FailureOr<RankProgram> program = RankProgram::match(function);
    if (failed(program))
      return signalPassFailure();
    ArrayRef<func::CallOp> ofFunction = calls[function];
    auto caller = ofFunction.empty()
                      ? func::FuncOp()
                      : ofFunction.front()->getParentOfType<func::FuncOp>();
    if (caller && isLocalFunction(caller)) {
      shared[caller].push_back(*program);
      continue;
    }
    FailureOr<bool> needed = needsLayout(*program, attr);
    if (failed(needed) ||
        (*needed && failed(applyLayout(*program, attr, ofFunction))))
      return signalPassFailure();
  }
  for (auto &[local, programs] : shared)
    if (failed(SharedTables(cast<func::FuncOp>(local), attr)
                   .apply(programs, calls[local])))
      return signalPassFailure();
}
