//===- RaiseAttentionOperands.cpp - Query, key and value ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaiseAttentionOperands.h"

#include "RaiseAttentionTerms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::ring;

//===----------------------------------------------------------------------===//
// Rearranging
//===----------------------------------------------------------------------===//

/// The groups of neighbouring dimensions of `source` that collapse to `target`.
static std::optional<SmallVector<ReassociationIndices>>
getCollapse(const Indices &source, const Indices &target) {
  SmallVector<ReassociationIndices> groups;
  size_t next = 0;
  for (const Index &index : target) {
    ReassociationIndices group;
    do {
      if (next == source.size())
        return std::nullopt;
      group.push_back(next++);
    } while (concatenate(ArrayRef(source).slice(group[0], group.size())) !=
             index);
    groups.push_back(std::move(group));
  }
  // What is left over has to be unit dimensions.
  for (; next < source.size() && !groups.empty(); ++next) {
    if (!source[next].empty())
      return std::nullopt;
    groups.back().push_back(next);
  }
  if (groups.empty())
    return std::nullopt;
  return groups;
}

bool mlir::ring::hasSizes(Value tensor, const Indices &indices) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && llvm::equal(type.getShape(), indices,
                             [](int64_t size, const Index &index) {
                               return size == getSize(index);
                             });
}

/// The dimension of `source` that each dimension of `target` is.
static std::optional<SmallVector<int64_t>>
getPermutation(const Indices &source, const Indices &target) {
  if (source.size() != target.size())
    return std::nullopt;
  SmallVector<int64_t> permutation;
  for (const Index &index : target)
    for (size_t dim = 0; dim < source.size(); ++dim)
      if (source[dim] == index && !llvm::is_contained(permutation, dim)) {
        permutation.push_back(dim);
        break;
      }
  if (permutation.size() != target.size())
    return std::nullopt;
  return permutation;
}

bool mlir::ring::canRearrange(Indices source, Indices target) {
  return source == target || getCollapse(source, target) ||
         (refineToCommonDigits(source, target) &&
          llvm::any_of(source, [](const Index &i) { return !i.empty(); }));
}

/// Splits and merges neighbouring dimensions; one of the types refines the
/// other.
static Value reshape(OpBuilder &builder, Location loc, Value tensor,
                     ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getShape() == shape)
    return tensor;
  RankedTensorType newType = type.clone(shape);
  SmallVector<ReassociationIndices> groups =
      *getReassociationIndicesForReshape(type, newType);
  if (type.getRank() > newType.getRank())
    return tensor::CollapseShapeOp::create(builder, loc, newType, tensor,
                                           groups);
  return tensor::ExpandShapeOp::create(builder, loc, newType, tensor, groups);
}

static Value transpose(OpBuilder &builder, Location loc, Value tensor,
                       ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape = llvm::map_to_vector(
      permutation, [&](int64_t dim) { return type.getDimSize(dim); });
  Value init =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  return linalg::TransposeOp::create(builder, loc, tensor, init, permutation)
      ->getResult(0);
}

static SmallVector<int64_t> dropUnits(ArrayRef<int64_t> shape) {
  return llvm::to_vector(
      llvm::make_filter_range(shape, [](int64_t size) { return size != 1; }));
}

Value mlir::ring::rearrange(OpBuilder &builder, Location loc, Value tensor,
                            Indices source, Indices target,
                            RankedTensorType type) {
  if (source == target)
    return tensor;
  if (auto groups = getCollapse(source, target))
    return tensor::CollapseShapeOp::create(builder, loc, type, tensor, *groups);

  [[maybe_unused]] bool refined = refineToCommonDigits(source, target);
  assert(refined && "checked by canRearrange");
  if (auto permutation = getPermutation(source, target))
    return transpose(builder, loc, tensor, *permutation);

  SmallVector<Digit> sourceDigits, targetDigits;
  for (const Index &index : source)
    llvm::append_range(sourceDigits, index);
  for (const Index &index : target)
    llvm::append_range(targetDigits, index);
  SmallVector<int64_t> sourceShape, permutation;
  for (const Digit &digit : sourceDigits)
    sourceShape.push_back(digit.size);
  for (const Digit &digit : targetDigits)
    permutation.push_back(llvm::find(sourceDigits, digit) -
                          sourceDigits.begin());

  auto sourceType = cast<RankedTensorType>(tensor.getType());
  tensor = reshape(builder, loc, tensor, dropUnits(sourceType.getShape()));
  tensor = reshape(builder, loc, tensor, sourceShape);
  tensor = transpose(builder, loc, tensor, permutation);
  tensor = reshape(builder, loc, tensor, dropUnits(type.getShape()));
  return reshape(builder, loc, tensor, type.getShape());
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// The loads that `expr` goes through while elements are only moved or, where
/// `scale` is given, multiplied by constants; the innermost first. `expr`
/// becomes what is not understood.
static SmallVector<Expr *> getReads(ExprContext &context, Expr *&expr,
                                    double *scale) {
  SmallVector<Expr *> reads;
  while (true) {
    if (expr->isLoad()) {
      reads.insert(reads.begin(), expr);
      Expr *expansion = context.expand(expr);
      if (!expansion)
        return reads;
      expr = expansion;
      continue;
    }
    // The tensor that is extended is the operand.
    if (Expr *source = skipExtensions(context, expr);
        source != expr && source->isLoad()) {
      reads.clear();
      expr = source;
      continue;
    }
    bool divides =
        expr->kind == Expr::Kind::Apply && isa<arith::DivFOp>(expr->op);
    bool scales = divides || (expr->kind == Expr::Kind::Apply &&
                              isa<arith::MulFOp>(expr->op));
    if (!scale || !scales)
      return reads;
    unsigned factorAt = 1;
    std::optional<double> factor = getFactor(context, expr->operands[1]);
    if (!factor && !divides) {
      factorAt = 0;
      factor = getFactor(context, expr->operands[0]);
    }
    if (!factor)
      return reads;
    *scale = divides ? *scale / *factor : *scale * *factor;
    reads.clear();
    expr = expr->operands[1 - factorAt];
  }
}

/// As many query heads have divisors that are found in no time.
static constexpr int64_t kMostHeads = int64_t(1) << 32;

/// The divisors of `number`, the largest first.
static SmallVector<int64_t> divisorsOf(int64_t number) {
  SmallVector<int64_t> small, large;
  for (int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0)
      continue;
    small.push_back(i);
    if (i * i != number)
      large.push_back(number / i);
  }
  llvm::append_range(large, llvm::reverse(small));
  return large;
}

/// The ways to read a key or a value, the best first: of the fewest heads, so
/// that none is repeated, then without rearranging, then the innermost.
static SmallVector<OperandRead, 2> getHeadedReads(ArrayRef<Expr *> reads,
                                                  const Index &batch,
                                                  const Index &queryHead,
                                                  const Index &position,
                                                  const Index &channel) {
  SmallVector<OperandRead, 2> found;
  for (int64_t group : divisorsOf(getSize(queryHead))) {
    // Query head h reads head floor(h / group).
    std::optional<Index> head = divide(queryHead, group);
    if (!head)
      continue;
    Indices target = {batch, *head, position, channel};
    for (bool rearranged : {false, true})
      for (Expr *read : reads)
        if ((read->indices != target) == rearranged &&
            hasSizes(read->value, read->indices) &&
            canRearrange(read->indices, target))
          found.push_back({read->value, read->indices, target});
  }
  return found;
}

/// Tells batch from heads as the tensor at `read` does; one that does not is
/// one of a single batch, which means the same.
static std::pair<Index, Index> splitHeads(const Indices &read,
                                          const Index &heads) {
  for (const Index &head : read)
    if (head == heads)
      return {Index(), heads};
  for (const Index &batch : read)
    for (const Index &head : read)
      if (!batch.empty() && !head.empty() &&
          concatenate({batch, head}) == heads)
        return {batch, head};
  if (heads.size() < 2)
    return {Index(), heads};
  return {Index({heads[0]}), Index(ArrayRef(heads).drop_front())};
}

static std::optional<OperandRead> getQueryRead(ArrayRef<Expr *> reads,
                                               const AttentionIndices &at) {
  for (Expr *read : reads) {
    const Indices &indices = read->indices;
    if (indices.size() == 4 && indices[2] == at.query &&
        indices[3] == at.channel && tile({indices[0], indices[1]}, at.heads) &&
        hasSizes(read->value, indices))
      return OperandRead{read->value, indices, indices};
  }
  for (Expr *read : reads) {
    auto [batch, head] = splitHeads(read->indices, at.heads);
    Indices target = {batch, head, at.query, at.channel};
    if (hasSizes(read->value, read->indices) &&
        canRearrange(read->indices, target))
      return OperandRead{read->value, read->indices, target};
  }
  return std::nullopt;
}

std::optional<OperandRead> mlir::ring::readScoreData(const AttentionIndices &at,
                                                     const OperandRead &query,
                                                     Expr *load) {
  auto covers = [](const Digit &part, const Digit &digit) {
    if (part == digit)
      return true;
    return part.variable == digit.variable && ShapedType::isStatic(part.size) &&
           ShapedType::isStatic(digit.size) && part.divisor <= digit.divisor &&
           part.divisor * part.size >= digit.divisor * digit.size;
  };
  auto isIn = [&](const Digit &digit) {
    return llvm::any_of(load->indices, [&](const Index &index) {
      return llvm::any_of(
          index, [&](const Digit &part) { return covers(part, digit); });
    });
  };
  if (!hasSizes(load->value, load->indices))
    return std::nullopt;
  Indices target;
  for (const Index &whole :
       {query.target[0], query.target[1], at.query, at.key})
    target.push_back(llvm::all_of(whole, isIn) ? whole : Index());
  if (!canRearrange(load->indices, target))
    return std::nullopt;
  return OperandRead{load->value, load->indices, target};
}

std::optional<OperandRead>
mlir::ring::matchScoreData(ExprContext &context, const AttentionIndices &at,
                           const OperandRead &query, Expr *root,
                           function_ref<bool(Type)> isOfType) {
  // The innermost first: before it is broadcast.
  for (Expr *load : getReads(context, root, nullptr)) {
    if (!isOfType(getElementTypeOrSelf(load->value)))
      continue;
    std::optional<OperandRead> read = readScoreData(at, query, load);
    if (read && read->target[3] == at.key)
      return read;
  }
  return std::nullopt;
}

std::optional<OperandRead> mlir::ring::matchSinks(ExprContext &context,
                                                  const OperandRead &query,
                                                  Expr *root) {
  Indices target = {query.target[1]};
  for (Expr *read : getReads(context, root, nullptr))
    if (isAttentionFloat(getElementTypeOrSelf(read->value)) &&
        hasSizes(read->value, read->indices) &&
        canRearrange(read->indices, target))
      return OperandRead{read->value, read->indices, target};
  return std::nullopt;
}

FailureOr<AttentionOperands>
mlir::ring::matchOperands(ExprContext &context, const AttentionIndices &at,
                          Expr *query, Expr *key, Expr *value, double &scale,
                          Mismatch &mismatch) {
  SmallVector<Expr *> queryReads = getReads(context, query, &scale);
  SmallVector<Expr *> keyReads = getReads(context, key, &scale);
  SmallVector<Expr *> valueReads = getReads(context, value, nullptr);
  auto fail = [&](ArrayRef<Expr *> reads, Expr *source, const Twine &reason) {
    mismatch = {(reads.empty() ? source : reads.back())->op, reason.str()};
    return failure();
  };
  for (const auto &[reads, source] :
       {std::pair(&queryReads, query), std::pair(&keyReads, key),
        std::pair(&valueReads, value)}) {
    if (reads->empty())
      return fail(*reads, source,
                  "a factor is computed where it is multiplied");
    if (!isAttentionFloat(getElementTypeOrSelf(reads->back()->value)))
      return fail(*reads, source, "the element type is not f32, f16 or bf16");
  }

  std::optional<OperandRead> queryRead = getQueryRead(queryReads, at);
  if (!queryRead)
    return fail(queryReads, query,
                "the query is not read as [batch, head, query position, "
                "channel] in some order");
  const Index &batch = queryRead->target[0], &head = queryRead->target[1];
  for (const Index &index : {head, at.channel, at.valueChannel})
    if (ShapedType::isDynamic(getSize(index)) || getSize(index) < 1)
      return fail(queryReads, query,
                  "heads and head sizes are not static and positive");
  if (getSize(head) > kMostHeads)
    return fail(queryReads, query, "the query has more than 2^32 heads");

  SmallVector<OperandRead, 2> keys =
      getHeadedReads(keyReads, batch, head, at.key, at.channel);
  if (keys.empty())
    return fail(keyReads, key,
                "the key is not read as [batch, floor(head / group), key "
                "position, channel] in some order");
  SmallVector<OperandRead, 2> values =
      getHeadedReads(valueReads, batch, head, at.key, at.valueChannel);
  for (const OperandRead &k : keys)
    for (const OperandRead &v : values)
      if (k.target[1] == v.target[1])
        return AttentionOperands{
            *queryRead, k, v, {batch, head, at.query, at.valueChannel}};
  return fail(valueReads, value,
              "the value is not read as [batch, floor(head / group), key "
              "position, channel] in some order");
}
