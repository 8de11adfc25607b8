//===- ShardAttention.cpp - From one op to a ring of ranks ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/Refusal.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/Passes.h"
#include "ring/Dialect/Ring/Transforms/RankProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ring {
#define GEN_PASS_DEF_SHARDATTENTIONPASS
#include "ring/Dialect/Ring/Transforms/Passes.h.inc"
} // namespace mlir::ring

using namespace mlir;
using namespace mlir::ring;

/// Counting the pairs that each rank sees in each round takes time and memory
/// in proportion to the square.
static constexpr int64_t kMaxRanks = 1024;

namespace {
/// The ring that attention is sharded over.
struct Ring {
  FlatSymbolRefAttr grid;
  IntegerAttr axis;
  int64_t ranks;
};

struct ShardAttentionPass
    : mlir::ring::impl::ShardAttentionPassBase<ShardAttentionPass> {
  using ShardAttentionPassBase::ShardAttentionPassBase;
  void runOnOperation() override;

private:
  FailureOr<Ring> findOrMakeGrid(Operation *user);
  void shard(AttentionOp attention, const Ring &ring, SymbolTable &symbols);
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {
/// One operand of an attention, as its rank function takes it.
struct Operand {
  enum class Role {
    Query,
    Key,
    Value,
    Bias,
    QuerySegments,
    KeySegments,
    Lengths,
    Offsets,
    Sinks,
    Mean,
    Capture,
    QueryTable,
    KeyTable
  };
  Role role;
  Value whole;
  /// How it is cut: like the queries, like the keys, or not at all.
  enum class Cut { Queries, Keys, Replicated } cut;

  Type localType() const {
    return cut == Cut::Replicated
               ? whole.getType()
               : mlir::ring::localType(cast<RankedTensorType>(whole.getType()),
                                       kSequenceDim);
  }
};
} // namespace

/// The mean of value over all keys, [batch, kv_heads, dv] f32, summed in f64:
/// what `empty_rows(uniform)` gives.
static Value meanOfValues(ImplicitLocOpBuilder &b, Value value) {
  Type f64 = b.getF64Type(), f32 = b.getF32Type();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), value);
  SmallVector<OpFoldResult> kept = {sizes[0], sizes[1], sizes[3]};
  Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0.0));
  Value start = linalg::FillOp::create(
                    b, zero, Value(tensor::EmptyOp::create(b, kept, f64)))
                    .getResult(0);
  auto all = b.getMultiDimIdentityMap(4);
  auto withoutKeys = all.dropResult(kSequenceDim);
  using utils::IteratorType;
  SmallVector<IteratorType> loops(4, IteratorType::parallel);
  loops[kSequenceDim] = IteratorType::reduction;
  auto sums = linalg::GenericOp::create(
      b, start.getType(), value, start, ArrayRef<AffineMap>{all, withoutKeys},
      loops, [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value x = args[0];
        if (x.getType() != f32)
          x = arith::ExtFOp::create(nested, loc, f32, x);
        x = arith::ExtFOp::create(nested, loc, f64, x);
        Value sum = arith::AddFOp::create(nested, loc, args[1], x);
        linalg::YieldOp::create(nested, loc, sum);
      });
  Value count = arith::IndexCastOp::create(
      b, b.getI64Type(),
      getValueOrCreateConstantIndexOp(b, b.getLoc(), sizes[kSequenceDim]));
  Value divisor = arith::SIToFPOp::create(b, f64, count);
  Value empty = tensor::EmptyOp::create(b, kept, f32);
  auto same = b.getMultiDimIdentityMap(3);
  return linalg::GenericOp::create(
             b, empty.getType(), sums.getResult(0), empty,
             ArrayRef<AffineMap>{same, same},
             SmallVector<IteratorType>(3, IteratorType::parallel),
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Value mean =
                   arith::DivFOp::create(nested, loc, args[0], divisor);
               mean = arith::TruncFOp::create(nested, loc, f32, mean);
               linalg::YieldOp::create(nested, loc, mean);
             })
      .getResult(0);
}

/// The operands, in the order of the rank function's arguments: those that are
/// cut come first. Computes, in the host function, what the ranks need besides.
static SmallVector<Operand> collectOperands(ImplicitLocOpBuilder &b,
                                            AttentionOp op) {
  using Role = Operand::Role;
  using Cut = Operand::Cut;
  SmallVector<Operand> operands = {{Role::Query, op.getQuery(), Cut::Queries},
                                   {Role::Key, op.getKey(), Cut::Keys},
                                   {Role::Value, op.getValue(), Cut::Keys}};
  auto add = [&](Role role, Value whole, Cut cut = Cut::Replicated) {
    if (whole)
      operands.push_back({role, whole, cut});
  };
  if (Value bias = op.getBias()) {
    bool oneRow =
        cast<ShapedType>(bias.getType()).getDimSize(kSequenceDim) == 1;
    add(Role::Bias, bias, oneRow ? Cut::Replicated : Cut::Queries);
  }
  add(Role::QuerySegments, op.getQuerySegments());
  add(Role::KeySegments, op.getKeySegments());
  add(Role::Lengths, op.getLengths());
  add(Role::Offsets, op.getOffsets());
  add(Role::Sinks, op.getSinks());
  if (op.getEmptyRows() == EmptyRows::Uniform)
    add(Role::Mean, meanOfValues(b, op.getValue()));
  for (Value capture : getScoreCaptures(op.getScore()))
    add(Role::Capture, capture);
  return operands;
}

//===----------------------------------------------------------------------===//
// Dynamic sizes
//===----------------------------------------------------------------------===//

/// What the verifier of ring.attention checks where sizes are static, checked
/// when the program runs where they are not.
static void requireSizes(ImplicitLocOpBuilder &b, AttentionOp op) {
  std::string where;
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    where = llvm::formatv("{0}:{1}:{2}: ", place.getFilename().getValue(),
                          place.getLine(), place.getColumn());
  auto isDynamic = [](Value value, int64_t dim) {
    return cast<ShapedType>(value.getType()).isDynamicDim(dim);
  };
  auto require = [&](Value value, int64_t dim, Value like, int64_t likeDim,
                     const Twine &what) {
    if (!value || (!isDynamic(value, dim) && !isDynamic(like, likeDim)))
      return;
    Value size = tensor::DimOp::create(b, value, dim);
    // Not tensor.dim where it is static: results of this op are about to go.
    Value expected =
        isDynamic(like, likeDim)
            ? Value(tensor::DimOp::create(b, like, likeDim))
            : Value(arith::ConstantIndexOp::create(
                  b, cast<ShapedType>(like.getType()).getDimSize(likeDim)));
    RequireEqualOp::create(b, size, expected, b.getStringAttr(where + what));
  };
  Value query = op.getQuery(), key = op.getKey();
  require(key, 0, query, 0, "batch of key and query");
  require(op.getValue(), 0, query, 0, "batch of value and query");
  require(op.getValue(), 2, key, 2, "sequence length of value and key");
  if (Value bias = op.getBias()) {
    // A static 1 is broadcast.
    ArrayRef<int64_t> sizes = cast<ShapedType>(bias.getType()).getShape();
    if (sizes[0] != 1)
      require(bias, 0, query, 0, "batch of bias and query");
    if (sizes[1] != 1)
      require(bias, 1, query, 1, "heads of bias and query");
    if (sizes[2] != 1)
      require(bias, 2, query, 2, "rows of bias and sequence length of query");
    require(bias, 3, key, 2, "columns of bias and sequence length of key");
  }
  require(op.getQuerySegments(), 0, query, 0, "batch of segments and query");
  require(op.getQuerySegments(), 1, query, 2,
          "segments and sequence length of query");
  require(op.getKeySegments(), 0, query, 0, "batch of segments and query");
  require(op.getKeySegments(), 1, key, 2,
          "segments and sequence length of key");
  require(op.getLengths(), 0, query, 0, "lengths and batch of query");
  require(op.getOffsets(), 0, query, 0, "offsets and batch of query");
  require(op.getSinks(), 0, query, 1, "sinks and heads of query");
  MaskAttr mask = op.getEffectiveMask();
  if (mask.dependsOnPositions() && !mask.getAlign() && !op.getOffsets())
    require(query, 2, key, 2,
            "sequence lengths of query and key, for a mask without align");
  for (Value result : op->getResults())
    for (int64_t dim : {0, 2})
      if (!isDynamic(result, dim))
        require(query, dim, result, dim, "sizes of query and result");
}

/// The sizes of `result` that its type leaves open: those of `query`.
static SmallVector<Value> dynamicSizes(ImplicitLocOpBuilder &b, Value result,
                                       Value query) {
  SmallVector<Value> sizes;
  auto type = cast<ShapedType>(result.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(tensor::DimOp::create(b, query, dim));
  return sizes;
}

//===----------------------------------------------------------------------===//
// The rank function
//===----------------------------------------------------------------------===//

/// The state (acc, max, sum) = (0, -inf, 0) for the rows of `query`.
static SmallVector<Value> identityState(ImplicitLocOpBuilder &b, Value query,
                                        int64_t valueDepth) {
  Type f32 = b.getF32Type();
  SmallVector<OpFoldResult> rows = tensor::getMixedSizes(b, b.getLoc(), query);
  rows.pop_back();
  SmallVector<OpFoldResult> wide(rows);
  wide.push_back(b.getIndexAttr(valueDepth));
  auto filled = [&](ArrayRef<OpFoldResult> sizes, float value) -> Value {
    Value empty = tensor::EmptyOp::create(b, sizes, f32);
    Value scalar = arith::ConstantOp::create(b, b.getF32FloatAttr(value));
    return linalg::FillOp::create(b, scalar, empty).getResult(0);
  };
  return {filled(wide, 0.0f),
          filled(rows, -std::numeric_limits<float>::infinity()),
          filled(rows, 0.0f)};
}

namespace {
/// Builds the rank function of one attention.
class RankFunctionBuilder {
public:
  RankFunctionBuilder(AttentionOp attention, const Ring &ring,
                      ArrayRef<Operand> operands)
      : attention(attention), ring(ring), operands(operands),
        b(attention.getLoc(), attention.getContext()) {}

  /// The tables are constants, or null where they are among the operands.
  func::FuncOp build(func::FuncOp host, DenseIntElementsAttr queries,
                     DenseIntElementsAttr keys);

private:
  /// The argument of that role; null where the attention has none.
  Value argument(Operand::Role role);
  SmallVector<Value> buildRounds(Value queryTable, Value keyTable);
  void cloneScore(OnlineAttentionOp step);
  void buildResult(ArrayRef<Value> state);

  AttentionOp attention;
  const Ring &ring;
  ArrayRef<Operand> operands;
  ImplicitLocOpBuilder b;
  func::FuncOp function;
};
} // namespace

Value RankFunctionBuilder::argument(Operand::Role role) {
  for (auto [index, operand] : llvm::enumerate(operands))
    if (operand.role == role)
      return function.getArgument(index);
  return {};
}

/// Copies the `score` region; what it captures has become arguments, constants
/// are copied.
void RankFunctionBuilder::cloneScore(OnlineAttentionOp step) {
  if (!attention.hasScore())
    return;
  IRMapping mapping;
  for (auto [index, operand] : llvm::enumerate(operands))
    if (operand.role == Operand::Role::Capture)
      mapping.map(operand.whole, function.getArgument(index));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(step);
  cloneScoreConstants(b, attention.getScore(), mapping);
  attention.getScore().cloneInto(&step.getScore(), mapping);
}

/// The loop over the rounds: compute on the block in hand, then pass it on.
SmallVector<Value> RankFunctionBuilder::buildRounds(Value queryTable,
                                                    Value keyTable) {
  using Role = Operand::Role;
  Value query = argument(Role::Query);
  int64_t valueDepth = attention.getValue().getType().getDimSize(3);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value rounds = arith::ConstantIndexOp::create(b, ring.ranks);
  Value rank =
      shard::ProcessLinearIndexOp::create(b, b.getIndexType(), ring.grid);
  SmallVector<Value> carried = identityState(b, query, valueDepth);
  carried.append({argument(Role::Key), argument(Role::Value)});

  auto loop = scf::ForOp::create(b, zero, rounds, one, carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value round = loop.getInductionVar();
  ValueRange args = loop.getRegionIterArgs();
  Value owner = OwnerOp::create(b, round, ring.grid, ring.axis);
  auto slices = SlicesOp::create(
      b, SlicesType::get(b.getContext()), rank, owner, queryTable, keyTable,
      argument(Role::QuerySegments), argument(Role::KeySegments),
      argument(Role::Lengths), argument(Role::Offsets), attention.getMaskAttr(),
      /*whole=*/b.getUnitAttr());
  auto step = OnlineAttentionOp::create(
      b, TypeRange(args.take_front(3)), query, args[3], args[4], slices,
      argument(Role::Bias), b.getF32FloatAttr(attention.getEffectiveScale()),
      attention.getSoftcapAttr(), args[0], args[1], args[2]);
  cloneScore(step);

  Value next = arith::AddIOp::create(b, round, one);
  Value more =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, next, rounds);
  auto guarded = scf::IfOp::create(
      b, more,
      [&](OpBuilder &nested, Location loc) {
        Value blocks[] = {args[3], args[4]};
        auto start =
            PermuteStartOp::create(nested, loc, blocks, ring.grid, ring.axis);
        auto wait = PermuteWaitOp::create(nested, loc, start.getFuture());
        scf::YieldOp::create(nested, loc, wait.getReceived());
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, args.drop_front(3));
      });
  SmallVector<Value> yielded(step.getResults());
  llvm::append_range(yielded, guarded.getResults());
  scf::YieldOp::create(b, yielded);
  return SmallVector<Value>(loop.getResults().take_front(3));
}

void RankFunctionBuilder::buildResult(ArrayRef<Value> state) {
  using Role = Operand::Role;
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), argument(Role::Query));
  SmallVector<OpFoldResult> rows(sizes.begin(), std::prev(sizes.end()));
  RankedTensorType outType = attention.getOut().getType();
  sizes.back() = b.getIndexAttr(outType.getDimSize(3));
  if (!outType.isDynamicDim(0))
    sizes[0] = rows[0] = b.getIndexAttr(outType.getDimSize(0));
  Value out = tensor::EmptyOp::create(b, sizes, outType.getElementType());
  Value lse;
  if (attention.getLse())
    lse = tensor::EmptyOp::create(b, rows, b.getF32Type());
  auto finalize =
      FinalizeOp::create(b, function.getResultTypes(), state[0], state[1],
                         state[2], argument(Role::Sinks), argument(Role::Mean),
                         out, lse, attention.getEmptyRowsAttr());
  func::ReturnOp::create(b, finalize.getResults());
}

func::FuncOp RankFunctionBuilder::build(func::FuncOp host,
                                        DenseIntElementsAttr queries,
                                        DenseIntElementsAttr keys) {
  SmallVector<Type> inputs, results;
  for (const Operand &operand : operands)
    inputs.push_back(operand.localType());
  for (Value result : attention->getResults())
    results.push_back(
        localType(cast<RankedTensorType>(result.getType()), kSequenceDim));
  function =
      func::FuncOp::create(attention.getLoc(), (host.getName() + "_rank").str(),
                           b.getFunctionType(inputs, results));
  function.setPrivate();
  function->setAttr(kRankOfAttrName, FlatSymbolRefAttr::get(host));
  function->setAttr(kLayoutAttrName,
                    LayoutAttr::get(b.getContext(), LayoutKind::Contiguous, 1));

  b.setInsertionPointToStart(function.addEntryBlock());
  auto table = [&](DenseIntElementsAttr constant, Operand::Role role) -> Value {
    return constant ? Value(arith::ConstantOp::create(b, constant))
                    : argument(role);
  };
  Value queryTable = table(queries, Operand::Role::QueryTable);
  Value keyTable = table(keys, Operand::Role::KeyTable);
  buildResult(buildRounds(queryTable, keyTable));
  return function;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

FailureOr<Ring> ShardAttentionPass::findOrMakeGrid(Operation *user) {
  ModuleOp module = getOperation();
  Builder builder(&getContext());
  if (grid.empty()) {
    if (ranks < 1) {
      user->emitError("neither a number of ranks nor a grid is given");
      return failure();
    }
    SymbolTable symbols(module);
    auto b = OpBuilder::atBlockBegin(module.getBody());
    auto op = shard::GridOp::create(b, user->getLoc(), "ring",
                                    ArrayRef<int64_t>(ranks.getValue()));
    StringAttr name = symbols.insert(op);
    return Ring{FlatSymbolRefAttr::get(name), builder.getI64IntegerAttr(0),
                ranks};
  }
  auto op = module.lookupSymbol<shard::GridOp>(grid);
  if (!op)
    return user->emitError("unknown grid @") << grid.getValue();
  ArrayRef<int64_t> shape = op.getShape();
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
    return user->emitError("axis ")
           << axis.getValue() << " of grid @" << grid.getValue()
           << " does not exist, it has " << shape.size();
  if (ShapedType::isDynamic(shape[axis]))
    return user->emitError("axis ") << axis.getValue() << " of grid @"
                                    << grid.getValue() << " has no static size";
  for (auto [other, size] : llvm::enumerate(shape))
    if (static_cast<int64_t>(other) != axis && size != 1)
      return refuse(user, "grid with several axes",
                    "by ring-shard-attention, all axes but one must be 1");
  if (ranks > 0 && ranks != shape[axis])
    return user->emitError("ranks is ")
           << ranks.getValue() << ", but axis " << axis.getValue()
           << " of grid @" << grid.getValue() << " has " << shape[axis];
  return Ring{FlatSymbolRefAttr::get(op), builder.getI64IntegerAttr(axis),
              shape[axis]};
}

/// Tables of a contiguous layout: constants, which are returned, or where a
/// length is dynamic two more of `operands`.
static std::optional<::ring::LayoutPair>
makeTables(ImplicitLocOpBuilder &b, AttentionOp attention, const Ring &ring,
           SmallVectorImpl<Operand> &operands) {
  auto layout = LayoutAttr::get(b.getContext(), LayoutKind::Contiguous, 1);
  Value query = attention.getQuery(), key = attention.getKey();
  int64_t queries = cast<ShapedType>(query.getType()).getDimSize(kSequenceDim);
  int64_t keys = cast<ShapedType>(key.getType()).getDimSize(kSequenceDim);
  if (!ShapedType::isDynamic(queries) && !ShapedType::isDynamic(keys))
    return layout.tables(ring.ranks, queries, keys,
                         attention.getEffectiveMask().bind(queries, keys));
  RunTimeVisibility visibility = {
      attention.getQuerySegments(), attention.getKeySegments(),
      attention.getLengths(), attention.getOffsets()};
  TablesOp tables = createTables(b, layout, ring.ranks,
                                 tensor::DimOp::create(b, query, kSequenceDim),
                                 tensor::DimOp::create(b, key, kSequenceDim),
                                 visibility, attention.getMaskAttr());
  operands.push_back({Operand::Role::QueryTable, tables.getResult(0),
                      Operand::Cut::Replicated});
  operands.push_back(
      {Operand::Role::KeyTable, tables.getResult(1), Operand::Cut::Replicated});
  return std::nullopt;
}

void ShardAttentionPass::shard(AttentionOp attention, const Ring &ring,
                               SymbolTable &symbols) {
  auto host = attention->getParentOfType<func::FuncOp>();
  ImplicitLocOpBuilder b(attention.getLoc(), attention);
  requireSizes(b, attention);
  SmallVector<Operand> operands = collectOperands(b, attention);
  DenseIntElementsAttr queryAttr, keyAttr;
  Value queryTable, keyTable;
  if (std::optional<::ring::LayoutPair> tables =
          makeTables(b, attention, ring, operands)) {
    queryAttr = tableAttr(&getContext(), tables->queries);
    keyAttr = tableAttr(&getContext(), tables->keys);
    queryTable = arith::ConstantOp::create(b, queryAttr);
    keyTable = arith::ConstantOp::create(b, keyAttr);
  } else {
    queryTable = std::prev(operands.end(), 2)->whole;
    keyTable = operands.back().whole;
  }
  func::FuncOp rankFunction = RankFunctionBuilder(attention, ring, operands)
                                  .build(host, queryAttr, keyAttr);
  symbols.insert(rankFunction, std::next(Block::iterator(host)));

  SmallVector<Value> locals;
  for (const Operand &operand : operands) {
    if (operand.cut == Operand::Cut::Replicated) {
      locals.push_back(operand.whole);
      continue;
    }
    Value table = operand.cut == Operand::Cut::Queries ? queryTable : keyTable;
    locals.push_back(ScatterOp::create(b, operand.localType(), operand.whole,
                                       table, b.getI64IntegerAttr(kSequenceDim),
                                       ring.grid, ring.axis));
  }
  auto call = func::CallOp::create(b, rankFunction, locals);
  for (auto [whole, local] :
       llvm::zip_equal(attention->getResults(), call.getResults()))
    whole.replaceAllUsesWith(GatherOp::create(
        b, whole.getType(), local, queryTable,
        dynamicSizes(b, whole, attention.getQuery()),
        b.getI64IntegerAttr(kSequenceDim), ring.grid, ring.axis));
  remark::passed(attention.getLoc(), remark::RemarkOpts::name("ShardAttention")
                                         .category("ring-shard-attention")
                                         .function(host.getName()))
      << remark::add("sharded over ranks")
      << remark::metric("ranks", ring.ranks)
      << remark::metric("variant", "pass-kv");
  attention.erase();
}

void ShardAttentionPass::runOnOperation() {
  SmallVector<AttentionOp> attentions;
  // A module inside this one has symbols of its own, and is left alone.
  getOperation().walk([&](AttentionOp op) {
    if (SymbolTable::getNearestSymbolTable(op) == getOperation())
      attentions.push_back(op);
  });
  if (attentions.empty())
    return;
  if (variant != "auto" && variant != "pass-kv") {
    refuse(attentions.front(), variant, "by ring-shard-attention");
    return signalPassFailure();
  }
  for (AttentionOp attention : attentions) {
    if (!isa<func::FuncOp>(attention->getParentOp())) {
      refuse(attention, "attention inside another op",
             "by ring-shard-attention, expected it in a function");
      return signalPassFailure();
    }
  }
  FailureOr<Ring> ring = findOrMakeGrid(attentions.front());
  if (failed(ring))
    return signalPassFailure();
  if (ring->ranks < 1 || ring->ranks > kMaxRanks) {
    attentions.front().emitError("ranks is ")
        << ring->ranks << ", expected 1 to " << kMaxRanks;
    return signalPassFailure();
  }
  SymbolTable symbols(getOperation());
  for (AttentionOp attention : attentions)
    shard(attention, *ring, symbols);
}
