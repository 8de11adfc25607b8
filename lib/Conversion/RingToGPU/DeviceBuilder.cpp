//===- DeviceBuilder.cpp - Vocabulary of the GPU kernels ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceBuilder.h"

#include <limits>

using namespace mlir;
using namespace mlir::ring;

/// Every lane of a warp takes part.
static constexpr int64_t kAllLanes = -1;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value DeviceBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(
      *this, getI32IntegerAttr(static_cast<int32_t>(value)));
}
Value DeviceBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(*this, getI64IntegerAttr(value));
}
Value DeviceBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}
Value DeviceBuilder::truth(bool value) {
  return arith::ConstantOp::create(*this, getBoolAttr(value));
}
Value DeviceBuilder::negativeInfinity() {
  return f32(-std::numeric_limits<float>::infinity());
}

Value DeviceBuilder::like(Value a, int64_t value) {
  // Masks of 32 bits are written without a sign.
  if (a.getType().isInteger(32))
    return i32(static_cast<int32_t>(value));
  return arith::ConstantOp::create(*this, getIntegerAttr(a.getType(), value));
}

Value DeviceBuilder::shl(Value a, int64_t b) {
  return b ? arith::ShLIOp::create(*this, a, like(a, b)) : a;
}
Value DeviceBuilder::shr(Value a, int64_t b) {
  return b ? arith::ShRUIOp::create(*this, a, like(a, b)) : a;
}
Value DeviceBuilder::udiv(Value a, int64_t b) {
  return b == 1 ? a : udiv(a, like(a, b));
}
Value DeviceBuilder::urem(Value a, int64_t b) {
  return b == 1 ? like(a, 0) : urem(a, like(a, b));
}

Value DeviceBuilder::extend(Value value) {
  return arith::ExtSIOp::create(*this, getI64Type(), value);
}
Value DeviceBuilder::truncate(Value value) {
  return arith::TruncIOp::create(*this, getI32Type(), value);
}
Value DeviceBuilder::less(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, a, b);
}
Value DeviceBuilder::equal(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, a, b);
}
Value DeviceBuilder::notEqual(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, a, b);
}
Value DeviceBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}

Value DeviceBuilder::isFinite(Value x) {
  return compare(arith::CmpFPredicate::OLT, fabs(x),
                 f32(std::numeric_limits<float>::infinity()));
}

Value DeviceBuilder::bits(Value value) {
  return arith::BitcastOp::create(*this, getI32Type(), value);
}
Value DeviceBuilder::fromBits(Value value) {
  return arith::BitcastOp::create(*this, getF32Type(), value);
}

Value DeviceBuilder::unary(StringRef intrinsic, Value x) {
  return LLVM::CallIntrinsicOp::create(*this, getF32Type(),
                                       getStringAttr(intrinsic), ValueRange(x))
      .getResult(0);
}

Value DeviceBuilder::tanh(Value x) {
  constexpr double kLog2E = 1.44269504088896341;
  Value size = fabs(x), square = fmul(x, x);
  // The coefficients are those of the CPU (KernelBuilder::tanh).
  Value p = f32(-6.104945670813322e-3f);
  for (float coefficient : {2.1003639325499535e-2f, -5.385249853134155e-2f,
                            0.13332782685756683f, -0.333333283662796f})
    p = fma(p, square, f32(coefficient));
  Value small = fma(fmul(p, square), x, x);
  Value t = exp2(fmul(size, f32(-2 * kLog2E)));
  Value large = fmul(fsub(f32(1), t), reciprocal(fadd(f32(1), t)));
  large = LLVM::CopySignOp::create(*this, large, x);
  return select(compare(arith::CmpFPredicate::OLT, size, f32(0.625)), small,
                large);
}

Value DeviceBuilder::widen(Value x) {
  if (x.getType().isF32())
    return x;
  // bf16 are the upper bits of f32.
  if (x.getType().isBF16()) {
    Value half = arith::BitcastOp::create(*this, getI16Type(), x);
    return fromBits(shl(arith::ExtUIOp::create(*this, getI32Type(), half), 16));
  }
  return arith::ExtFOp::create(*this, getF32Type(), x);
}

Value DeviceBuilder::narrow(Value x, Type type) {
  if (type.isF32())
    return x;
  Product product = type.isF16() ? Product::F16 : Product::BF16;
  Value both = pack(product, x, x);
  Value half = arith::TruncIOp::create(*this, getI16Type(), both);
  return arith::BitcastOp::create(*this, type, half);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Values DeviceBuilder::loop(Value from, Value to, Value step, ValueRange carried,
                           const LoopBody &body) {
  auto op = scf::ForOp::create(*this, from, to, step, carried);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(*this, next);
  return Values(op.getResults());
}

void DeviceBuilder::loop(Value from, Value to, Value step,
                         const std::function<void(Value)> &body) {
  loop(from, to, step, {}, [&](Value iv, ValueRange) -> Values {
    body(iv);
    return {};
  });
}

Values
DeviceBuilder::whileLoop(ValueRange carried,
                         const std::function<Value(ValueRange)> &condition,
                         const std::function<Values(ValueRange)> &body) {
  auto op = scf::WhileOp::create(
      *this, carried.getTypes(), carried,
      [&](OpBuilder &, Location, ValueRange arguments) {
        scf::ConditionOp::create(*this, condition(arguments), arguments);
      },
      [](OpBuilder &, Location, ValueRange) {});
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getAfterBody());
  Values next = body(op.getAfterArguments());
  scf::YieldOp::create(*this, next);
  return Values(op.getResults());
}

void DeviceBuilder::branch(Value condition, const std::function<void()> &then,
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

Values DeviceBuilder::choose(Value condition,
                             const std::function<Values()> &then,
                             const std::function<Values()> &otherwise) {
  // The types are known after `then` has been built.
  auto build = [&](Block &block, const std::function<Values()> &body) {
    InsertionGuard guard(*this);
    setInsertionPointToStart(&block);
    Values results = body();
    scf::YieldOp::create(*this, results);
    return results;
  };
  Region thenRegion, elseRegion;
  Values results = build(thenRegion.emplaceBlock(), then);
  build(elseRegion.emplaceBlock(), otherwise);
  auto op = scf::IfOp::create(*this, ValueRange(results).getTypes(), condition,
                              /*withElseRegion=*/false);
  op.getThenRegion().takeBody(thenRegion);
  op.getElseRegion().takeBody(elseRegion);
  return Values(op.getResults());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value DeviceBuilder::at(Value pointer, Value byteOffset) {
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{byteOffset});
}

Value DeviceBuilder::load(Type type, Value pointer, int64_t alignment) {
  return LLVM::LoadOp::create(*this, type, pointer, alignment);
}

void DeviceBuilder::store(Value value, Value pointer, int64_t alignment) {
  LLVM::StoreOp::create(*this, value, pointer, alignment);
}

Value DeviceBuilder::isNull(Value pointer) {
  Value null = LLVM::ZeroOp::create(*this, pointer.getType());
  return LLVM::ICmpOp::create(*this, LLVM::ICmpPredicate::eq, pointer, null);
}

Values DeviceBuilder::loadFour(Type element, Value pointer) {
  Value vector = load(VectorType::get({4}, element), pointer, 16);
  Values elements;
  for (int64_t i = 0; i < 4; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(*this, vector, i32(i)));
  return elements;
}

void DeviceBuilder::storeFour(ArrayRef<Value> elements, Value pointer) {
  auto type = VectorType::get({4}, elements.front().getType());
  Value vector = LLVM::PoisonOp::create(*this, type);
  for (int64_t i = 0; i < 4; ++i)
    vector = LLVM::InsertElementOp::create(*this, vector, elements[i], i32(i));
  store(vector, pointer, 16);
}

Value DeviceBuilder::threadIdx() {
  return NVVM::ThreadIdXOp::create(*this, getI32Type());
}
Value DeviceBuilder::blockIdx(int dim) {
  return dim == 0 ? Value(NVVM::BlockIdXOp::create(*this, getI32Type()))
                  : Value(NVVM::BlockIdYOp::create(*this, getI32Type()));
}

void DeviceBuilder::copyAsync(Value target, Value source, Value bytes) {
  NVVM::CpAsyncOp::create(*this, target, source,
                          static_cast<uint32_t>(SharedTile::kChunkBytes),
                          NVVM::LoadCacheModifierKind::CG, bytes);
}

//===----------------------------------------------------------------------===//
// Operations of a warp
//===----------------------------------------------------------------------===//

static Values unpackStruct(DeviceBuilder &b, Value value, int64_t count) {
  Values fields;
  for (int64_t i = 0; i < count; ++i)
    fields.push_back(LLVM::ExtractValueOp::create(b, value, i));
  return fields;
}

Values DeviceBuilder::loadMatrices(Value address, bool transposed) {
  Values fields(4);
  auto type = LLVM::LLVMStructType::getLiteral(
      getContext(), SmallVector<Type>(4, getI32Type()));
  auto shape = NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8);
  Value matrices = NVVM::LdMatrixOp::create(
      *this, type, address, getI32IntegerAttr(4),
      NVVM::MMALayoutAttr::get(getContext(), transposed ? NVVM::MMALayout::col
                                                        : NVVM::MMALayout::row),
      shape,
      NVVM::LdStMatrixEltTypeAttr::get(getContext(),
                                       NVVM::LdStMatrixEltType::B16));
  return unpackStruct(*this, matrices, 4);
}

Value DeviceBuilder::shuffleXor(Value value, int64_t mask) {
  return NVVM::ShflOp::create(*this, value.getType(), i32(kAllLanes), value,
                              i32(mask), i32(31), NVVM::ShflKind::bfly,
                              UnitAttr());
}

void DeviceBuilder::syncWarp() {
  NVVM::SyncWarpOp::create(*this, i32(kAllLanes));
}

Value DeviceBuilder::voteAll(Value condition) {
  return NVVM::VoteSyncOp::create(*this, getI1Type(), i32(kAllLanes), condition,
                                  NVVM::VoteSyncKind::all);
}
Values DeviceBuilder::mma(Product product, ValueRange a, ValueRange b,
                          ValueRange c) {
  auto operands = [&](ValueRange registers) {
    Values result(registers);
    if (product == Product::F16)
      for (Value &value : result)
        value = LLVM::BitcastOp::create(
            *this, VectorType::get({2}, getF16Type()), value);
    return result;
  };
  auto type = LLVM::LLVMStructType::getLiteral(
      getContext(), SmallVector<Type>(4, getF32Type()));
  NVVM::MMATypes element = product == Product::F16    ? NVVM::MMATypes::f16
                           : product == Product::BF16 ? NVVM::MMATypes::bf16
                                                      : NVVM::MMATypes::tf32;
  int64_t shape[] = {16, 8, product == Product::TF32 ? 8 : 16};
  Value d = NVVM::MmaOp::create(
      *this, type, operands(a), operands(b), c, shape, std::nullopt,
      std::nullopt, std::array<NVVM::MMATypes, 2>{element, element},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  return unpackStruct(*this, d, 4);
}

Value DeviceBuilder::pack(Product product, Value lower, Value upper) {
  auto rounded = [&](auto op) -> Value {
    return LLVM::BitcastOp::create(*this, getI32Type(), op);
  };
  if (product == Product::F16)
    return rounded(NVVM::ConvertF32x2ToF16x2Op::create(
        *this, VectorType::get({2}, getF16Type()), upper, lower, Value(),
        NVVM::FPRoundingMode::RN));
  return rounded(NVVM::ConvertF32x2ToBF16x2Op::create(
      *this, VectorType::get({2}, getBF16Type()), upper, lower, Value(),
      NVVM::FPRoundingMode::RN));
}
