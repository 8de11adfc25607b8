//===- RankProgram.cpp - The parts of a rank function ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ring;

bool RankProgram::isRankFunction(func::FuncOp function) {
  return function->hasAttr(kRankOfAttrName) &&
         !function->hasAttr(kLocalAttrName) && !function.isExternal();
}

bool mlir::ring::isLocalFunction(func::FuncOp function) {
  return function->hasAttr(kRankOfAttrName) &&
         function->hasAttr(kLocalAttrName) && !function.isExternal();
}

LogicalResult mlir::ring::checkTable(Operation *op,
                                     ArrayRef<::ring::LayoutEntry> entries,
                                     int64_t ranks) {
  constexpr int64_t kLimit = int64_t(1) << 62;
  int64_t owner = 0, positions = 0;
  for (auto [index, entry] : llvm::enumerate(entries)) {
    auto error = [&, index = index] {
      return op->emitError() << "entry " << index << " of a layout table ";
    };
    if (entry.owner < 0 || entry.owner >= ranks)
      return error() << "is of rank " << entry.owner << ", expected 0 to "
                     << ranks - 1;
    if (entry.owner < owner)
      return error() << "is of rank " << entry.owner << " after rank " << owner
                     << ", expected ascending ranks";
    owner = entry.owner;
    if (entry.begin < 0 || entry.block < 0 || entry.count < 0)
      return error() << "begins at " << entry.begin << " and has "
                     << entry.count << " blocks of " << entry.block
                     << ", expected no negative number";
    if (entry.empty())
      continue;
    if (entry.stride < entry.block)
      return error() << "has stride " << entry.stride << ", expected its block "
                     << entry.block << " or more";
    int64_t end;
    if (llvm::MulOverflow(entry.count, entry.stride, end) ||
        llvm::AddOverflow(end, entry.begin, end) ||
        llvm::AddOverflow(positions, entry.size(), positions) || end > kLimit ||
        positions > kLimit)
      return error() << "goes beyond position " << kLimit;
  }
  return success();
}

/// The grid and the axis that the function's ops name. On a ring of one rank
/// owners and transfers fold away: then the axis is the one that is not 1.
static LogicalResult findGrid(RankProgram &program) {
  Operation *namer = nullptr;
  FlatSymbolRefAttr symbol;
  std::optional<int64_t> axis;
  program.function.walk([&](Operation *op) {
    if (auto owner = dyn_cast<OwnerOp>(op))
      namer = op, symbol = owner.getGridAttr(), axis = owner.getAxis();
    else if (auto start = dyn_cast<PermuteStartOp>(op))
      namer = op, symbol = start.getGridAttr(), axis = start.getAxis();
    else if (auto index = dyn_cast<shard::ProcessLinearIndexOp>(op);
             index && !axis)
      namer = op, symbol = index.getGridAttr();
  });
  if (!namer)
    return program.function.emitError("rank function in which no op names the "
                                      "grid");
  program.grid =
      SymbolTable::lookupNearestSymbolFrom<shard::GridOp>(namer, symbol);
  if (!program.grid)
    return namer->emitError("unknown grid ") << symbol;
  program.axis = axis.value_or(0);
  ArrayRef<int64_t> shape = program.grid.getShape();
  for (auto [index, size] : llvm::enumerate(shape))
    if (!axis && size != 1)
      program.axis = index;
  if (shape.empty())
    return namer->emitError("grid ") << symbol << " has no axis";
  if (ShapedType::isDynamic(shape[program.axis]))
    return namer->emitError("axis ")
           << program.axis << " of grid " << symbol << " has no static size";
  // The index of the rank may be all that names it, which says nothing of this.
  if (program.ranks() < 1 || program.ranks() > kMaxRingSize)
    return namer->emitError("axis ")
           << program.axis << " of grid " << symbol << " has "
           << program.ranks() << " ranks, expected 1 to " << kMaxRingSize;
  return success();
}

/// True iff `a` and `b` have the same tables and mask.
static bool haveSamePositions(SlicesOp a, SlicesOp b) {
  auto same = [](Value x, Value y) {
    Attribute first, second;
    auto xGlobal = x.getDefiningOp<memref::GetGlobalOp>();
    auto yGlobal = y.getDefiningOp<memref::GetGlobalOp>();
    return x == y ||
           (matchPattern(x, m_Constant(&first)) &&
            matchPattern(y, m_Constant(&second)) && first == second) ||
           (xGlobal && yGlobal && xGlobal.getName() == yGlobal.getName());
  };
  return same(a.getQueryTable(), b.getQueryTable()) &&
         same(a.getKeyTable(), b.getKeyTable()) &&
         a.getMaskAttr() == b.getMaskAttr();
}

/// Pairs are counted in int64_t. And tables that somebody wrote may be such
/// that they can be counted only one by one.
static LogicalResult checkCounting(SlicesOp op) {
  constexpr int64_t kMostSteps = int64_t(1) << 26;
  SlicesArithmetic arithmetic(op);
  int64_t pairs;
  if (llvm::MulOverflow(arithmetic.queryCount, arithmetic.keyCount, pairs))
    return op.emitError("layout tables of ")
           << arithmetic.queryCount << " queries and " << arithmetic.keyCount
           << " keys, expected fewer than 2^63 pairs of them";
  int64_t steps =
      ::ring::countingSteps({arithmetic.mask, arithmetic.queryView(),
                             arithmetic.keyView(), arithmetic.keyCount});
  if (steps <= kMostSteps)
    return success();
  return op.emitError("counting the visible pairs of the layout tables takes ")
         << steps << " steps, expected " << kMostSteps
         << " or less: blocks of one stride, or fewer of them";
}

FailureOr<RankProgram> RankProgram::match(func::FuncOp function) {
  RankProgram program;
  program.function = function;
  auto isInput = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped && shaped.hasRank() && shaped.getRank() == 4;
  };
  ArrayRef<Type> inputs = function.getArgumentTypes();
  if (inputs.size() < 3 || !llvm::all_of(inputs.take_front(3), isInput))
    return function.emitError("rank function takes (")
           << inputs
           << "), expected query, key and value of 4 dimensions first";
  function.walk([&](SlicesOp op) { program.slices.push_back(op); });
  if (program.slices.empty())
    return function.emitError("rank function without ring.slices");
  if (failed(findGrid(program)))
    return failure();
  SlicesOp first = program.slices.front();
  for (SlicesOp op : program.slices) {
    for (Value value : {op.getQueryTable(), op.getKeyTable()}) {
      auto table = parseTable(value);
      if (!table && !isa<BlockArgument>(value))
        return op.emitError("layout table is neither a constant nor an "
                            "argument");
      if (table && failed(checkTable(op, *table, program.ranks())))
        return failure();
    }
    if (op == first && program.hasConstantTables() && failed(checkCounting(op)))
      return failure();
    if (haveSamePositions(first, op))
      continue;
    InFlightDiagnostic diag =
        op.emitError("tables or mask differ from those of another work list of "
                     "the function");
    diag.attachNote(first.getLoc()) << "the other is here";
    return diag;
  }
  return program;
}

bool RankProgram::hasConstantTables() {
  SlicesOp op = slices.front();
  return parseTable(op.getQueryTable()) && parseTable(op.getKeyTable());
}

Value mlir::ring::withoutCasts(Value table) {
  while (auto cast = table.getDefiningOp<tensor::CastOp>())
    table = cast.getSource();
  return table;
}

RankedTensorType mlir::ring::runTimeTableType(MLIRContext *context) {
  return RankedTensorType::get({ShapedType::kDynamic, 5},
                               IntegerType::get(context, 64));
}

TablesOp mlir::ring::createTables(ImplicitLocOpBuilder &b, LayoutAttr layout,
                                  int64_t ranks, Value queryCount,
                                  Value keyCount,
                                  const RunTimeVisibility &visibility,
                                  MaskAttr mask) {
  auto kind = static_cast<::ring::LayoutKind>(layout.getKind());
  Value entries =
      arith::ConstantIndexOp::create(b, ::ring::maxEntries(kind, ranks));
  RankedTensorType type = runTimeTableType(b.getContext());
  Value forQueries = tensor::EmptyOp::create(b, type, entries);
  Value forKeys = tensor::EmptyOp::create(b, type, entries);
  return TablesOp::create(
      b, TypeRange{type, type}, layout, b.getI64IntegerAttr(ranks), queryCount,
      keyCount, visibility.querySegments, visibility.keySegments,
      visibility.lengths, visibility.offsets, forQueries, forKeys, mask);
}

bool mlir::ring::hasRunTimeVisibility(SlicesOp op) {
  return op.getQuerySegments() || op.getLengths() || op.getOffsets();
}

bool mlir::ring::movesQueries(SlicesOp op) {
  MaskAttr mask = op.getMaskAttr();
  return op.getOffsets() && mask && mask.dependsOnPositions();
}

SlicesArithmetic::SlicesArithmetic(SlicesOp slices)
    : queries(*parseTable(slices.getQueryTable())),
      keys(*parseTable(slices.getKeyTable())),
      queryCount(queryView().sequenceLength()),
      keyCount(keyView().sequenceLength()) {
  if (MaskAttr attr = slices.getMaskAttr())
    mask = attr.bind(queryCount, keyCount);
}

::ring::LayoutView SlicesArithmetic::queryView() const {
  return {queries.data(), static_cast<int64_t>(queries.size())};
}
::ring::LayoutView SlicesArithmetic::keyView() const {
  return {keys.data(), static_cast<int64_t>(keys.size())};
}

/// The transfer of a branch that sends the loop's blocks, all of them and in
/// order, and yields what arrives, or else the blocks. Whoever rewrites the
/// loop drops the branch, so there must be nothing else in it.
static PermuteStartOp matchPassOn(scf::ForOp loop, scf::IfOp passOn) {
  Block *then = passOn.thenBlock(), *otherwise = passOn.elseBlock();
  if (!otherwise || !llvm::hasNItems(*then, 3) ||
      !llvm::hasSingleElement(*otherwise))
    return {};
  auto blocks = ValueRange(loop.getRegionIterArgs()).drop_front(kStateSize);
  auto start = dyn_cast<PermuteStartOp>(then->front());
  auto wait = dyn_cast<PermuteWaitOp>(*std::next(then->begin()));
  if (!start || !wait || wait.getFuture() != start.getFuture() ||
      !llvm::equal(start.getSources(), blocks) ||
      !llvm::equal(then->back().getOperands(), wait.getReceived()) ||
      !llvm::equal(otherwise->back().getOperands(), blocks))
    return {};
  return start;
}

/// True iff `guard` is round + 1 < `rounds` and only guards.
static bool isGuard(arith::CmpIOp guard, scf::ForOp loop, int64_t rounds) {
  IntegerAttr bound;
  if (!guard || !guard->hasOneUse() ||
      guard.getPredicate() != arith::CmpIPredicate::slt ||
      !matchPattern(guard.getRhs(), m_Constant(&bound)) ||
      bound.getInt() != rounds)
    return false;
  auto next = guard.getLhs().getDefiningOp<arith::AddIOp>();
  return next && next.getLhs() == loop.getInductionVar() &&
         matchPattern(next.getRhs(), m_One());
}

std::optional<RoundsLoop> RoundsLoop::match(func::FuncOp function) {
  RoundsLoop found;
  for (auto loop : function.getOps<scf::ForOp>()) {
    std::optional<APInt> step = loop.getConstantStep();
    IntegerAttr from, to;
    if (!step || !step->isOne() ||
        !matchPattern(loop.getLowerBound(), m_Constant(&from)) ||
        !matchPattern(loop.getUpperBound(), m_Constant(&to)) ||
        from.getInt() != 0 ||
        loop.getInitArgs().size() != kStateSize + kBlockCount)
      continue;
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    auto passOn = yield.getOperand(kStateSize).getDefiningOp<scf::IfOp>();
    if (!passOn || passOn->getParentOp() != loop ||
        passOn.getNumResults() != kBlockCount ||
        !llvm::equal(yield.getOperands().drop_front(kStateSize),
                     passOn.getResults()) ||
        !llvm::all_of(passOn.getResults(),
                      [](Value block) { return block.hasOneUse(); }))
      continue;
    auto guard = passOn.getCondition().getDefiningOp<arith::CmpIOp>();
    PermuteStartOp start = matchPassOn(loop, passOn);
    if (!start || !isGuard(guard, loop, to.getInt()))
      continue;
    if (found.loop)
      return std::nullopt;
    found = {loop, guard, passOn, start, to.getInt()};
  }
  if (!found.loop)
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

std::optional<int64_t> mlir::ring::bytesOfTransfers(RankProgram &program,
                                                    int64_t transfers) {
  ArrayRef<Type> inputs = program.function.getArgumentTypes();
  auto key = cast<ShapedType>(inputs[1]), value = cast<ShapedType>(inputs[2]);
  for (int64_t dim : {0, 1, 3})
    if (key.isDynamicDim(dim) || value.isDynamicDim(dim))
      return std::nullopt;
  if (!program.hasConstantTables())
    return std::nullopt;
  SlicesArithmetic arithmetic(program.slices.front());
  return ::ring::bytesPerRank(transfers, key.getDimSize(0), key.getDimSize(1),
                              arithmetic.keyView().paddedSize(program.ranks()),
                              key.getDimSize(3), value.getDimSize(3),
                              key.getElementTypeBitWidth() / 8);
}

/// How often `op` runs: the product of the trip counts around it, without the
/// last round where it is guarded.
static FailureOr<int64_t> executions(Operation *op) {
  int64_t count = 1;
  scf::IfOp branch;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (auto inner = dyn_cast<scf::IfOp>(parent))
      branch = inner;
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      continue;
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (!trips)
      return loop.emitError("trip count is no constant");
    int64_t times = trips->getSExtValue();
    bool guarded =
        branch && isGuard(branch.getCondition().getDefiningOp<arith::CmpIOp>(),
                          loop, times);
    std::optional<int64_t> product =
        llvm::checkedMul(count, guarded ? times - 1 : times);
    if (!product)
      return loop.emitError("runs more often than can be counted");
    count = *product;
    branch = {};
  }
  return count;
}

FailureOr<ProgramCounts> mlir::ring::countProgram(RankProgram &program) {
  ProgramCounts counts;
  bool counted = true;
  auto add = [&](Operation *op, int64_t &total) {
    FailureOr<int64_t> times = executions(op);
    counted &= succeeded(times);
    total += succeeded(times) ? *times : 0;
  };
  program.function.walk([&](Operation *op) {
    if (isa<OnlineAttentionOp>(op))
      add(op, counts.rounds);
    else if (isa<PermuteStartOp>(op))
      add(op, counts.transfers);
  });
  if (!counted)
    return failure();
  counts.bytesPerRank = bytesOfTransfers(program, counts.transfers);
  if (auto slots = program.function->getAttrOfType<IntegerAttr>(kSlotsAttrName))
    counts.slots = slots.getInt();
  SlicesOp slices = program.slices.front();
  if (!program.hasConstantTables() || hasRunTimeVisibility(slices))
    return counts;
  SlicesArithmetic arithmetic(slices);
  ::ring::RingCounts ring = ::ring::countRing(
      arithmetic.mask, arithmetic.queryView(), arithmetic.keyView(),
      arithmetic.keyCount, program.order());
  counts.balance = ring.balance;
  counts.roundBalance = ring.roundBalance;
  return counts;
}
