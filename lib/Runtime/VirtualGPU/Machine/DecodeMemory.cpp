//===- DecodeMemory.cpp - Globals, addresses, loads and stores ------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Address.h"
#include "Decoder.h"
#include "Handlers.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ring::vgpu;

//===----------------------------------------------------------------------===//
// Globals
//===----------------------------------------------------------------------===//

/// The bytes of a constant global; false if its value has another form.
static bool writeConstant(Attribute value, Type type,
                          std::vector<std::byte> &out) {
  auto append = [&](const APInt &bits, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      out.push_back(std::byte(
          bits.lshr(std::min(8 * i, bits.getBitWidth())).getRawData()[0] &
          0xff));
  };
  if (auto text = dyn_cast<StringAttr>(value)) {
    for (char c : text.getValue())
      out.push_back(std::byte(c));
    return true;
  }
  Type element = type;
  while (auto array = dyn_cast<LLVM::LLVMArrayType>(element))
    element = array.getElementType();
  std::optional<Scalar> scalar = scalarOf(elementOf(element));
  if (!scalar)
    return false;
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (scalar->kind == Scalar::Kind::Int)
      for (APInt each : dense.getValues<APInt>())
        append(each, scalar->bytes());
    else
      for (APFloat each : dense.getValues<APFloat>())
        append(each.bitcastToAPInt(), scalar->bytes());
    return true;
  }
  if (auto integer = dyn_cast<IntegerAttr>(value))
    append(integer.getValue(), scalar->bytes());
  else if (auto real = dyn_cast<FloatAttr>(value))
    append(real.getValue().bitcastToAPInt(), scalar->bytes());
  else
    return false;
  return true;
}

/// Gives the globals that are used an address: first shared ones with a size,
/// then the one dynamic block of shared memory, where all others begin.
LogicalResult Decoder::layOutGlobals() {
  SmallVector<LLVM::GlobalOp> dynamic;
  uint64_t shared = 0, dynamicAlign = 16;
  auto module = kernel->getParentOp();
  for (auto global : module->getRegion(0).getOps<LLVM::GlobalOp>()) {
    Type type = global.getGlobalType();
    SmallVector<RegisterShape> ignored;
    if (!isa<LLVM::LLVMArrayType>(type) && !shapeOf(type, ignored))
      continue; // an error where its address is taken
    uint64_t size = sizeOf(type),
             align = std::max(alignOf(type),
                              uint64_t(global.getAlignment().value_or(1)));
    if (global.getAddrSpace() == 3) {
      if (!size) {
        dynamic.push_back(global);
        dynamicAlign = std::max(dynamicAlign, align);
        continue;
      }
      shared = llvm::alignTo(shared, align);
      globals[global] = kSharedBase + shared;
      shared += size;
      continue;
    }
    if (!global.getConstant() || !global.getValueAttr())
      continue;
    std::vector<std::byte> &data = program.constantData;
    data.resize(llvm::alignTo(data.size(), align));
    uint64_t begin = data.size();
    if (!writeConstant(global.getValueAttr(), type, data) ||
        data.size() - begin != size) {
      data.resize(begin);
      continue;
    }
    globals[global] = kConstantTag + kTagMiddle + begin;
  }
  shared = llvm::alignTo(shared, dynamicAlign);
  program.staticSharedBytes = shared;
  for (LLVM::GlobalOp global : dynamic)
    globals[global] = kSharedBase + shared;
  return success();
}

LogicalResult Decoder::decodeAddressOf(LLVM::AddressOfOp op) {
  Operation *global =
      SymbolTable::lookupNearestSymbolFrom(op, op.getGlobalNameAttr());
  auto it = globals.find(global);
  if (it == globals.end())
    return unknown(op, "'" + op.getGlobalName() +
                           "': neither shared memory nor a constant of plain "
                           "numbers");
  define(op, {assembler.constant(true, it->second)});
  return success();
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

LogicalResult Decoder::decodeGEP(LLVM::GEPOp op) {
  if (!isa<LLVM::LLVMPointerType>(op.getType()))
    return unknown(op, "vectors of addresses");
  Reg address = reg(op.getBase());
  int64_t constant = 0;
  Type type = op.getElemType();
  bool isFirst = true;
  for (auto index : op.getIndices()) {
    auto value = dyn_cast<Value>(index);
    int64_t number = value ? 0 : cast<IntegerAttr>(index).getInt();
    APInt known;
    if (value && matchPattern(value, m_ConstantInt(&known))) {
      number = known.getSExtValue();
      value = Value();
    }
    if (!isFirst) {
      if (isa<LLVM::LLVMStructType>(type)) {
        if (value)
          return unknown(op, "a struct's element of varying index");
        constant += offsetOf(type, number, type);
        continue;
      }
      if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
        type = array.getElementType();
      else if (auto vector = dyn_cast<VectorType>(type))
        type = vector.getElementType();
      else
        return unknown(op, "an index into ") << type;
    }
    isFirst = false;
    SmallVector<RegisterShape> ignored;
    if (!isa<LLVM::LLVMArrayType>(type) && !shapeOf(type, ignored))
      return unknown(op, "the type ") << type;
    uint64_t size = sizeOf(type);
    if (!value) {
      constant += number * static_cast<int64_t>(size);
      continue;
    }
    Reg scaled = reg(value);
    unsigned bits = scalarOf(value.getType())->bits;
    address =
        emit64(bits == 64 ? Arith::AddScaled64 : Arith::AddScaled32,
               {address, bits == 64 ? scaled : signExtend(scaled, bits)}, size);
  }
  if (constant)
    address = emit64(Arith::AddImm64, address, constant);
  define(op, {address});
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Cells of shared memory are as small as the narrowest access.
void Decoder::watch(Space space, uint32_t bytes) {
  if (space == Space::Shared || space == Space::Generic)
    program.cellShift =
        std::min(program.cellShift, unsigned(llvm::countr_zero(bytes)));
}

FailureOr<uint32_t> Decoder::plan(Operation *op, Type type, Value address,
                                  uint64_t align, bool isAtomic) {
  SmallVector<RegisterShape> shape;
  if (!shapeOf(type, shape))
    return LogicalResult(unknown(op, "the type ") << type);
  AccessPlan plan;
  switch (cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace()) {
  case 0:
    plan.space = Space::Generic;
    break;
  case 1:
    plan.space = Space::Global;
    break;
  case 3:
    plan.space = Space::Shared;
    break;
  case 4:
  case 101:
    plan.space = Space::Constant;
    break;
  case 5:
    plan.space = Space::Local;
    break;
  default:
    return LogicalResult(unknown(op, "addresses of type ")
                         << address.getType());
  }
  plan.bytes = sizeOf(type);
  plan.atomic = isAtomic;
  if (!plan.bytes || plan.bytes > kMostAccessBytes)
    return LogicalResult(unknown(op, "an access of ")
                         << plan.bytes << " bytes");
  // An access wider than 16 bytes is several.
  plan.align = std::min<uint64_t>(align ? align : alignOf(type), 16);
  uint32_t narrowest = plan.align;
  for (RegisterShape part : shape) {
    plan.pieces.push_back({part.offset, part.bytes});
    if (!isa<VectorType>(type))
      narrowest = std::min(narrowest, part.bytes);
  }
  // A vector of three has a hole behind it.
  if (plan.pieces.size() * plan.pieces.front().bytes != plan.bytes)
    plan.bytes = plan.pieces.back().offset + plan.pieces.back().bytes;
  narrowest = std::min(narrowest, plan.bytes & -plan.bytes);
  watch(plan.space, narrowest);
  program.plans.push_back(std::move(plan));
  return program.plans.size() - 1;
}

LogicalResult Decoder::decodeAtomic(LLVM::AtomicRMWOp op) {
  std::optional<Scalar> scalar = scalarOf(op.getType());
  AtomicOp kind;
  using Kind = LLVM::AtomicBinOp;
  switch (op.getBinOp()) {
  case Kind::xchg:
    kind = AtomicOp::Exchange;
    break;
  case Kind::add:
    kind = AtomicOp::Add;
    break;
  case Kind::_and:
    kind = AtomicOp::And;
    break;
  case Kind::_or:
    kind = AtomicOp::Or;
    break;
  case Kind::_xor:
    kind = AtomicOp::Xor;
    break;
  case Kind::max:
    kind = AtomicOp::SMax;
    break;
  case Kind::min:
    kind = AtomicOp::SMin;
    break;
  case Kind::umax:
    kind = AtomicOp::UMax;
    break;
  case Kind::umin:
    kind = AtomicOp::UMin;
    break;
  case Kind::fadd:
    kind = AtomicOp::FAdd;
    break;
  case Kind::fmax:
    kind = AtomicOp::FMax;
    break;
  case Kind::fmin:
    kind = AtomicOp::FMin;
    break;
  default:
    return unknown(op, "this atomic operation");
  }
  if (!scalar || scalar->bits < 32)
    return unknown(op, "an atomic operation on ") << op.getType();
  FailureOr<uint32_t> access =
      plan(op, op.getType(), op.getPtr(), 0, /*isAtomic=*/true);
  if (failed(access))
    return failure();
  Reg old = assembler.create(scalar->isWide());
  assembler.emit(runAtomic, old, {reg(op.getPtr()), reg(op.getVal())},
                 uint64_t(kind) << 32 | *access);
  define(op, {old});
  return success();
}

FailureOr<bool> Decoder::decodeMemory(Operation *op) {
  using Result = FailureOr<bool>;
  auto done = [](LogicalResult result) -> Result {
    if (failed(result))
      return failure();
    return true;
  };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](LLVM::AddressOfOp address) {
        return done(decodeAddressOf(address));
      })
      .Case([&](LLVM::GEPOp gep) { return done(decodeGEP(gep)); })
      .Case(
          [&](LLVM::AtomicRMWOp atomic) { return done(decodeAtomic(atomic)); })
      .Case([&](LLVM::AddrSpaceCastOp cast) -> Result {
        auto spaceOf = [](Value value) -> int {
          auto pointer = dyn_cast<LLVM::LLVMPointerType>(value.getType());
          return pointer ? pointer.getAddressSpace() : -1;
        };
        int from = spaceOf(cast.getArg()), to = spaceOf(cast.getRes());
        if (from < 0)
          return LogicalResult(unknown(op, "vectors of addresses"));
        Reg address = reg(cast.getArg());
        if (from != 3 && to == 3)
          address = emit64(Arith::GenericToShared, address);
        else if (from == 3 && to != 3)
          address = emit64(Arith::SharedToGeneric, address);
        define(cast, {address});
        return true;
      })
      .Case([&](LLVM::AllocaOp alloca) -> Result {
        APInt count;
        SmallVector<RegisterShape> ignored;
        Type type = alloca.getElemType();
        if (!matchPattern(alloca.getArraySize(), m_ConstantInt(&count)) ||
            (!isa<LLVM::LLVMArrayType>(type) && !shapeOf(type, ignored)))
          return LogicalResult(
              unknown(op, "an alloca of varying size or unknown type"));
        uint64_t align = std::max(alignOf(type),
                                  uint64_t(alloca.getAlignment().value_or(1)));
        uint64_t begin = llvm::alignTo(program.localBytes, align);
        program.localBytes = begin + sizeOf(type) * count.getZExtValue();
        define(alloca,
               {assembler.constant(true, kLocalTag + kTagMiddle + begin)});
        return true;
      })
      .Case([&](LLVM::LoadOp load) -> Result {
        FailureOr<uint32_t> access = plan(
            op, load.getType(), load.getAddr(), load.getAlignment().value_or(0),
            load.getOrdering() != LLVM::AtomicOrdering::not_atomic);
        if (failed(access))
          return failure();
        FailureOr<Regs> results = createRegs(op, load.getType());
        if (failed(results))
          return failure();
        assembler.emit(runLoad, *results, reg(load.getAddr()), *access);
        define(load, *results);
        return true;
      })
      .Case([&](LLVM::StoreOp store) -> Result {
        FailureOr<uint32_t> access =
            plan(op, store.getValue().getType(), store.getAddr(),
                 store.getAlignment().value_or(0),
                 store.getOrdering() != LLVM::AtomicOrdering::not_atomic);
        if (failed(access))
          return failure();
        Regs operands = regs(store.getValue());
        operands.push_back(reg(store.getAddr()));
        assembler.emit(runStore, {}, operands, *access);
        return true;
      })
      .Case([&](LLVM::AtomicCmpXchgOp exchange) -> Result {
        Type type = exchange.getVal().getType();
        std::optional<Scalar> scalar = scalarOf(type);
        if (!scalar || scalar->bits < 32)
          return LogicalResult(unknown(op, "an atomic operation on ") << type);
        FailureOr<uint32_t> access =
            plan(op, type, exchange.getPtr(), 0, /*isAtomic=*/true);
        if (failed(access))
          return failure();
        Regs results = {assembler.create(scalar->isWide()),
                        assembler.create(false)};
        assembler.emit(runCompareExchange, results,
                       {reg(exchange.getPtr()), reg(exchange.getCmp()),
                        reg(exchange.getVal())},
                       *access);
        define(exchange, results);
        return true;
      })
      // Accesses happen in the order of a thread's program anyway, and fences
      // order no two threads without a barrier or an atomic operation.
      .Case([&](LLVM::FenceOp) -> Result { return true; })
      .Default(Result(false));
}
