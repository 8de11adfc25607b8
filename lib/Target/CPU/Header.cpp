//===- Header.cpp - The C header of a compiled program --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Target/CPU/Header.h"

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::ring;

/// `ring_memref_4d`, as MLIR lays a strided memref descriptor out.
static void printDescriptor(int64_t rank, llvm::raw_ostream &os) {
  os << "\n#ifndef RING_MEMREF_" << rank << "D\n#define RING_MEMREF_" << rank
     << "D\ntypedef struct ring_memref_" << rank
     << "d {\n  void *allocated; /* not read */\n  void *aligned;\n"
        "  int64_t offset;     /* in elements */\n";
  if (rank > 0)
    os << "  int64_t sizes[" << rank << "];\n  int64_t strides[" << rank
       << "]; /* in elements */\n";
  os << "} ring_memref_" << rank << "d;\n#endif\n";
}

/// The C type of a scalar, that a `score` region captures; empty if C has none.
static std::string scalarType(Type type) {
  if (type.isIndex())
    return "int64_t";
  if (type.isSignlessInteger(1))
    return "bool";
  for (unsigned bits : {8, 16, 32, 64})
    if (type.isSignlessInteger(bits))
      return "int" + std::to_string(bits) + "_t";
  return type.isF32() ? "float" : type.isF64() ? "double" : "";
}

static void printFunction(func::FuncOp function, llvm::raw_ostream &os) {
  bool rank = function->hasAttr(kRankOfAttrName);
  std::string parameters;
  llvm::raw_string_ostream list(parameters);
  bool declared = true;
  auto parameter = [&](Type type, StringRef name, unsigned index,
                       bool constant) {
    os << " *   " << name << index << ": " << type << "\n";
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      list << ", " << (constant ? "const " : "") << "ring_memref_"
           << tensor.getRank() << "d *" << name << index;
      return;
    }
    std::string scalar = scalarType(type);
    list << ", " << scalar << " " << name << index;
    declared &= !scalar.empty();
  };
  StringRef what =
      "The whole function: splits its inputs, runs the ranks, joins "
      "their outputs.";
  if (function->hasAttr(kLocalAttrName))
    what =
        "What one rank does: what is around its attentions, and these, by the\n"
        " * functions for them. Call it on every rank of a ring, each on its "
        "own thread.";
  else if (rank)
    what = "One rank's program of one attention; call it on every rank of a "
           "ring, each\n * on its own thread.";
  os << "\n/* " << what
     << "\n * Inputs are never written; outputs are memory of the caller's. "
        "Returns a\n * ring_status.\n";
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    parameter(type, "in", index, /*constant=*/true);
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    parameter(type, "out", index, /*constant=*/false);
  if (!declared) {
    os << " * Not declared, as C has no type for one of them. */\n";
    return;
  }
  os << " */\nint32_t " << function.getName() << "("
     << (rank ? "ring_context *context" : "ring_host *host") << parameters
     << ");\n";
}

void mlir::ring::printHeader(ModuleOp module, StringRef guard,
                             llvm::raw_ostream &os) {
  os << "/* Made by ring-run. Link with libring_runtime. */\n#ifndef " << guard
     << "\n#define " << guard
     << "\n\n#include \"ring/Runtime/Host.h\"\n\n#include "
        "<stdbool.h>\n\n#ifdef __cplusplus\n"
        "extern \"C\" {\n#endif\n";
  llvm::SmallSet<int64_t, 8> ranks;
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal()) {
      functions.push_back(function);
      for (Type type : llvm::concat<const Type>(function.getArgumentTypes(),
                                                function.getResultTypes()))
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          if (ranks.insert(tensor.getRank()).second)
            printDescriptor(tensor.getRank(), os);
    }
  for (func::FuncOp function : functions)
    printFunction(function, os);
  os << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}
