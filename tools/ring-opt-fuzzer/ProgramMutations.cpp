//===- ProgramMutations.cpp - Changes of ops, types, attributes -----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "Mutations.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace ring::fuzz {

namespace {
/// Changes one program. Each change does nothing where it does not apply.
class Mutator {
public:
  Mutator(ModuleOp module, Random &random) : module(module), random(random) {
    module.walk([&](Operation *op) {
      if (op != module)
        ops.push_back(op);
    });
  }
  void mutate();

private:
  Operation *anyOp() { return ops[below(random, ops.size())]; }
  Value anyValue(Type type);
  int64_t anyInteger(int64_t old);
  std::vector<NamedAttribute> freeAttributes(Operation *op);
  void replaceUses(Operation *op);
  void erase();
  void duplicate();
  void move();
  void exchangeOperands();
  void replaceOperand();
  void dropOperand();
  void dropAttribute();
  void copyAttribute();
  void changeInteger();
  void changeShapes();
  void changeElementTypes();

  ModuleOp module;
  Random &random;
  std::vector<Operation *> ops;
};
} // namespace

/// A value of that type, of any place.
Value Mutator::anyValue(Type type) {
  std::vector<Value> values;
  auto add = [&](ValueRange some) {
    for (Value value : some)
      if (value.getType() == type)
        values.push_back(value);
  };
  for (Operation *op : ops) {
    add(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        add(block.getArguments());
  }
  return values.empty() ? Value() : values[below(random, values.size())];
}

int64_t Mutator::anyInteger(int64_t old) {
  static const int64_t extremes[] = {
      0, 1,  2,         -1,        3,         8,
      7, 64, INT32_MAX, INT64_MAX, INT64_MIN, int64_t(1) << 32};
  switch (below(random, 4)) {
  case 0:
    return old < INT64_MAX ? old + 1 : old;
  case 1:
    return old > INT64_MIN ? old - 1 : old;
  default:
    return extremes[below(random, std::size(extremes))];
  }
}

/// Gives the users of an op that goes away values from nowhere.
void Mutator::replaceUses(Operation *op) {
  if (op->use_empty())
    return;
  OpBuilder builder(op);
  auto cast = UnrealizedConversionCastOp::create(
      builder, op->getLoc(), op->getResultTypes(), ValueRange());
  op->replaceAllUsesWith(cast);
}

/// True iff an op outside `op` uses a value from its regions. (That is invalid,
/// but ops have been moved.)
static bool isUsedFromOutside(Operation *op) {
  auto fromOutside = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !op->isProperAncestor(user);
    });
  };
  bool found = false;
  for (Region &region : op->getRegions()) {
    for (Block &block : region)
      found |= llvm::any_of(block.getArguments(), fromOutside);
    region.walk([&](Operation *inner) {
      found |= llvm::any_of(inner->getResults(), fromOutside);
      for (Region &nested : inner->getRegions())
        for (Block &block : nested)
          found |= llvm::any_of(block.getArguments(), fromOutside);
    });
  }
  return found;
}

void Mutator::erase() {
  Operation *op = anyOp();
  if (isUsedFromOutside(op))
    return;
  replaceUses(op);
  for (Region &region : op->getRegions())
    region.dropAllReferences();
  op->erase();
}

void Mutator::duplicate() {
  Operation *op = anyOp();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  builder.clone(*op);
}

void Mutator::move() {
  Operation *op = anyOp(), *other = anyOp();
  if (!op->isProperAncestor(other) && op != other)
    op->moveBefore(other);
}

void Mutator::exchangeOperands() {
  Operation *op = anyOp();
  if (op->getNumOperands() < 2)
    return;
  OpOperand &a = op->getOpOperand(below(random, op->getNumOperands()));
  OpOperand &b = op->getOpOperand(below(random, op->getNumOperands()));
  if (a.get().getType() != b.get().getType())
    return;
  Value value = a.get();
  a.set(b.get());
  b.set(value);
}

void Mutator::replaceOperand() {
  Operation *op = anyOp();
  if (op->getNumOperands() == 0)
    return;
  OpOperand &operand = op->getOpOperand(below(random, op->getNumOperands()));
  if (Value value = anyValue(operand.get().getType()))
    operand.set(value);
}

void Mutator::dropOperand() {
  Operation *op = anyOp();
  if (op->getNumOperands() > 0)
    op->eraseOperand(below(random, op->getNumOperands()));
}

/// Attributes that may be missing, or be of another kind. Upstream's ops crash
/// where one of their own is not what they expect, and so do symbols without a
/// name.
std::vector<NamedAttribute> Mutator::freeAttributes(Operation *op) {
  std::vector<NamedAttribute> free;
  bool ours = isa_and_nonnull<mlir::ring::RingDialect>(op->getDialect());
  for (NamedAttribute attribute :
       ours ? op->getAttrs()
            : ArrayRef<NamedAttribute>(
                  op->getDiscardableAttrDictionary().getValue()))
    if (attribute.getName() != SymbolTable::getSymbolAttrName())
      free.push_back(attribute);
  return free;
}

void Mutator::dropAttribute() {
  Operation *op = anyOp();
  std::vector<NamedAttribute> free = freeAttributes(op);
  if (!free.empty())
    op->removeAttr(free[below(random, free.size())].getName());
}

void Mutator::copyAttribute() {
  Operation *from = anyOp(), *to = anyOp();
  std::vector<NamedAttribute> places = freeAttributes(to);
  if (from->getAttrs().empty())
    return;
  NamedAttribute value =
      from->getAttrs()[below(random, from->getAttrs().size())];
  if (!places.empty() && below(random, 2))
    to->setAttr(places[below(random, places.size())].getName(),
                value.getValue());
  else if (value.getNameDialect() ||
           from->getName() == to->getName()) // as the op knows it
    to->setAttr(value.getName(), value.getValue());
}

void Mutator::changeInteger() {
  struct Place {
    Operation *op;
    NamedAttribute attribute;
  };
  std::vector<Place> places;
  for (Operation *op : ops)
    for (NamedAttribute attribute : op->getAttrs())
      if (isa<IntegerAttr, DenseI64ArrayAttr, DenseI32ArrayAttr,
              DenseIntElementsAttr>(attribute.getValue()))
        places.push_back({op, attribute});
  if (places.empty())
    return;
  auto [op, attribute] = places[below(random, places.size())];
  Attribute old = attribute.getValue(), changed;
  if (auto integer = dyn_cast<IntegerAttr>(old)) {
    APInt value = integer.getValue();
    uint64_t bits = anyInteger(value.sextOrTrunc(64).getSExtValue());
    changed = IntegerAttr::get(
        integer.getType(), APInt(64, bits).sextOrTrunc(value.getBitWidth()));
  } else if (auto array = dyn_cast<DenseI64ArrayAttr>(old)) {
    SmallVector<int64_t> values(array.asArrayRef());
    if (values.empty())
      return;
    int64_t &value = values[below(random, values.size())];
    value = anyInteger(value);
    changed = DenseI64ArrayAttr::get(op->getContext(), values);
  } else if (auto array = dyn_cast<DenseI32ArrayAttr>(old)) {
    SmallVector<int32_t> values(array.asArrayRef());
    if (values.empty())
      return;
    int32_t &value = values[below(random, values.size())];
    value = static_cast<int32_t>(anyInteger(value));
    changed = DenseI32ArrayAttr::get(op->getContext(), values);
  } else if (auto elements = dyn_cast<DenseIntElementsAttr>(old)) {
    if (elements.getNumElements() == 0 || elements.getNumElements() > 4096)
      return;
    SmallVector<APInt> values(elements.getValues<APInt>());
    APInt &value = values[below(random, values.size())];
    uint64_t bits = anyInteger(value.sextOrTrunc(64).getSExtValue());
    value = APInt(64, bits).sextOrTrunc(value.getBitWidth());
    changed = DenseElementsAttr::get(elements.getType(), values);
  }
  op->setAttr(attribute.getName(), changed);
}

/// One size of all types, so that the program may stay valid.
void Mutator::changeShapes() {
  std::vector<int64_t> sizes;
  module.walk([&](Operation *op) {
    for (Type type : op->getOperandTypes())
      if (auto shaped = dyn_cast<ShapedType>(type); shaped && shaped.hasRank())
        llvm::append_range(sizes, shaped.getShape());
  });
  if (sizes.empty())
    return;
  int64_t old = sizes[below(random, sizes.size())];
  int64_t changed = below(random, 4)
                        ? anyInteger(ShapedType::isDynamic(old) ? 8 : old)
                        : ShapedType::kDynamic;
  if (changed < 0)
    changed = ShapedType::kDynamic;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    SmallVector<int64_t> shape(type.getShape());
    std::replace(shape.begin(), shape.end(), old, changed);
    return type.clone(shape);
  });
  // Constants would have to change with their types.
  replacer.addReplacement([](DenseElementsAttr attribute) {
    return std::make_pair(Attribute(attribute), WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void Mutator::changeElementTypes() {
  MLIRContext *context = module.getContext();
  Type types[] = {Float32Type::get(context),     Float16Type::get(context),
                  BFloat16Type::get(context),    Float64Type::get(context),
                  IntegerType::get(context, 32), IntegerType::get(context, 1),
                  IndexType::get(context)};
  Type old = types[below(random, std::size(types))];
  Type changed = types[below(random, std::size(types))];
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    if (type.getElementType() != old)
      return std::nullopt;
    return RankedTensorType::get(type.getShape(), changed);
  });
  replacer.addReplacement([](DenseElementsAttr attribute) {
    return std::make_pair(Attribute(attribute), WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void Mutator::mutate() {
  if (ops.empty())
    return;
  using Change = void (Mutator::*)();
  static const Change changes[] = {
      &Mutator::erase,          &Mutator::duplicate,
      &Mutator::move,           &Mutator::exchangeOperands,
      &Mutator::replaceOperand, &Mutator::dropOperand,
      &Mutator::dropAttribute,  &Mutator::copyAttribute,
      &Mutator::changeInteger,  &Mutator::changeInteger,
      &Mutator::changeShapes,   &Mutator::changeElementTypes};
  (this->*changes[below(random, std::size(changes))])();
}

std::string mutateProgram(Session &session, StringRef text, Random &random) {
  session.collecting = false;
  OwningOpRef<ModuleOp> module = session.parse(text);
  std::string result;
  if (module) {
    llvm::raw_string_ostream os(result);
    if (below(random, 8) == 0) {
      // To the later forms.
      const std::vector<Step> &steps =
          below(random, 4) ? pipeline() : singlePasses();
      OwningOpRef<ModuleOp> before(module->clone());
      if (failed(run(steps[below(random, steps.size())], *module)))
        module = std::move(before);
    } else {
      for (size_t count = 1 + below(random, 3); count > 0; --count)
        Mutator(*module, random).mutate();
    }
    OpPrintingFlags flags;
    if (below(random, 3) || failed(verify(*module)))
      flags.printGenericOpForm();
    (*module)->print(os, flags);
  }
  session.collecting = true;
  return result;
}

} // namespace ring::fuzz
