//===- Session.cpp - A context that outlives many inputs ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"
#include "ring/Dialect/Ring/Transforms/BufferizableOpInterfaceImpl.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/AllExtensions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace ring::fuzz {

/// libFuzzer takes a change in here for new coverage. Volatile, as nothing of
/// ours reads it.
__attribute__((section("__libfuzzer_extra_counters"),
               used)) static volatile uint8_t features[1 << 15];

void addFeature(StringRef what, StringRef detail) {
  // Numbers and names say where, not what.
  std::string shape = what.str() + "|";
  bool quoted = false;
  for (char c : detail) {
    if (c == '\'')
      quoted = !quoted;
    if (!quoted && !llvm::isDigit(c))
      shape += c;
  }
  features[llvm::xxh3_64bits(shape) % std::size(features)] = 1;
}

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry
      .insert<affine::AffineDialect, arith::ArithDialect,
              bufferization::BufferizationDialect, cf::ControlFlowDialect,
              func::FuncDialect, index::IndexDialect, LLVM::LLVMDialect,
              linalg::LinalgDialect, math::MathDialect, memref::MemRefDialect,
              mlir::ring::RingDialect, scf::SCFDialect, shard::ShardDialect,
              tensor::TensorDialect, ub::UBDialect, vector::VectorDialect>();
  func::registerAllExtensions(registry);
  mlir::ring::registerBufferizableOpInterfaceExternalModels(registry);
  return registry;
}

Session::Session() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
  // Notes with the whole op would take most of the time.
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    std::string text = diagnostic.str();
    if (collecting)
      addFeature(stage, text);
    if (errors++ == 0)
      firstError = std::move(text);
    return success();
  });
}

void Session::forgetErrors() {
  errors = 0;
  firstError.clear();
}

/// Whether the text has the custom form of an upstream op that ODS parses with
/// its region. Where what follows such a region is wrong, it is destroyed while
/// operations before it may still use its values, and the heap breaks later, in
/// innocent code. (`parseScore` is what our ops do about it.)
static bool hasRegionParsedByODS(StringRef text) {
  for (StringRef name : {"llvm.comdat", "scf.index_switch", "scf.reduce",
                         "tensor.generate", "tensor.pad"})
    for (size_t at = text.find(name); at != StringRef::npos;
         at = text.find(name, at + 1))
      if (at == 0 || text[at - 1] != '"') // the generic form is quoted
        return true;
  return false;
}

/// The same of `module`, which may be around all of the program only.
static bool hasNestedModule(StringRef text) {
  auto isWord = [](char c) {
    return isalnum(static_cast<unsigned char>(c)) ||
           StringRef("_.$@\"-").contains(c);
  };
  StringRef name = "module";
  bool isFirst = true;
  for (size_t at = text.find(name); at != StringRef::npos;
       at = text.find(name, at + name.size())) {
    size_t end = at + name.size();
    if ((at && isWord(text[at - 1])) ||
        (end < text.size() && isWord(text[end])))
      continue;
    SmallVector<StringRef> lines;
    text.take_front(at).split(lines, '\n');
    for (StringRef line : lines) {
      line = line.ltrim();
      if (!line.empty() && !line.starts_with("//") && !line.starts_with("#"))
        return true;
    }
    if (!isFirst)
      return true;
    isFirst = false;
  }
  return false;
}

OwningOpRef<ModuleOp> Session::parse(StringRef text) {
  // Bytecode is upstream's matter, and so are resources: the context keeps
  // them, and gives those that are parsed again another name.
  if (text.starts_with("ML\xefR") || text.contains("dense_resource") ||
      hasRegionParsedByODS(text) || hasNestedModule(text))
    return nullptr;
  return parsePrinted(text);
}

OwningOpRef<ModuleOp> Session::parsePrinted(StringRef text) {
  return parseSourceString<ModuleOp>(text, ParserConfig(&context));
}

} // namespace ring::fuzz
