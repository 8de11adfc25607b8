//===- LocalFunction.cpp - The function of the ranks ----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalFunction.h"
#include "LocalOps.h"

#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Collapsed dimensions
//===----------------------------------------------------------------------===//

namespace {
/// A tensor whose sequence dimension is several collapsed ones, with these
/// taken apart.
struct Apart {
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  int64_t dim; ///< of the sequence alone

  Apart(ArrayRef<int64_t> whole, SequenceDim cut, int64_t length) {
    for (auto [index, size] : llvm::enumerate(whole)) {
      ReassociationIndices &group = groups.emplace_back();
      auto add = [&](int64_t part) {
        group.push_back(static_cast<int64_t>(shape.size()));
        shape.push_back(part);
      };
      if (static_cast<int64_t>(index) != cut.dim) {
        add(size);
        continue;
      }
      if (cut.outer != 1)
        add(cut.outer);
      dim = static_cast<int64_t>(shape.size());
      add(length);
      if (cut.inner != 1)
        add(cut.inner);
    }
  }
};

} // namespace

/// `local`, of `length` positions, with its sequence dimension alone.
static Value takeApart(ImplicitLocOpBuilder &b, Value local, SequenceDim dim,
                       Value length) {
  if (dim.isPlain())
    return local;
  auto type = cast<RankedTensorType>(local.getType());
  Apart apart(type.getShape(), dim, ShapedType::kDynamic);
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(b.getContext(), apart.shape);
  sizes[apart.dim] = length;
  return tensor::ExpandShapeOp::create(
      b, RankedTensorType::get(apart.shape, type.getElementType()), local,
      apart.groups, sizes);
}

/// The reverse; `whole` is the type of the tensor with all positions.
static Value putTogether(ImplicitLocOpBuilder &b, Value apart,
                         RankedTensorType whole, SequenceDim dim) {
  if (dim.isPlain())
    return apart;
  return tensor::CollapseShapeOp::create(
      b, apart, Apart(whole.getShape(), dim, ShapedType::kDynamic).groups);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

namespace {
/// A tensor that is cut along a dimension, and what a rank has of it.
struct Part {
  Value whole;
  SequenceDim dim;
  Value local;
};

/// What is at hand for some positions: those of the rank, or a block of them.
struct Positions {
  Value length;
  SmallVector<Part> inputs;
  llvm::DenseMap<Value, Value> made; ///< by the whole value
};

/// Builds the function of the ranks and its call.
class LocalFunctionBuilder {
public:
  LocalFunctionBuilder(func::FuncOp host, LocalPart &part,
                       const SequencePropagation &propagation,
                       ScatterOp example)
      : part(part), propagation(propagation), example(example), host(host),
        atHost(example.getLoc(), host.front().getTerminator()),
        b(host.getLoc(), host.getContext()),
        constants(host.getLoc(), host.getContext()) {}

  func::FuncOp build(StringRef name, ArrayRef<FeedForward> feedForwards,
                     int64_t blockLength);

private:
  void addPositions();
  Value allPositions(SequenceDim dim);
  void addInputs();
  Value scatter(Value whole, int64_t dim);
  Value partOf(const Positions &at, Value value, SequenceDim dim);
  Value wholeOf(Value value);
  void buildCall(func::CallOp call);
  void buildOp(Operation *op, Positions &at);
  void buildInBlocks(const FeedForward &feedForward, int64_t blockLength);
  void buildResults();
  void callFromHost();

  LocalPart &part;
  const SequencePropagation &propagation;
  ScatterOp example;
  func::FuncOp host;
  ImplicitLocOpBuilder atHost, b, constants;
  func::FuncOp function;
  SmallVector<Value> inputs; ///< what the host gives
  Positions ofRank;
  IRMapping wholes;
  SmallVector<std::pair<SequenceDim, Value>> positions;
};
} // namespace

Value LocalFunctionBuilder::scatter(Value whole, int64_t dim) {
  return ScatterOp::create(
      atHost,
      mlir::ring::localType(cast<RankedTensorType>(whole.getType()), dim),
      whole, example.getTable(), atHost.getI64IntegerAttr(dim),
      example.getGridAttr(), example.getAxisAttr());
}

/// The whole tensor that a rank's positions are cut from: its indices plus one,
/// since a rank's padding holds zeros.
Value LocalFunctionBuilder::allPositions(SequenceDim dim) {
  int64_t size = dim.outer * dim.inner *
                 cast<ShapedType>(example.getSource().getType())
                     .getDimSize(example.getDim());
  Value empty = tensor::EmptyOp::create(atHost, ArrayRef<int64_t>(size),
                                        atHost.getI64Type());
  AffineMap map = atHost.getMultiDimIdentityMap(1);
  return linalg::GenericOp::create(
             atHost, empty.getType(), ValueRange(), empty, map,
             utils::IteratorType::parallel,
             [](OpBuilder &nested, Location loc, ValueRange) {
               Value index = linalg::IndexOp::create(nested, loc, 0);
               Value one = arith::ConstantIndexOp::create(nested, loc, 1);
               Value number = arith::IndexCastOp::create(
                   nested, loc, nested.getI64Type(),
                   arith::AddIOp::create(nested, loc, index, one));
               linalg::YieldOp::create(nested, loc, number);
             })
      .getResult(0);
}

void LocalFunctionBuilder::addPositions() {
  for (Operation *op : part.ops) {
    const OpSequence *form = propagation.localForm(op);
    std::optional<SequenceDim> needed =
        form ? neededPositions(op, *form) : std::nullopt;
    if (!needed || llvm::any_of(positions, [&](auto &made) {
          return made.first == *needed;
        }))
      continue;
    Value whole = allPositions(*needed);
    positions.emplace_back(*needed, whole);
    part.cut.push_back({whole, *needed});
  }
}

void LocalFunctionBuilder::addInputs() {
  auto add = [&](Value given) {
    inputs.push_back(given);
    return function.front().addArgument(given.getType(), given.getLoc());
  };
  for (const auto &[whole, dim] : part.cut) {
    auto type = cast<RankedTensorType>(whole.getType());
    Apart apart(type.getShape(), dim,
                type.getDimSize(dim.dim) / (dim.outer * dim.inner));
    Value source = whole;
    if (!dim.isPlain())
      source = tensor::ExpandShapeOp::create(
          atHost, RankedTensorType::get(apart.shape, type.getElementType()),
          source, apart.groups);
    Value argument = add(scatter(source, apart.dim));
    if (!ofRank.length)
      ofRank.length = tensor::DimOp::create(b, argument, apart.dim);
    ofRank.inputs.push_back({whole, dim, putTogether(b, argument, type, dim)});
  }
  for (Value local : part.scattered)
    ofRank.made[local] = add(local);
  for (Value value : part.whole)
    wholes.map(value, add(value));
}

Value LocalFunctionBuilder::partOf(const Positions &at, Value value,
                                   SequenceDim dim) {
  for (const Part &input : at.inputs)
    if (input.whole == value && input.dim == dim)
      return input.local;
  Value made = at.made.lookup(value);
  assert(made && "collected as an input, or built before");
  return made;
}

Value LocalFunctionBuilder::wholeOf(Value value) {
  if (!wholes.contains(value))
    constants.clone(*value.getDefiningOp(), wholes);
  return wholes.lookup(value);
}

void LocalFunctionBuilder::buildCall(func::CallOp call) {
  SmallVector<Value> operands;
  for (Value operand : call.getOperands()) {
    auto scatter = operand.getDefiningOp<ScatterOp>();
    if (Value source = part.cutSource(operand))
      operands.push_back(
          partOf(ofRank, source, {static_cast<int64_t>(scatter.getDim())}));
    else
      operands.push_back(scatter ? ofRank.made.lookup(operand)
                                 : wholeOf(operand));
  }
  b.setLoc(call.getLoc());
  auto local = func::CallOp::create(b, call.getCallee(), call.getResultTypes(),
                                    operands);
  for (auto [old, result] :
       llvm::zip_equal(call.getResults(), local.getResults()))
    for (Operation *user : old.getUsers())
      if (auto gather = dyn_cast<GatherOp>(user))
        ofRank.made[gather.getWhole()] = result;
}

void LocalFunctionBuilder::buildOp(Operation *op, Positions &at) {
  const OpSequence &form = *propagation.localForm(op);
  SmallVector<Value> operands;
  for (auto [value, dim] : llvm::zip_equal(op->getOperands(), form.operands))
    operands.push_back(dim ? partOf(at, value, *dim) : wholeOf(value));
  for (Value value : capturedValues(op))
    (void)wholeOf(value);
  Value ownPositions;
  if (std::optional<SequenceDim> needed = neededPositions(op, form))
    for (auto &[dim, whole] : positions)
      if (dim == *needed)
        ownPositions = partOf(at, whole, dim);
  Block *block = b.getInsertionBlock();
  Operation *local =
      buildLocal(b, op, form, operands, wholes, at.length, ownPositions);
  b.setInsertionPointToEnd(block);
  for (auto [old, result] :
       llvm::zip_equal(op->getResults(), local->getResults()))
    at.made[old] = result;
}

/// A loop over blocks of the rank's positions, the last of which may be
/// shorter. Only the result is as long as they all are.
void LocalFunctionBuilder::buildInBlocks(const FeedForward &feedForward,
                                         int64_t blockLength) {
  b.setLoc(feedForward.output.getLoc());
  auto type = cast<RankedTensorType>(feedForward.output.getType());
  SequenceDim dim = *propagation.sequenceOf(feedForward.output);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value step = arith::ConstantIndexOp::create(b, blockLength);
  auto slice = [&](Value tensor, int64_t along, Value from, Value size,
                   auto create) {
    auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
    SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(shape.size(), b.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes =
        getAsIndexOpFoldResult(b.getContext(), shape);
    offsets[along] = from;
    sizes[along] = size;
    return create(offsets, sizes, strides);
  };
  auto along = [](Value whole, SequenceDim cut) {
    return Apart(cast<ShapedType>(whole.getType()).getShape(), cut,
                 ShapedType::kDynamic)
        .dim;
  };

  SmallVector<Part> sources; // with the sequence dimension alone
  auto addSource = [&](Value whole, SequenceDim cut) {
    sources.push_back(
        {whole, cut,
         takeApart(b, partOf(ofRank, whole, cut), cut, ofRank.length)});
  };
  for (const CutInput &input : feedForward.inputs)
    addSource(input.whole, input.dim);
  for (auto &[cut, whole] : positions)
    if (llvm::any_of(feedForward.ops, [&, cut = cut](Operation *op) {
          return neededPositions(op, *propagation.localForm(op)) == cut;
        }))
      addSource(whole, cut);

  Apart apart(type.getShape(), dim, ShapedType::kDynamic);
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(b.getContext(), apart.shape);
  sizes[apart.dim] = ofRank.length;
  Value all = tensor::EmptyOp::create(b, sizes, type.getElementType());
  auto loop = scf::ForOp::create(b, zero, ofRank.length, step, all);
  Block *outside = b.getInsertionBlock();
  b.setInsertionPointToStart(loop.getBody());

  Positions block;
  Value from = loop.getInductionVar();
  block.length = arith::MinSIOp::create(
      b, step, Value(arith::SubIOp::create(b, ofRank.length, from)));
  for (const Part &source : sources) {
    Value taken =
        slice(source.local, along(source.whole, source.dim), from, block.length,
              [&](auto &offsets, auto &taken, auto &strides) -> Value {
                return tensor::ExtractSliceOp::create(b, source.local, offsets,
                                                      taken, strides);
              });
    block.inputs.push_back(
        {source.whole, source.dim,
         putTogether(b, taken, cast<RankedTensorType>(source.whole.getType()),
                     source.dim)});
  }
  // Memory to write to is of the block's length as well.
  std::function<void(Operation *)> build = [&](Operation *op) {
    const OpSequence &form = *propagation.localForm(op);
    for (auto [value, cut] : llvm::zip_equal(op->getOperands(), form.operands))
      if (cut && !block.made.contains(value) && value.getDefiningOp() &&
          part.isMade(value, *cut) &&
          isMadeOfNothing(value.getDefiningOp(), part, propagation))
        build(value.getDefiningOp());
    buildOp(op, block);
  };
  for (Operation *op : feedForward.ops)
    build(op);
  b.setLoc(feedForward.output.getLoc());
  Value result =
      takeApart(b, partOf(block, feedForward.output, dim), dim, block.length);
  Value inserted =
      slice(loop.getRegionIterArg(0), apart.dim, from, block.length,
            [&](auto &offsets, auto &taken, auto &strides) -> Value {
              return tensor::InsertSliceOp::create(
                  b, result, loop.getRegionIterArg(0), offsets, taken, strides);
            });
  scf::YieldOp::create(b, inserted);
  b.setInsertionPointToEnd(outside);
  ofRank.made[feedForward.output] =
      putTogether(b, loop.getResult(0), type, dim);
}

void LocalFunctionBuilder::buildResults() {
  SmallVector<Value> locals;
  for (Value whole : part.results) {
    SequenceDim dim = *propagation.sequenceOf(whole);
    locals.push_back(
        takeApart(b, partOf(ofRank, whole, dim), dim, ofRank.length));
  }
  func::ReturnOp::create(b, locals);
}

void LocalFunctionBuilder::callFromHost() {
  auto call = func::CallOp::create(atHost, function, inputs);
  for (auto [result, local] :
       llvm::zip_equal(part.results, call.getResults())) {
    Value whole = result;
    SequenceDim dim = *propagation.sequenceOf(whole);
    auto type = cast<RankedTensorType>(whole.getType());
    Apart apart(type.getShape(), dim,
                type.getDimSize(dim.dim) / (dim.outer * dim.inner));
    Value joined = GatherOp::create(
        atHost, RankedTensorType::get(apart.shape, type.getElementType()),
        local, example.getTable(), ValueRange(),
        atHost.getI64IntegerAttr(apart.dim), example.getGridAttr(),
        example.getAxisAttr());
    whole.replaceAllUsesWith(putTogether(atHost, joined, type, dim));
  }
}

func::FuncOp LocalFunctionBuilder::build(StringRef name,
                                         ArrayRef<FeedForward> feedForwards,
                                         int64_t blockLength) {
  function =
      func::FuncOp::create(host.getLoc(), name, b.getFunctionType({}, {}));
  function.setPrivate();
  function->setAttr(kRankOfAttrName, FlatSymbolRefAttr::get(host));
  function->setAttr(kLocalAttrName, b.getUnitAttr());
  // Where the file is read again: its body in the host function would run once.
  function.setNoInline(true);
  b.setInsertionPointToStart(function.addEntryBlock());
  addPositions();
  addInputs();
  // Constants come first: several places may use one.
  constants.setInsertionPointToStart(&function.front());
  llvm::DenseMap<Operation *, const FeedForward *> inBlocks;
  for (const FeedForward &feedForward : feedForwards)
    for (Operation *op : feedForward.ops)
      inBlocks[op] = &feedForward;
  for (Operation *op : llvm::reverse(part.ops)) {
    const FeedForward *feedForward = inBlocks.lookup(op);
    if (auto call = dyn_cast<func::CallOp>(op))
      buildCall(call);
    else if (!feedForward)
      buildOp(op, ofRank);
    else if (feedForward->isOutput(op))
      buildInBlocks(*feedForward, blockLength);
  }
  buildResults();
  eraseUnless(function.front(), [](Operation *) { return true; });
  function.setFunctionType(
      b.getFunctionType(function.front().getArgumentTypes(),
                        function.front().getTerminator()->getOperandTypes()));
  callFromHost();
  return function;
}

func::FuncOp mlir::ring::buildLocalFunction(
    func::FuncOp host, StringRef name, LocalPart &part,
    const SequencePropagation &propagation, ScatterOp example,
    ArrayRef<FeedForward> feedForwards, int64_t blockLength) {
  return LocalFunctionBuilder(host, part, propagation, example)
      .build(name, feedForwards, blockLength);
}
