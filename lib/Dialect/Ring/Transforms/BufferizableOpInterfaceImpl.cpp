//===- BufferizableOpInterfaceImpl.cpp - Bufferization of ring ops --------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/Transforms/BufferizableOpInterfaceImpl.h"
#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::ring;

namespace {
/// An op in destination style: every tensor operand becomes its buffer, the
/// results are the destinations.
template <typename OpTy, bool kReadsDestinations>
struct DestinationStyleModel
    : DstBufferizableOpInterfaceExternalModel<
          DestinationStyleModel<OpTy, kReadsDestinations>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return kReadsDestinations ||
           !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    auto destinations = cast<DestinationStyleOpInterface>(op);
    SmallVector<Value> operands, results;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (isa<TensorType>(value.getType())) {
        FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
        if (failed(buffer))
          return failure();
        value = *buffer;
      }
      operands.push_back(value);
      if (destinations.isDpsInit(&operand))
        results.push_back(value);
    }
    OperationState onBuffers(op->getLoc(), op->getName());
    onBuffers.addOperands(operands);
    onBuffers.addAttributes(op->getAttrs());
    for (Region &region : op->getRegions())
      onBuffers.addRegion()->takeBody(region);
    rewriter.create(onBuffers);
    replaceOpWithBufferizedValues(rewriter, op, results);
    return success();
  }
};

/// An op that reads its tensors (tables, ids, lengths) and writes nothing.
template <typename OpTy>
struct ReaderModel
    : BufferizableOpInterface::ExternalModel<ReaderModel<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &,
                                      const AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType()))
        continue;
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      rewriter.modifyOpInPlace(op, [&] { operand.set(*buffer); });
    }
    return success();
  }
};
} // namespace

void mlir::ring::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, RingDialect *) {
    OnlineAttentionOp::attachInterface<
        DestinationStyleModel<OnlineAttentionOp, true>>(*context);
    MergeOp::attachInterface<DestinationStyleModel<MergeOp, true>>(*context);
    FinalizeOp::attachInterface<DestinationStyleModel<FinalizeOp, false>>(
        *context);
    HostScatterOp::attachInterface<DestinationStyleModel<HostScatterOp, false>>(
        *context);
    HostGatherOp::attachInterface<DestinationStyleModel<HostGatherOp, false>>(
        *context);
    HostRunOp::attachInterface<DestinationStyleModel<HostRunOp, false>>(
        *context);
    CallOp::attachInterface<DestinationStyleModel<CallOp, false>>(*context);
    TablesOp::attachInterface<DestinationStyleModel<TablesOp, false>>(*context);
    SlicesOp::attachInterface<ReaderModel<SlicesOp>>(*context);
    PaddedSizeOp::attachInterface<ReaderModel<PaddedSizeOp>>(*context);
  });
}
