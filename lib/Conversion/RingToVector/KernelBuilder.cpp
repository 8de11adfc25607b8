//===- KernelBuilder.cpp - Vocabulary of the CPU kernels ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::ring;

TilePlan TilePlan::get(int64_t vectorBits, int64_t keyTile) {
  TilePlan plan;
  plan.registerLanes = vectorBits / 32;
  plan.lanes = plan.registerLanes * (vectorBits == 512 ? 4 : 2);
  plan.queryTile = std::max<int64_t>(64, plan.lanes);
  plan.keyTile = keyTile;
  return plan;
}

KernelBuilder::KernelBuilder(Location loc, func::FuncOp kernel,
                             const TilePlan &plan)
    : ImplicitLocOpBuilder(
          ImplicitLocOpBuilder::atBlockBegin(loc, &kernel.front())),
      plan(plan), kernel(kernel) {}

//===----------------------------------------------------------------------===//
// Values and loops
//===----------------------------------------------------------------------===//

VectorType KernelBuilder::vectorOf(int64_t lanes, Type element) {
  return VectorType::get({lanes}, element ? element : getF32Type());
}

Value KernelBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(*this, value);
}

Value KernelBuilder::f32(float value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value KernelBuilder::splat(float value, int64_t lanes) {
  VectorType type = vectorOf(lanes);
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(type, getF32FloatAttr(value).getValue()));
}

Value KernelBuilder::dim(Value memref, int64_t dim) {
  return memref::DimOp::create(*this, memref, dim);
}

SmallVector<Value> KernelBuilder::loop(Value from, Value to, int64_t step,
                                       ValueRange carried,
                                       const LoopBody &body) {
  auto op = scf::ForOp::create(*this, from, to, index(step), carried);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(*this, next);
  return SmallVector<Value>(op.getResults());
}

void KernelBuilder::loop(Value from, Value to, int64_t step,
                         const std::function<void(Value)> &body) {
  auto op = scf::ForOp::create(*this, from, to, index(step));
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  body(op.getInductionVar());
}

void KernelBuilder::branch(Value condition, const std::function<void()> &then,
                           const std::function<void()> &otherwise) {
  auto op = scf::IfOp::create(*this, condition,
                              /*withElseRegion=*/otherwise != nullptr);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  then();
  if (otherwise) {
    setInsertionPointToStart(op.elseBlock());
    otherwise();
  }
}

Value KernelBuilder::scratch(ArrayRef<int64_t> shape, Type element) {
  auto type = MemRefType::get(shape, element ? element : getF32Type());
  int64_t bits = type.getElementTypeBitWidth();
  int64_t bytes = llvm::divideCeil(bits, 8);
  for (int64_t size : shape)
    bytes = llvm::SaturatingMultiply<uint64_t>(bytes, size) > INT32_MAX
                ? INT32_MAX
                : bytes * size;
  bytesOfScratch += bytes;
  // At the entry: inside a loop the stack would grow with each turn.
  InsertionGuard guard(*this);
  setInsertionPointToStart(&kernel.front());
  return memref::AllocaOp::create(*this, type, getI64IntegerAttr(64));
}

Value KernelBuilder::scratchForStruct(int64_t bytes) {
  return scratch({static_cast<int64_t>(llvm::divideCeil(bytes, 8))},
                 getI64Type());
}

Value KernelBuilder::load(Value memref, ValueRange indices, int64_t lanes) {
  auto type = cast<MemRefType>(memref.getType());
  return vector::LoadOp::create(*this, vectorOf(lanes, type.getElementType()),
                                memref, indices);
}

void KernelBuilder::store(Value vector, Value memref, ValueRange indices) {
  vector::StoreOp::create(*this, vector, memref, indices);
}

Value KernelBuilder::broadcast(Value memref, ValueRange indices,
                               int64_t lanes) {
  Value scalar = memref::LoadOp::create(*this, memref, indices);
  return vector::BroadcastOp::create(*this, vectorOf(lanes), scalar);
}

int64_t KernelBuilder::padded(int64_t columns) const {
  return llvm::alignTo(columns, plan.registerLanes);
}

//===----------------------------------------------------------------------===//
// Numerics
//===----------------------------------------------------------------------===//

Value KernelBuilder::vmax(Value a, Value b) {
  Value greater = arith::CmpFOp::create(*this, arith::CmpFPredicate::OGT, a, b);
  return arith::SelectOp::create(*this, greater, a, b);
}

Value KernelBuilder::guardEmpty(Value max) {
  int64_t lanes = cast<VectorType>(max.getType()).getDimSize(0);
  Value empty = arith::CmpFOp::create(
      *this, arith::CmpFPredicate::OEQ, max,
      splat(-std::numeric_limits<float>::infinity(), lanes));
  return arith::SelectOp::create(*this, empty, splat(0.0f, lanes), max);
}

Value KernelBuilder::exp(Value x) {
  int64_t lanes = cast<VectorType>(x.getType()).getDimSize(0);
  VectorType ints = vectorOf(lanes, getI32Type());
  auto splatInt = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(
        *this,
        DenseElementsAttr::get(ints, getI32IntegerAttr(value).getValue()));
  };
  // 2^(n + f) with n integral and |f| <= 0.5. NaN leaves n at -127 and stays in
  // f; a conversion of NaN to an integer would be poison.
  Value log2e = splat(1.44269504088896341f, lanes);
  Value t = vmul(x, log2e);
  Value n = math::RoundEvenOp::create(*this, vmax(t, splat(-127.0f, lanes)));
  Value f = fma(x, log2e, arith::NegFOp::create(*this, n));
  // Minimax for (2^f - 1) / f on [-0.5, 0.5], relative error below 2e-9.
  static constexpr float kCoefficients[] = {1.5353361959569156e-4f,
                                            1.3398873852565885e-3f,
                                            9.618436917662620e-3f,
                                            5.5503323674201965e-2f,
                                            2.4022647738456726e-1f,
                                            6.931471824645996e-1f,
                                            1.0f};
  Value p = splat(kCoefficients[0], lanes);
  for (float c : ArrayRef(kCoefficients).drop_front())
    p = fma(p, f, splat(c, lanes));
  Value exponent = arith::FPToSIOp::create(*this, ints, n);
  exponent = arith::AddIOp::create(*this, exponent, splatInt(127));
  exponent = arith::ShLIOp::create(*this, exponent, splatInt(23));
  Value power = arith::BitcastOp::create(*this, x.getType(), exponent);
  Value result = vmul(p, power);
  Value tiny = arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, t,
                                     splat(-126.0f, lanes));
  return arith::SelectOp::create(*this, tiny, splat(0.0f, lanes), result);
}

Value KernelBuilder::tanh(Value x) {
  int64_t lanes = cast<VectorType>(x.getType()).getDimSize(0);
  constexpr float kSmall = 0.625f;
  Value size = math::AbsFOp::create(*this, x);
  Value square = vmul(x, x);
  // x + x^3 * P(x^2), fitted on [0, 0.625] by this project.
  Value p = splat(-6.104945670813322e-3f, lanes);
  for (float coefficient : {2.1003639325499535e-2f, -5.385249853134155e-2f,
                            0.13332782685756683f, -0.333333283662796f})
    p = fma(p, square, splat(coefficient, lanes));
  Value small = fma(vmul(p, square), x, x);
  Value t = exp(vmul(size, splat(-2.0f, lanes)));
  Value one = splat(1.0f, lanes);
  Value large = arith::DivFOp::create(*this, vsub(one, t), vadd(one, t));
  large = math::CopySignOp::create(*this, large, x);
  Value isSmall = arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, size,
                                        splat(kSmall, lanes));
  return arith::SelectOp::create(*this, isSmall, small, large);
}

Value KernelBuilder::log(Value x) {
  auto i32 = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
  };
  // x = 2^e * m with m in [sqrt(1/2), sqrt(2)): the exponent is counted from
  // the bits of sqrt(1/2).
  constexpr int32_t kSqrtHalf = 0x3f3504f3;
  Value bits = arith::BitcastOp::create(*this, getI32Type(), x);
  Value shifted = arith::SubIOp::create(*this, bits, i32(kSqrtHalf));
  Value e = arith::ShRSIOp::create(*this, shifted, i32(23));
  Value mantissa = arith::SubIOp::create(
      *this, bits, arith::ShLIOp::create(*this, e, i32(23)));
  Value m = arith::BitcastOp::create(*this, getF32Type(), mantissa);
  Value scale = arith::SIToFPOp::create(*this, getF32Type(), e);
  // log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.172: the first term
  // left out, 2/11 s^11, is below 1e-9.
  Value s =
      arith::DivFOp::create(*this, vsub(m, f32(1.0f)), vadd(m, f32(1.0f)));
  Value s2 = vmul(s, s);
  Value p = f32(2.0f / 9.0f);
  for (float c : {2.0f / 7.0f, 2.0f / 5.0f, 2.0f / 3.0f, 2.0f})
    p = vadd(vmul(p, s2), f32(c));
  // log(2) in two parts, the first with so few bits that e times it is exact.
  Value low = vadd(vmul(p, s), vmul(scale, f32(-2.12194440e-4f)));
  Value result = vadd(vmul(scale, f32(0.693359375f)), low);

  float infinity = std::numeric_limits<float>::infinity();
  Value zero =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x, f32(0.0f));
  Value kept =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::UGE, x, f32(infinity));
  result = arith::SelectOp::create(*this, zero, f32(-infinity), result);
  return arith::SelectOp::create(*this, kept, x, result);
}

/// bf16 to f32 is a shift, whatever the target knows of bf16.
Value KernelBuilder::widen(Value value) {
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  auto like = [&](Type e) -> Type {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? VectorType::get(vector.getShape(), e) : e;
  };
  if (element.isF32())
    return value;
  if (!element.isBF16())
    return arith::ExtFOp::create(*this, like(getF32Type()), value);
  Value bits = arith::BitcastOp::create(*this, like(getI16Type()), value);
  Value wide = arith::ExtUIOp::create(*this, like(getI32Type()), bits);
  Type i32 = like(getI32Type());
  TypedAttr sixteen = isa<VectorType>(i32)
                          ? TypedAttr(DenseElementsAttr::get(
                                cast<VectorType>(i32), APInt(32, 16)))
                          : TypedAttr(getI32IntegerAttr(16));
  Value shift = arith::ConstantOp::create(*this, sixteen);
  return arith::BitcastOp::create(*this, like(getF32Type()),
                                  arith::ShLIOp::create(*this, wide, shift));
}

Value KernelBuilder::narrow(Value value, Type element) {
  if (element.isF32())
    return value;
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = VectorType::get(vector.getShape(), element);
  return arith::TruncFOp::create(*this, type, value);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

Value KernelBuilder::laneMask(int64_t count) {
  SmallVector<bool> bits(plan.registerLanes, false);
  std::fill(bits.begin(), bits.begin() + count, true);
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(vectorOf(plan.registerLanes, getI1Type()),
                                    ArrayRef<bool>(bits)));
}

Value KernelBuilder::rowView(Value source, Value batch, Value head, Value row,
                             int64_t columns) {
  auto type = cast<MemRefType>(source.getType());
  auto metadata = memref::ExtractStridedMetadataOp::create(*this, source);
  Value offset = metadata.getOffset();
  Value positions[] = {batch, head, row};
  for (auto [position, stride] : llvm::zip(positions, metadata.getStrides()))
    offset = add(offset, mul(position, stride));
  auto layout = StridedLayoutAttr::get(getContext(), ShapedType::kDynamic, {1});
  auto rowType = MemRefType::get({columns}, type.getElementType(), layout);
  return memref::ReinterpretCastOp::create(
      *this, rowType, metadata.getBaseBuffer(), OpFoldResult(offset),
      ArrayRef<OpFoldResult>{getIndexAttr(columns)},
      ArrayRef<OpFoldResult>{getIndexAttr(1)});
}

Value KernelBuilder::hasUnitStride(Value source) {
  auto metadata = memref::ExtractStridedMetadataOp::create(*this, source);
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq,
                               metadata.getStrides().back(), index(1));
}

Value KernelBuilder::loadRow(Value view, Value column, int64_t lanes,
                             Value mask) {
  auto type = cast<MemRefType>(view.getType());
  VectorType vector = vectorOf(lanes, type.getElementType());
  if (!mask)
    return vector::LoadOp::create(*this, vector, view, column);
  Value zero = arith::ConstantOp::create(*this, getZeroAttr(vector));
  return vector::MaskedLoadOp::create(*this, vector, view, column, mask, zero);
}

void KernelBuilder::storeRow(Value vector, Value view, Value column,
                             Value mask) {
  if (!mask)
    vector::StoreOp::create(*this, vector, view, column);
  else
    vector::MaskedStoreOp::create(*this, view, column, mask, vector);
}

void KernelBuilder::unpackRows(Value source, Value batch, Value head, Value row,
                               Value count, int64_t columns, Value target) {
  int64_t lanes = plan.registerLanes, whole = columns / lanes * lanes;
  auto contiguous = [&] {
    loop(index(0), count, 1, [&](Value r) {
      Value view = rowView(source, batch, head, add(row, r), columns);
      if (whole > 0)
        loop(index(0), index(whole), lanes, [&](Value c) {
          store(widen(loadRow(view, c, lanes, {})), target, {r, c});
        });
      if (whole < columns)
        store(widen(loadRow(view, index(whole), lanes,
                            laneMask(columns - whole))),
              target, {r, index(whole)});
    });
  };
  auto strided = [&] {
    loop(index(0), count, 1, [&](Value r) {
      if (whole < columns)
        store(splat(0.0f, lanes), target, {r, index(whole)});
      loop(index(0), index(columns), 1, [&](Value c) {
        Value value = memref::LoadOp::create(
            *this, source, ValueRange{batch, head, add(row, r), c});
        memref::StoreOp::create(*this, widen(value), target, ValueRange{r, c});
      });
    });
  };
  branch(hasUnitStride(source), contiguous, strided);
}

void KernelBuilder::packRows(Value source, Value target, Value batch,
                             Value head, Value row, Value count,
                             int64_t columns) {
  int64_t lanes = plan.registerLanes, whole = columns / lanes * lanes;
  Type element = cast<MemRefType>(target.getType()).getElementType();
  auto contiguous = [&] {
    loop(index(0), count, 1, [&](Value r) {
      Value view = rowView(target, batch, head, add(row, r), columns);
      if (whole > 0)
        loop(index(0), index(whole), lanes, [&](Value c) {
          storeRow(narrow(load(source, {r, c}, lanes), element), view, c, {});
        });
      if (whole < columns)
        storeRow(narrow(load(source, {r, index(whole)}, lanes), element), view,
                 index(whole), laneMask(columns - whole));
    });
  };
  auto strided = [&] {
    loop(index(0), count, 1, [&](Value r) {
      loop(index(0), index(columns), 1, [&](Value c) {
        Value value = memref::LoadOp::create(*this, source, ValueRange{r, c});
        memref::StoreOp::create(*this, narrow(value, element), target,
                                ValueRange{batch, head, add(row, r), c});
      });
    });
  };
  branch(hasUnitStride(target), contiguous, strided);
}

SmallVector<Value> KernelBuilder::transposed(SmallVector<Value> block) {
  int64_t lanes = plan.registerLanes;
  // Interleaving row i with row i + lanes/2, log2(lanes) times, transposes a
  // square block: each turn moves one bit of the row number into the column.
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes / 2; ++i) {
    low.append({i, lanes + i});
    high.append({lanes / 2 + i, lanes + lanes / 2 + i});
  }
  for (int64_t width = 1; width < lanes; width *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i)
      for (ArrayRef<int64_t> order : {ArrayRef(low), ArrayRef(high)})
        next.push_back(vector::ShuffleOp::create(*this, block[i],
                                                 block[i + lanes / 2], order));
    block = std::move(next);
  }
  return block;
}

void KernelBuilder::transpose(Value source, Value target, int64_t rows,
                              int64_t columns) {
  int64_t lanes = plan.registerLanes;
  loop(index(0), index(rows), lanes, [&](Value r0) {
    loop(index(0), index(columns), lanes, [&](Value c0) {
      SmallVector<Value> block;
      for (int64_t i = 0; i < lanes; ++i)
        block.push_back(load(source, {add(r0, i), c0}, lanes));
      block = transposed(std::move(block));
      for (int64_t i = 0; i < lanes; ++i)
        store(block[i], target, {add(c0, i), r0});
    });
  });
}

//===----------------------------------------------------------------------===//
// Runtime calls
//===----------------------------------------------------------------------===//

Value KernelBuilder::pointer(Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(*this, memref);
  Value bits = arith::IndexCastOp::create(*this, getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      *this, LLVM::LLVMPointerType::get(getContext()), bits);
}

Value KernelBuilder::callRuntime(StringRef name, Type result,
                                 ValueRange arguments) {
  auto module = kernel->getParentOfType<ModuleOp>();
  SmallVector<Value> operands;
  for (Value argument : arguments)
    operands.push_back(
        argument.getType().isIndex()
            ? arith::IndexCastOp::create(*this, getI64Type(), argument)
            : argument);
  auto type = getFunctionType(ValueRange(operands).getTypes(),
                              result ? TypeRange(result) : TypeRange());
  symbols.declare(module, getLoc(), name, type);
  auto call = func::CallOp::create(*this, name, type.getResults(), operands);
  return result ? call.getResult(0) : Value();
}
