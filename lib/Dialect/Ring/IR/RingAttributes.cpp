//===- RingAttributes.cpp - Attributes of the ring dialect ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ring;

#define GET_ATTRDEF_CLASSES
#include "ring/Dialect/Ring/IR/RingAttributes.cpp.inc"

void RingDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ring/Dialect/Ring/IR/RingAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// MaskAttr
//===----------------------------------------------------------------------===//

/// Parses a side of a window: an integer or `*`.
static ParseResult parseSide(AsmParser &parser, std::optional<int64_t> &side) {
  if (succeeded(parser.parseOptionalStar()))
    return success();
  int64_t value;
  if (parser.parseInteger(value))
    return failure();
  side = value;
  return success();
}

Attribute MaskAttr::parse(AsmParser &parser, Type) {
  bool causal = false, hasWindow = false;
  std::optional<int64_t> left, right, chunk, prefix;
  std::optional<Alignment> align;

  // Parts may come in any order; each at most once.
  llvm::SmallDenseSet<StringRef> seen;
  auto parseInt = [&](std::optional<int64_t> &into) -> ParseResult {
    int64_t value;
    if (parser.parseEqual() || parser.parseInteger(value))
      return failure();
    into = value;
    return success();
  };
  auto parsePart = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef part;
    if (parser.parseKeyword(&part))
      return failure();
    if (!llvm::is_contained({"causal", "window", "chunk", "prefix", "align"},
                            part))
      return parser.emitError(loc)
             << "unknown mask part '" << part
             << "', expected causal, window, chunk, prefix or align";
    if (!seen.insert(part).second)
      return parser.emitError(loc) << "duplicate mask part '" << part << "'";
    if (part == "causal") {
      causal = true;
      return success();
    }
    if (part == "window") {
      hasWindow = true;
      return failure(parser.parseEqual() || parser.parseLSquare() ||
                     parseSide(parser, left) || parser.parseComma() ||
                     parseSide(parser, right) || parser.parseRSquare());
    }
    if (part == "chunk")
      return parseInt(chunk);
    if (part == "prefix")
      return parseInt(prefix);
    SMLoc nameLoc;
    StringRef name;
    if (parser.parseEqual() || parser.getCurrentLocation(&nameLoc) ||
        parser.parseKeyword(&name))
      return failure();
    align = symbolizeAlignment(name);
    if (!align)
      return parser.emitError(nameLoc)
             << "unknown alignment '" << name
             << "', expected top_left or bottom_right";
    return success();
  };

  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalGreater()) &&
      (parser.parseCommaSeparatedList(parsePart) || parser.parseGreater()))
    return {};
  return MaskAttr::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(), causal, left, right,
                              hasWindow, chunk, prefix, align);
}

void MaskAttr::print(AsmPrinter &printer) const {
  llvm::ListSeparator separator;
  auto comma = [&]() -> StringRef { return separator; };
  auto side = [](std::optional<int64_t> value) {
    return value ? std::to_string(*value) : std::string("*");
  };
  printer << "<";
  if (getCausal())
    printer << comma() << "causal";
  if (getHasWindow())
    printer << comma() << "window = [" << side(getLeft()) << ", "
            << side(getRight()) << "]";
  if (getChunk())
    printer << comma() << "chunk = " << *getChunk();
  if (getPrefix())
    printer << comma() << "prefix = " << *getPrefix();
  if (getAlign())
    printer << comma() << "align = " << stringifyAlignment(*getAlign());
  printer << ">";
}

LogicalResult MaskAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               bool causal, std::optional<int64_t> left,
                               std::optional<int64_t> right, bool hasWindow,
                               std::optional<int64_t> chunk,
                               std::optional<int64_t> prefix,
                               std::optional<Alignment> align) {
  for (std::optional<int64_t> side : {left, right})
    if (side && *side < 0)
      return emitError() << "window side is " << *side
                         << ", expected 0 or more, or * for unbounded";
  if ((left || right) && !hasWindow)
    return emitError() << "window sides without a window";
  if (chunk && *chunk < 1)
    return emitError() << "chunk is " << *chunk << ", expected 1 or more";
  if (prefix && *prefix < 0)
    return emitError() << "prefix is " << *prefix << ", expected 0 or more";
  if (prefix && !causal)
    return emitError() << "prefix is given without causal";
  return success();
}

::ring::PositionalMask MaskAttr::bind(int64_t queryCount,
                                      int64_t keyCount) const {
  ::ring::PositionalMask mask;
  mask.causal = getCausal();
  mask.left = getLeft().value_or(::ring::PositionalMask::kUnbounded);
  mask.right = getRight().value_or(::ring::PositionalMask::kUnbounded);
  mask.chunk = getChunk().value_or(0);
  mask.prefix = getPrefix().value_or(0);
  if (getAlign() == Alignment::BottomRight)
    mask.shift = keyCount - queryCount;
  return mask;
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SMLoc nameLoc;
  StringRef name;
  if (parser.parseLess() || parser.getCurrentLocation(&nameLoc) ||
      parser.parseKeyword(&name))
    return {};
  std::optional<LayoutKind> kind = symbolizeLayoutKind(name);
  if (!kind) {
    parser.emitError(nameLoc)
        << "unknown layout '" << name
        << "', expected contiguous, zigzag, striped or balanced";
    return {};
  }
  int64_t granularity = 1;
  if (succeeded(parser.parseOptionalComma()) &&
      parser.parseInteger(granularity))
    return {};
  if (parser.parseGreater())
    return {};
  return LayoutAttr::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), *kind, granularity);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyLayoutKind(getKind());
  if (getGranularity() != 1)
    printer << ", " << getGranularity();
  printer << ">";
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 LayoutKind kind, int64_t granularity) {
  if (granularity < 1)
    return emitError() << "granularity is " << granularity
                       << ", expected 1 or more";
  if (granularity != 1 && kind != LayoutKind::Striped)
    return emitError() << "granularity is " << granularity
                       << ", expected 1 on a layout that is not striped";
  return success();
}

::ring::LayoutPair
LayoutAttr::tables(int64_t ranks, int64_t queryCount, int64_t keyCount,
                   const ::ring::PositionalMask &mask) const {
  auto kind = static_cast<::ring::LayoutKind>(getKind());
  return ::ring::makeLayouts(kind, getGranularity(), ranks, queryCount,
                             keyCount, mask);
}

std::string LayoutAttr::spelling() const {
  std::string name = stringifyLayoutKind(getKind()).str();
  if (getGranularity() != 1)
    name += ":" + std::to_string(getGranularity());
  return name;
}

LayoutAttr LayoutAttr::fromSpelling(MLIRContext *context, StringRef spelling) {
  auto [name, granularity] = spelling.split(':');
  std::optional<LayoutKind> kind = symbolizeLayoutKind(name);
  int64_t value = 1;
  bool hasGranularity = spelling.contains(':');
  if (!kind ||
      (hasGranularity && (*kind != LayoutKind::Striped ||
                          granularity.getAsInteger(10, value) || value < 1)))
    return {};
  return LayoutAttr::get(context, *kind, value);
}
