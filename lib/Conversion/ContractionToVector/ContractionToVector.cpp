//===- ContractionToVector.cpp - Contractions to vector code --------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CalledFunctions.h"
#include "Contraction.h"
#include "ContractionKernel.h"

#include "ring/Conversion/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ring {
#define GEN_PASS_DEF_CONVERTCONTRACTIONTOVECTORPASS
#include "ring/Conversion/ContractionToVector/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

/// Below so many multiplications loops end before a thread has woken up.
static constexpr int64_t kFewMultiplications = 4096;
/// Items that keep a machine busy; tiles become smaller where there are less.
static constexpr int64_t kManyItems = 16;

namespace {
/// One loop of a contraction: its turns, and the stride in each operand.
struct Dimension {
  Value size, lhs, rhs, out;
};

/// Makes the operands of a kernel.
class OperandBuilder {
public:
  OperandBuilder(const Contraction &contraction, ImplicitLocOpBuilder &b);

  /// lhs, rhs, out and the sizes of a tile, as the kernel takes them.
  SmallVector<Value> operands();
  Value items();

private:
  struct Parts {
    OpOperand *operand;
    memref::ExtractStridedMetadataOp metadata;
  };
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value strideOf(Parts &parts, unsigned loop);
  Dimension dimension(unsigned loop);
  /// The innermost of `loops`, into which the others have gone where they lie
  /// behind one another in all operands; these are added to `outer`.
  Dimension innermost(ArrayRef<unsigned> loops, SmallVector<Dimension> &outer);
  Value view(Parts &parts, ArrayRef<Dimension> dims,
             Value Dimension::*strideOf);
  Value tiles(Value tileRows, Value tileColumns);
  void chooseTiles();

  const Contraction &contraction;
  ImplicitLocOpBuilder &b;
  Parts lhs, rhs, out;
  SmallVector<Dimension> batch, outerSums;
  Dimension rows, columns, sums;
  Value tileRows, tileColumns;
};

struct ConvertContractionToVectorPass
    : mlir::ring::impl::ConvertContractionToVectorPassBase<
          ConvertContractionToVectorPass> {
  using ConvertContractionToVectorPassBase::ConvertContractionToVectorPassBase;
  void runOnOperation() override;

private:
  using Filler = llvm::function_ref<void(KernelBuilder &, func::FuncOp)>;
  /// The function `stem`, which is made by `fill` before the one of `op` unless
  /// the pass has made it already.
  func::FuncOp functionFor(Operation *op, StringRef stem, TypeRange types,
                           Filler fill);
  func::FuncOp unpack(Operation *op, Value memref);
  func::FuncOp kernelFor(Operation *op, ValueRange operands, bool fromZero);
  void convert(const Contraction &contraction);

  std::optional<TilePlan> plan;
  llvm::StringMap<func::FuncOp> functions;
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

OperandBuilder::OperandBuilder(const Contraction &contraction,
                               ImplicitLocOpBuilder &b)
    : contraction(contraction), b(b) {
  auto partsOf = [&](OpOperand *operand) -> Parts {
    return {operand,
            memref::ExtractStridedMetadataOp::create(b, operand->get())};
  };
  lhs = partsOf(contraction.lhs);
  rhs = partsOf(contraction.rhs);
  out = partsOf(contraction.out);
  for (unsigned loop : contraction.batch)
    batch.push_back(dimension(loop));
  rows = innermost(contraction.rows, batch);
  columns = innermost(contraction.columns, batch);
  sums = innermost(contraction.sums, outerSums);
  chooseTiles();
}

Value OperandBuilder::strideOf(Parts &parts, unsigned loop) {
  std::optional<unsigned> dim = contraction.dimOf(parts.operand, loop);
  return dim ? parts.metadata.getStrides()[*dim] : index(0);
}

Dimension OperandBuilder::dimension(unsigned loop) {
  Dimension result{Value(), strideOf(lhs, loop), strideOf(rhs, loop),
                   strideOf(out, loop)};
  for (Parts *parts : {&lhs, &rhs, &out})
    if (std::optional<unsigned> dim = contraction.dimOf(parts->operand, loop);
        dim && !result.size)
      result.size = parts->metadata.getSizes()[*dim];
  return result;
}

Dimension OperandBuilder::innermost(ArrayRef<unsigned> loops,
                                    SmallVector<Dimension> &outer) {
  if (loops.empty())
    return {index(1), index(0), index(0), index(0)};
  SmallVector<Dimension> dims;
  for (unsigned loop : loops)
    dims.push_back(dimension(loop));
  Dimension inner = dims.pop_back_val();
  if (dims.empty())
    return inner;
  Value mergeable, size = inner.size;
  for (int64_t i = dims.size() - 1; i >= 0; --i) {
    const Dimension &within =
        i + 1 == int64_t(dims.size()) ? inner : dims[i + 1];
    for (Value Dimension::*stride :
         {&Dimension::lhs, &Dimension::rhs, &Dimension::out}) {
      Value behind =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, dims[i].*stride,
                                mul(within.size, within.*stride));
      mergeable =
          mergeable ? arith::AndIOp::create(b, mergeable, behind) : behind;
    }
    size = mul(size, dims[i].size);
  }
  inner.size = select(mergeable, size, inner.size);
  for (Dimension &dim : dims) {
    dim.size = select(mergeable, index(1), dim.size);
    outer.push_back(dim);
  }
  return inner;
}

Value OperandBuilder::view(Parts &parts, ArrayRef<Dimension> dims,
                           Value Dimension::*strideOf) {
  SmallVector<OpFoldResult> sizes, strides;
  for (const Dimension &dim : dims) {
    sizes.push_back(dim.size);
    strides.push_back(dim.*strideOf);
  }
  Type element =
      cast<MemRefType>(parts.operand->get().getType()).getElementType();
  return memref::ReinterpretCastOp::create(
      b, stridedType(element, dims.size()), parts.metadata.getBaseBuffer(),
      OpFoldResult(parts.metadata.getOffset()), sizes, strides);
}

Value OperandBuilder::tiles(Value height, Value width) {
  Value count =
      mul(countTiles(b, rows.size, height), countTiles(b, columns.size, width));
  for (const Dimension &dim : batch)
    count = mul(count, dim.size);
  return count;
}

/// Of the sizes of a tile from large to small the first of which there are
/// many.
void OperandBuilder::chooseTiles() {
  constexpr std::pair<int64_t, int64_t> kSizes[] = {
      {kTileRows, kTileColumns},
      {kTileRows, kTileColumns / 2},
      {kTileRows, kTileColumns / 4},
      {kTileRows / 4, kTileColumns / 4}};
  tileRows = index(kSizes[3].first);
  tileColumns = index(kSizes[3].second);
  for (auto [height, width] : llvm::reverse(ArrayRef(kSizes).drop_back())) {
    Value many = arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                                       tiles(index(height), index(width)),
                                       index(kManyItems));
    tileRows = select(many, index(height), tileRows);
    tileColumns = select(many, index(width), tileColumns);
  }
}

Value OperandBuilder::items() { return tiles(tileRows, tileColumns); }

SmallVector<Value> OperandBuilder::operands() {
  SmallVector<Dimension> lhsDims(batch), rhsDims(batch), outDims(batch);
  llvm::append_range(lhsDims, outerSums);
  llvm::append_range(rhsDims, outerSums);
  lhsDims.append({rows, sums});
  rhsDims.append({sums, columns});
  outDims.append({rows, columns});
  return {view(lhs, lhsDims, &Dimension::lhs),
          view(rhs, rhsDims, &Dimension::rhs),
          view(out, outDims, &Dimension::out), tileRows, tileColumns};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

func::FuncOp ConvertContractionToVectorPass::functionFor(Operation *op,
                                                         StringRef stem,
                                                         TypeRange types,
                                                         Filler fill) {
  func::FuncOp &function = functions[stem];
  if (function)
    return function;
  auto parent = op->getParentOfType<func::FuncOp>();
  OpBuilder builder(op->getContext());
  function =
      func::FuncOp::create(op->getLoc(), (parent.getName() + "_" + stem).str(),
                           builder.getFunctionType(types, {}));
  function.setPrivate();
  SymbolTable(getOperation()).insert(function, Block::iterator(parent));
  function.addEntryBlock();
  KernelBuilder b(op->getLoc(), function, *plan);
  fill(b, function);
  return function;
}

static std::string nameOf(Value memref) {
  std::string name;
  llvm::raw_string_ostream(name)
      << cast<MemRefType>(memref.getType()).getElementType();
  return name;
}

func::FuncOp ConvertContractionToVectorPass::unpack(Operation *op,
                                                    Value memref) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  return functionFor(op, nameOf(memref) + "_unpack",
                     {stridedType(element, 2), stripsType(&getContext())},
                     buildUnpack);
}

func::FuncOp ConvertContractionToVectorPass::kernelFor(Operation *op,
                                                       ValueRange operands,
                                                       bool fromZero) {
  Value lhs = operands[0], rhs = operands[1], out = operands[2];
  Copies copies;
  copies.unpackLhs = unpack(op, lhs);
  copies.unpackRhs = unpack(op, rhs);
  copies.unpackOut = unpack(op, out);
  copies.packOut =
      functionFor(op, nameOf(out) + "_pack",
                  {stripsType(&getContext()),
                   stridedType(Float32Type::get(&getContext()), 2)},
                  buildPack);

  int64_t batches = cast<MemRefType>(out.getType()).getRank() - 2;
  int64_t sums = cast<MemRefType>(lhs.getType()).getRank() - batches - 1;
  std::string stem = nameOf(lhs);
  if (nameOf(rhs) != stem)
    stem += "_" + nameOf(rhs);
  if (batches > 0)
    stem += "_batch" + std::to_string(batches);
  if (sums > 1)
    stem += "_sums" + std::to_string(sums);
  if (fromZero)
    stem += "_fromzero";
  SmallVector<Type> types = {IndexType::get(&getContext())};
  llvm::append_range(types, operands.getTypes());
  return functionFor(op, stem + "_matmul", types,
                     [&](KernelBuilder &b, func::FuncOp function) {
                       buildContractionKernel(b, function, copies, fromZero);
                     });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The fill that gives `out` its first content, +0, for `op` alone.
static linalg::FillOp zeroFillBefore(Operation *op, Value out) {
  for (Operation *previous = op->getPrevNode(); previous;
       previous = previous->getPrevNode()) {
    auto fill = dyn_cast<linalg::FillOp>(previous);
    if (fill && fill.getOutputs()[0] == out) {
      FloatAttr value;
      bool isZero = matchPattern(fill.getInputs()[0], m_Constant(&value)) &&
                    value.getValue().isPosZero();
      return isZero ? fill : linalg::FillOp();
    }
    if (!isMemoryEffectFree(previous) && !isa<memref::AllocOp>(previous))
      break;
  }
  return {};
}

/// True iff the sizes are known and there are few multiplications.
static bool isSmall(linalg::LinalgOp op) {
  int64_t product = 1;
  for (int64_t size : op.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(size))
      return false;
    product = llvm::SaturatingMultiply<uint64_t>(product, size) > INT32_MAX
                  ? INT32_MAX
                  : product * size;
  }
  return product < kFewMultiplications;
}

void ConvertContractionToVectorPass::convert(const Contraction &contraction) {
  linalg::LinalgOp op = contraction.op;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  OperandBuilder builder(contraction, b);
  SmallVector<Value> operands = builder.operands();
  linalg::FillOp fill = zeroFillBefore(op, contraction.out->get());
  func::FuncOp kernel = kernelFor(op, operands, fill != nullptr);
  ParallelCallOp::create(b, FlatSymbolRefAttr::get(kernel), builder.items(),
                         arith::ConstantIndexOp::create(b, -1), operands);
  if (fill)
    fill.erase();
  op.erase();
}

void ConvertContractionToVectorPass::runOnOperation() {
  if (!llvm::is_contained({128, 256, 512}, vectorBits)) {
    getOperation().emitError("vector-bits is ")
        << vectorBits.getValue() << ", expected 128, 256 or 512";
    return signalPassFailure();
  }
  plan = TilePlan::get(vectorBits, /*keyTile=*/1);
  functions.clear();
  llvm::DenseSet<Operation *> called = findCalledFunctions(getOperation());
  SmallVector<Contraction, 0> contractions;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (called.contains(function))
      continue; // nothing in it can call the runtime
    function.walk([&](linalg::LinalgOp op) {
      if (!becomesPartOfBlocks(op, function) || isSmall(op))
        return;
      if (std::optional<Contraction> contraction = Contraction::match(op))
        contractions.push_back(std::move(*contraction));
    });
  }
  for (const Contraction &contraction : contractions)
    convert(contraction);
}
