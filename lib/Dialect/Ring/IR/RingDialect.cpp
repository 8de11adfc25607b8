//===- RingDialect.cpp - The ring dialect ---------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ring;

#include "ring/Dialect/Ring/IR/RingDialect.cpp.inc"
#include "ring/Dialect/Ring/IR/RingEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ring/Dialect/Ring/IR/RingTypes.cpp.inc"

void RingDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ring/Dialect/Ring/IR/RingOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ring/Dialect/Ring/IR/RingTypes.cpp.inc"
      >();
  registerAttributes();
}

//===----------------------------------------------------------------------===//
// FutureType
//===----------------------------------------------------------------------===//

Type FutureType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> payload;
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalGreater()) &&
      (parser.parseTypeList(payload) || parser.parseGreater()))
    return {};
  return FutureType::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), payload);
}

void FutureType::print(AsmPrinter &printer) const {
  printer << "<" << getPayload() << ">";
}

LogicalResult FutureType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<Type> payload) {
  auto all = [&](auto isKind) { return llvm::all_of(payload, isKind); };
  if (!payload.empty() &&
      (all([](Type type) { return isa<RankedTensorType>(type); }) ||
       all([](Type type) { return isa<MemRefType>(type); })))
    return success();
  return emitError() << "future of (" << payload
                     << "), expected ranked tensors or memrefs";
}

//===----------------------------------------------------------------------===//
// Ring order
//===----------------------------------------------------------------------===//

/// The integers of an array attribute; nothing where it is not one.
static std::optional<std::vector<int64_t>> integers(Attribute attr) {
  std::vector<int64_t> values;
  if (auto dense = dyn_cast<DenseI64ArrayAttr>(attr)) {
    values.assign(dense.asArrayRef().begin(), dense.asArrayRef().end());
    return values;
  }
  auto array = dyn_cast<ArrayAttr>(attr);
  if (!array)
    return std::nullopt;
  for (Attribute element : array) {
    auto integer = dyn_cast<IntegerAttr>(element);
    if (!integer || !integer.getValue().isSignedIntN(64))
      return std::nullopt;
    values.push_back(integer.getValue().getSExtValue());
  }
  return values;
}

/// Says what is wrong with `order` as a permutation of 0..n-1.
static LogicalResult verifyOrder(Operation *op,
                                 const std::vector<int64_t> &order) {
  auto n = static_cast<int64_t>(order.size());
  std::vector<int64_t> placeOf(n, -1);
  for (int64_t place = 0; place < n; ++place) {
    int64_t rank = order[place];
    if (rank < 0 || rank >= n)
      return op->emitError() << kOrderAttrName << " names rank " << rank
                             << ", expected 0 to " << n - 1;
    if (placeOf[rank] >= 0)
      return op->emitError()
             << kOrderAttrName << " names rank " << rank << " twice, at places "
             << placeOf[rank] << " and " << place;
    placeOf[rank] = place;
  }
  return success();
}

LogicalResult RingDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  if (attr.getName() == kOrderAttrName) {
    auto grid = dyn_cast<shard::GridOp>(op);
    if (!grid)
      return op->emitError() << kOrderAttrName << " is on '" << op->getName()
                             << "', expected on a 'shard.grid'";
    std::optional<std::vector<int64_t>> order = integers(attr.getValue());
    if (!order)
      return op->emitError() << kOrderAttrName << " is " << attr.getValue()
                             << ", expected an array of integers";
    // A grid without a shape is its own verifier's matter, which runs later.
    if (!grid.getShapeAttr())
      return success();
    // One order for all axes of its length; without one it would be ignored.
    auto n = static_cast<int64_t>(order->size());
    if (!llvm::is_contained(grid.getShape(), n))
      return op->emitError()
             << kOrderAttrName << " has " << n << (n == 1 ? " rank" : " ranks")
             << ", but no axis of the grid has this size";
    return verifyOrder(op, *order);
  }
  if (attr.getName() == kRankOfAttrName) {
    if (!isa<FunctionOpInterface>(op) ||
        !isa<FlatSymbolRefAttr>(attr.getValue()))
      return op->emitError()
             << kRankOfAttrName << " is " << attr.getValue() << " on '"
             << op->getName() << "', expected a symbol on a function";
    return success();
  }
  if (attr.getName() == kLocalAttrName) {
    if (!isa<FunctionOpInterface>(op) || !isa<UnitAttr>(attr.getValue()))
      return op->emitError()
             << kLocalAttrName << " is " << attr.getValue() << " on '"
             << op->getName() << "', expected no value, on a function";
    return success();
  }
  if (attr.getName() == kLayoutAttrName) {
    if (!isa<FunctionOpInterface>(op) || !isa<LayoutAttr>(attr.getValue()))
      return op->emitError()
             << kLayoutAttrName << " is " << attr.getValue() << " on '"
             << op->getName() << "', expected a #ring.layout on a function";
    return success();
  }
  if (attr.getName() == kSlotsAttrName ||
      attr.getName() == kFingerprintAttrName) {
    if (!isa<FunctionOpInterface>(op) || !isa<IntegerAttr>(attr.getValue()))
      return op->emitError() << attr.getName().getValue() << " is "
                             << attr.getValue() << " on '" << op->getName()
                             << "', expected an integer on a function";
    return success();
  }
  if (attr.getName() == kProgramAttrName) {
    if (!isa<FunctionOpInterface>(op) || !isa<StringAttr>(attr.getValue()))
      return op->emitError()
             << kProgramAttrName << " is " << attr.getValue() << " on '"
             << op->getName() << "', expected a string on a function";
    return success();
  }
  if (attr.getName() == kDeviceCalleeAttrName) {
    if (!isa<HostRunOp, mlir::ring::CallOp>(op) ||
        !isa<FlatSymbolRefAttr>(attr.getValue()))
      return op->emitError()
             << kDeviceCalleeAttrName << " is " << attr.getValue() << " on '"
             << op->getName()
             << "', expected a function, on what runs rank functions";
    return success();
  }
  return op->emitError() << "unknown attribute '" << attr.getName().getValue()
                         << "' of the ring dialect";
}

::ring::RingOrder mlir::ring::getRingOrder(shard::GridOp grid, int64_t axis) {
  int64_t size = grid.getShape()[axis];
  if (Attribute attr = grid->getDiscardableAttr(kOrderAttrName))
    if (auto order = integers(attr);
        order && static_cast<int64_t>(order->size()) == size)
      return ::ring::RingOrder(std::move(*order));
  return ::ring::RingOrder(size);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

DenseIntElementsAttr
mlir::ring::tableAttr(MLIRContext *context,
                      llvm::ArrayRef<::ring::LayoutEntry> entries) {
  auto type = RankedTensorType::get({static_cast<int64_t>(entries.size()), 5},
                                    IntegerType::get(context, 64));
  std::vector<int64_t> values;
  values.reserve(entries.size() * 5);
  for (const ::ring::LayoutEntry &e : entries)
    values.insert(values.end(), {e.owner, e.begin, e.block, e.stride, e.count});
  return DenseIntElementsAttr::get(type, values);
}

DenseIntElementsAttr mlir::ring::constantTable(Value table) {
  DenseIntElementsAttr attr;
  if (matchPattern(table, m_Constant(&attr)))
    return attr;
  auto address = table.getDefiningOp<memref::GetGlobalOp>();
  if (!address)
    return {};
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      address, address.getNameAttr());
  if (!global || !global.getConstant() || !global.getInitialValue())
    return {};
  return dyn_cast<DenseIntElementsAttr>(*global.getInitialValue());
}

std::optional<std::vector<::ring::LayoutEntry>>
mlir::ring::parseTable(Attribute table) {
  auto attr = dyn_cast_or_null<DenseIntElementsAttr>(table);
  if (!attr || attr.getType().getRank() != 2 ||
      attr.getType().getDimSize(1) != 5 || !attr.getElementType().isInteger(64))
    return std::nullopt;
  std::vector<int64_t> flat(attr.value_begin<int64_t>(),
                            attr.value_end<int64_t>());
  std::vector<::ring::LayoutEntry> entries;
  for (size_t i = 0; i + 5 <= flat.size(); i += 5)
    entries.push_back(
        {flat[i], flat[i + 1], flat[i + 2], flat[i + 3], flat[i + 4]});
  return entries;
}

std::optional<std::vector<::ring::LayoutEntry>>
mlir::ring::parseTable(Value table) {
  return parseTable(constantTable(table));
}

llvm::SmallVector<Value> mlir::ring::getScoreCaptures(Region &score) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(score, used);
  llvm::SmallVector<Value> captures;
  for (Value value : used)
    if (!matchPattern(value, m_Constant()))
      captures.push_back(value);
  return captures;
}

void mlir::ring::cloneScoreConstants(OpBuilder &b, Region &score,
                                     IRMapping &mapping) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(score, used);
  for (Value value : used)
    if (!mapping.contains(value) && matchPattern(value, m_Constant()))
      b.clone(*value.getDefiningOp(), mapping);
}

RankedTensorType mlir::ring::localType(RankedTensorType type, int64_t dim) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = ShapedType::kDynamic;
  return RankedTensorType::get(shape, type.getElementType());
}
