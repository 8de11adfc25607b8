//===- LinalgToParallel.cpp - Linalg to items on the pool -----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CalledFunctions.h"

#include "ring/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTLINALGTOPARALLELPASS
#include "ring/Conversion/LinalgToParallel/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

/// Turns of the innermost loop of an item: long beside what a thread takes to
/// fetch one, short beside an op of a model.
static constexpr int64_t kItemTurns = 32768;

namespace {
/// An op, and the loop along which it is cut.
struct Cut {
  linalg::LinalgOp op;
  unsigned loop;

  /// The dimension of `operand` that the loop walks along, if any.
  std::optional<unsigned> dimOf(OpOperand &operand) const {
    AffineMap map = linalg::LinalgOp(op).getMatchingIndexingMap(&operand);
    return map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
  }
};

struct ConvertLinalgToParallelPass
    : mlir::ring::impl::ConvertLinalgToParallelPassBase<
          ConvertLinalgToParallelPass> {
  using ConvertLinalgToParallelPassBase::ConvertLinalgToParallelPassBase;
  void runOnOperation() override;

private:
  /// The function of one item, made unless an equal op has one already. It
  /// takes the item, `operands` and how much of the loop an item is.
  func::FuncOp itemFunction(const Cut &cut, ArrayRef<Value> captures,
                            ValueRange operands);
  void convert(const Cut &cut);

  /// A function and the op that it was made for, which lives until the end.
  struct Made {
    Operation *op;
    func::FuncOp function;
  };
  /// By name, attributes and types of the op.
  llvm::StringMap<SmallVector<Made>> made;
  int64_t number = 0; ///< of functions made
};
} // namespace

//===----------------------------------------------------------------------===//
// What is cut
//===----------------------------------------------------------------------===//

/// True iff items can be run side by side: nobody else reads what one writes.
static bool canCut(const Cut &cut) {
  linalg::LinalgOp op = cut.op;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (type && (!type.isStrided() || type.getMemorySpace()))
      return false;
    // In an expression, or twice, the loop would need another part.
    int64_t uses = llvm::count_if(map.getResults(), [&](AffineExpr result) {
      return result.isFunctionOfDim(cut.loop);
    });
    bool isPart = type && cut.dimOf(operand).has_value();
    if (uses != isPart || (op.isDpsInit(&operand) && !isPart))
      return false;
  }
  WalkResult writes = op.getBlock()->walk([](Operation *inner) {
    bool harmless = isMemoryEffectFree(inner) || isa<memref::LoadOp>(inner);
    return harmless ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !writes.wasInterrupted();
}

/// The outermost parallel loop of more than one turn, where the op is cut along
/// it; nothing where it is short as a whole.
static std::optional<Cut> findCut(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t turns = 1;
  bool isKnown = true;
  for (int64_t size : sizes) {
    isKnown &= !ShapedType::isDynamic(size);
    turns = llvm::SaturatingMultiply<uint64_t>(turns, size) > INT32_MAX
                ? INT32_MAX
                : turns * size;
  }
  if (isKnown && turns < 2 * kItemTurns)
    return std::nullopt;
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (unsigned loop = 0; loop < sizes.size(); ++loop) {
    if (iterators[loop] != utils::IteratorType::parallel || sizes[loop] == 1)
      continue;
    Cut cut{op, loop};
    if (canCut(cut))
      return cut;
    break;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Functions and calls
//===----------------------------------------------------------------------===//

/// `count` of a memref from `first` on, along `dim`.
static Value partOf(ImplicitLocOpBuilder &b, Value memref, unsigned dim,
                    Value first, Value count) {
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
      sizes = memref::getMixedSizes(b, b.getLoc(), memref),
      strides(rank, b.getIndexAttr(1));
  offsets[dim] = first;
  sizes[dim] = count;
  return memref::SubViewOp::create(b, memref, offsets, sizes, strides);
}

/// How many turns the loop makes.
static Value turnsOf(ImplicitLocOpBuilder &b, const Cut &cut,
                     ValueRange operands) {
  for (OpOperand &operand : linalg::LinalgOp(cut.op)->getOpOperands())
    if (std::optional<unsigned> dim = cut.dimOf(operand))
      return memref::DimOp::create(b, operands[operand.getOperandNumber()],
                                   *dim);
  llvm_unreachable("a result has the dimension");
}

static bool haveEqualBodies(Operation *a, Operation *b) {
  return OperationEquivalence::isRegionEquivalentTo(
      &a->getRegion(0), &b->getRegion(0),
      OperationEquivalence::IgnoreLocations);
}

func::FuncOp ConvertLinalgToParallelPass::itemFunction(const Cut &cut,
                                                       ArrayRef<Value> captures,
                                                       ValueRange operands) {
  linalg::LinalgOp op = cut.op;
  std::string key;
  llvm::raw_string_ostream os(key);
  os << op->getName() << op->getAttrDictionary();
  llvm::interleaveComma(operands.getTypes(), os);
  for (const Made &other : made[key])
    if (haveEqualBodies(other.op, op))
      return other.function;

  auto parent = op->getParentOfType<func::FuncOp>();
  OpBuilder builder(op->getContext());
  SmallVector<Type> types = {builder.getIndexType()};
  llvm::append_range(types, operands.getTypes());
  types.push_back(builder.getIndexType());
  std::string name = parent.getName().str() + "_" + std::to_string(number++);
  auto function = func::FuncOp::create(op.getLoc(), name + "_elementwise",
                                       builder.getFunctionType(types, {}));
  function.setPrivate();
  made[key].push_back({op, function});
  SymbolTable(getOperation()).insert(function, Block::iterator(parent));

  auto b =
      ImplicitLocOpBuilder::atBlockBegin(op.getLoc(), function.addEntryBlock());
  ValueRange arguments = function.getArguments();
  ValueRange inside = arguments.drop_front().drop_back();
  Value most = arguments.back();
  Value first = arith::MulIOp::create(b, arguments.front(), most);
  Value left = arith::SubIOp::create(b, turnsOf(b, cut, inside), first);
  Value count = arith::MinSIOp::create(b, most, left);
  Operation *part = op->cloneWithoutRegions();
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    std::optional<unsigned> dim = cut.dimOf(operand);
    part->setOperand(number, dim ? partOf(b, inside[number], *dim, first, count)
                                 : inside[number]);
  }
  IRMapping mapping;
  for (auto [number, captured] : llvm::enumerate(captures))
    mapping.map(captured, inside[op->getNumOperands() + number]);
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  for (Value value : above)
    if (!llvm::is_contained(captures, value))
      b.clone(*value.getDefiningOp(), mapping);
  op->getRegion(0).cloneInto(&part->getRegion(0), mapping);
  b.insert(part);
  part->walk([&](linalg::IndexOp index) {
    if (index.getDim() != cut.loop)
      return;
    b.setInsertionPointAfter(index);
    auto whole = arith::AddIOp::create(b, index, first);
    index.getResult().replaceAllUsesExcept(whole, whole);
  });
  b.setInsertionPointToEnd(&function.front());
  func::ReturnOp::create(b);
  return function;
}

void ConvertLinalgToParallelPass::convert(const Cut &cut) {
  linalg::LinalgOp op = cut.op;
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  SmallVector<Value> captures, operands(op->getOperands());
  for (Value value : above)
    if (!matchPattern(value, m_Constant()))
      captures.push_back(value);
  llvm::append_range(operands, captures);
  func::FuncOp function = itemFunction(cut, captures, operands);

  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  Value turns = turnsOf(b, cut, op->getOperands());
  // Those of the other loops, and no less than one.
  Value within = index(1);
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    if (loop == cut.loop)
      continue;
    for (OpOperand &operand : op->getOpOperands())
      if (std::optional<unsigned> dim = Cut{op, loop}.dimOf(operand)) {
        Value size = memref::DimOp::create(b, operand.get(), *dim);
        within = arith::MulIOp::create(b, within, size);
        break;
      }
  }
  within = arith::MaxUIOp::create(b, within, index(1));
  Value most = arith::CeilDivUIOp::create(b, index(kItemTurns), within);
  operands.push_back(most);
  Value items = arith::CeilDivUIOp::create(b, turns, most);
  // One item is done before another thread has woken up.
  Value one =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, items, index(1));
  auto branch = scf::IfOp::create(b, one, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> alone = {index(0)};
  llvm::append_range(alone, operands);
  func::CallOp::create(b, function, alone);
  b.setInsertionPointToStart(branch.elseBlock());
  ParallelCallOp::create(b, FlatSymbolRefAttr::get(function), items, index(-1),
                         operands);
}

void ConvertLinalgToParallelPass::runOnOperation() {
  made.clear();
  number = 0;
  llvm::DenseSet<Operation *> called = findCalledFunctions(getOperation());
  SmallVector<Cut> cuts;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (called.contains(function))
      continue; // nothing in it can call the runtime
    function.walk([&](linalg::LinalgOp op) {
      if (!becomesPartOfBlocks(op, function))
        return;
      if (std::optional<Cut> cut = findCut(op))
        cuts.push_back(*cut);
    });
  }
  for (const Cut &cut : cuts)
    convert(cut);
  for (const Cut &cut : cuts)
    linalg::LinalgOp(cut.op)->erase();
}
