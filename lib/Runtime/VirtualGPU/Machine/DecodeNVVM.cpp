//===- DecodeNVVM.cpp - What threads of a warp and of a block do together
//--===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Handlers.h"
#include "Matrix.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ring::vgpu;

static std::optional<SpecialRegister> findSpecial(StringRef name) {
  if (!name.consume_front("nvvm.read.ptx.sreg."))
    return std::nullopt;
  static const llvm::StringMap<SpecialRegister> table = {
      {"tid", SpecialRegister::Thread},
      {"ntid", SpecialRegister::BlockSize},
      {"ctaid", SpecialRegister::BlockIndex},
      {"nctaid", SpecialRegister::GridSize},
      {"laneid", SpecialRegister::Lane},
      {"warpid", SpecialRegister::WarpIndex},
      {"warpsize", SpecialRegister::WarpSize},
      {"nwarpid", SpecialRegister::WarpCount},
      {"lanemask.eq", SpecialRegister::MaskEq},
      {"lanemask.le", SpecialRegister::MaskLe},
      {"lanemask.lt", SpecialRegister::MaskLt},
      {"lanemask.ge", SpecialRegister::MaskGe},
      {"lanemask.gt", SpecialRegister::MaskGt},
      {"dynamic.smem.size", SpecialRegister::DynamicShared},
  };
  unsigned component = 0;
  for (unsigned i = 0; i < 3; ++i)
    if (name.consume_back(StringRef(".x.y.z").substr(2 * i, 2)))
      component = i;
  auto it = table.find(name);
  if (it == table.end())
    return std::nullopt;
  return static_cast<SpecialRegister>(unsigned(it->second) + component);
}

LogicalResult Decoder::decodeMma(Operation *op) {
  auto mma = cast<NVVM::MmaOp>(op);
  NVVM::MMAShapeAttr shape = mma.getShape();
  std::optional<Factor> type;
  auto typeA = mma.getMultiplicandAPtxType(),
       typeB = mma.getMultiplicandBPtxType();
  if (typeA && typeA == typeB) {
    if (*typeA == NVVM::MMATypes::f16)
      type = Factor::F16;
    else if (*typeA == NVVM::MMATypes::bf16)
      type = Factor::BF16;
    else if (*typeA == NVVM::MMATypes::tf32)
      type = Factor::TF32;
  }
  const bool isTf32 = type == Factor::TF32;
  const auto k = static_cast<unsigned>(shape.getK());
  bool isKnown = type && shape.getM() == 16 && shape.getN() == 8 &&
                 (isTf32 ? k == 4 || k == 8 : k == 8 || k == 16) &&
                 mma.getLayoutA() == NVVM::MMALayout::row &&
                 mma.getLayoutB() == NVVM::MMALayout::col &&
                 mma.getOperandC().size() == 4;
  for (Value part : mma.getOperandC())
    isKnown &= part.getType().isF32();
  if (!isKnown)
    return unknown(op, "a product of this shape and these types");
  MatrixShape product{*type, static_cast<uint8_t>(k)};
  Regs operands;
  for (Value operand : op->getOperands())
    llvm::append_range(operands, regs(operand));
  FailureOr<Regs> results = createRegs(op, mma.getType());
  if (failed(results))
    return failure();
  if (results->size() != 4 ||
      operands.size() != product.wordsOfA() + product.wordsOfB() + 4)
    return unknown(op, "a product of these operands");
  assembler.emit(runMatrixProduct, *results, operands, product.encode());
  define(mma, *results);
  return success();
}

FailureOr<bool> Decoder::decodeNVVM(Operation *op) {
  using Result = FailureOr<bool>;
  auto wrong = [&](const Twine &what) -> Result {
    return LogicalResult(unknown(op, what));
  };
  if (std::optional<SpecialRegister> what =
          findSpecial(op->getName().getStringRef())) {
    Reg result = assembler.create(false);
    assembler.emit(runSpecial, result, {}, uint64_t(*what));
    define(op->getResult(0), {result});
    return true;
  }
  auto results = [&]() { return createRegs(op, op->getResult(0).getType()); };
  auto emit = [&](Handler run, ArrayRef<Value> operands,
                  uint64_t imm = 0) -> Result {
    Regs out, in;
    if (op->getNumResults()) {
      FailureOr<Regs> created = results();
      if (failed(created))
        return failure();
      out = *created;
      define(op->getResult(0), out);
    }
    for (Value operand : operands)
      llvm::append_range(in, regs(operand));
    assembler.emit(run, out, in, imm);
    return true;
  };
  auto barrier = [&](Value id, Value threads, bool waits) -> Result {
    Regs in{id ? reg(id) : constant32(0)};
    if (threads)
      in.push_back(reg(threads));
    assembler.emit(runBarrier, {}, in, (threads ? 0 : 2) | waits);
    return true;
  };

  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](NVVM::Barrier0Op) {
        return barrier(Value(), Value(), /*waits=*/true);
      })
      .Case([&](NVVM::BarrierOp sync) -> Result {
        if (sync.getReductionOp())
          return wrong("a barrier that reduces");
        return barrier(sync.getBarrierId(), sync.getNumberOfThreads(),
                       /*waits=*/true);
      })
      .Case([&](NVVM::BarrierArriveOp arrive) {
        return barrier(arrive.getBarrierId(), arrive.getNumberOfThreads(),
                       /*waits=*/false);
      })
      .Case([&](NVVM::SyncWarpOp sync) {
        return emit(runWarpSync, sync.getMask());
      })
      // Fences order nothing without a barrier or an atomic operation.
      .Case<NVVM::MembarOp, NVVM::NanosleepOp>(
          [&](Operation *) -> Result { return true; })
      .Case([&](NVVM::CpAsyncOp copy) -> Result {
        SmallVector<Value> operands{copy.getDst(), copy.getSrc()};
        if (copy.getCpSize())
          operands.push_back(copy.getCpSize());
        watch(Space::Shared, copy.getSize());
        return emit(runAsyncCopy, operands,
                    copy.getSize() |
                        (copy.getCpSize() ? 0 : uint64_t(1) << 32));
      })
      .Case(
          [&](NVVM::CpAsyncCommitGroupOp) { return emit(runAsyncCommit, {}); })
      .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
        return emit(runAsyncWait, {}, wait.getN());
      })
      .Case([&](NVVM::LdMatrixOp load) -> Result {
        NVVM::LdStMatrixShapeAttr shape = load.getShape();
        if (load.getEltType() != NVVM::LdStMatrixEltType::B16 ||
            shape.getM() != 8 || shape.getN() != 8)
          return wrong("matrices of this shape");
        watch(Space::Shared, 16);
        bool isTransposed = load.getLayout() == NVVM::MMALayout::col;
        return emit(runLoadMatrix, load.getPtr(),
                    load.getNum() | (isTransposed ? 256 : 0));
      })
      .Case([&](NVVM::MmaOp) -> Result {
        if (failed(decodeMma(op)))
          return failure();
        return true;
      })
      .Case([&](NVVM::ShflOp shuffle) {
        ShuffleKind kind;
        switch (shuffle.getKind()) {
        case NVVM::ShflKind::bfly:
          kind = ShuffleKind::Butterfly;
          break;
        case NVVM::ShflKind::up:
          kind = ShuffleKind::Up;
          break;
        case NVVM::ShflKind::down:
          kind = ShuffleKind::Down;
          break;
        case NVVM::ShflKind::idx:
          kind = ShuffleKind::Index;
          break;
        }
        bool hasValid = shuffle.getReturnValueAndIsValid().has_value();
        return emit(runShuffle,
                    {shuffle.getThreadMask(), shuffle.getVal(),
                     shuffle.getOffset(), shuffle.getMaskAndClamp()},
                    uint64_t(kind) | (hasValid ? 4 : 0));
      })
      .Case([&](NVVM::VoteSyncOp vote) {
        VoteKind kind;
        switch (vote.getKind()) {
        case NVVM::VoteSyncKind::any:
          kind = VoteKind::Any;
          break;
        case NVVM::VoteSyncKind::all:
          kind = VoteKind::All;
          break;
        case NVVM::VoteSyncKind::ballot:
          kind = VoteKind::Ballot;
          break;
        case NVVM::VoteSyncKind::uni:
          kind = VoteKind::Uniform;
          break;
        }
        return emit(runVote, {vote.getMask(), vote.getPred()}, uint64_t(kind));
      })
      .Case([&](NVVM::MatchSyncOp match) -> Result {
        if (match.getKind() != NVVM::MatchSyncKind::any ||
            !match.getVal().getType().isInteger(32))
          return wrong("this match.sync");
        return emit(runMatchAny32, {match.getThreadMask(), match.getVal()});
      })
      .Case([&](NVVM::ReduxOp redux) -> Result {
        ReduceOp kind;
        switch (redux.getKind()) {
        case NVVM::ReduxKind::ADD:
          kind = ReduceOp::Add;
          break;
        case NVVM::ReduxKind::AND:
          kind = ReduceOp::And;
          break;
        case NVVM::ReduxKind::MAX:
          kind = ReduceOp::Max;
          break;
        case NVVM::ReduxKind::MIN:
          kind = ReduceOp::Min;
          break;
        case NVVM::ReduxKind::OR:
          kind = ReduceOp::Or;
          break;
        case NVVM::ReduxKind::UMAX:
          kind = ReduceOp::UMax;
          break;
        case NVVM::ReduxKind::UMIN:
          kind = ReduceOp::UMin;
          break;
        case NVVM::ReduxKind::XOR:
          kind = ReduceOp::Xor;
          break;
        default:
          return wrong("this redux.sync");
        }
        return emit(runReduce, {redux.getMaskAndClamp(), redux.getVal()},
                    uint64_t(kind));
      })
      .Case([&](NVVM::ElectSyncOp elect) -> Result {
        Reg mask = elect.getMembermask() ? reg(elect.getMembermask())
                                         : constant32(~0u);
        Reg result = assembler.create(false);
        assembler.emit(runElect, result, mask);
        define(elect, {result});
        return true;
      })
      .Case([&](NVVM::PermuteOp permute) -> Result {
        if (permute.getMode() != NVVM::PermuteMode::DEFAULT || !permute.getHi())
          return wrong("this mode of prmt");
        define(permute, {emit32(Arith::Permute,
                                {reg(permute.getLo()), reg(permute.getHi()),
                                 reg(permute.getSelector())})});
        return true;
      })
      .Case<NVVM::ConvertF32x2ToF16x2Op, NVVM::ConvertF32x2ToBF16x2Op>(
          [&](auto convert) -> Result {
            if (convert.getRnd() != NVVM::FPRoundingMode::RN ||
                convert.getSat() != NVVM::SaturationMode::NONE ||
                convert.getRelu())
              return wrong("this rounding");
            bool isHalf = isa<NVVM::ConvertF32x2ToF16x2Op>(op);
            define(
                op->getResult(0),
                {emit32(isHalf ? Arith::PackF16 : Arith::PackBF16,
                        {reg(convert.getSrcHi()), reg(convert.getSrcLo())})});
            return true;
          })
      .Case([&](NVVM::ConvertFloatToTF32Op convert) -> Result {
        if (convert.getRnd() != NVVM::FPRoundingMode::RNA ||
            convert.getSat() != NVVM::SaturationMode::NONE || convert.getRelu())
          return wrong("this rounding");
        define(convert, {emit32(Arith::F32ToTf32, reg(convert.getSrc()))});
        return true;
      })
      .Default(Result(false));
}
