//===- Session.h - A context that outlives many inputs ----------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGOPTFUZZER_SESSION_H
#define RING_TOOLS_RINGOPTFUZZER_SESSION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace ring::fuzz {

/// A context with the dialects that programs of ours consist of, and whose
/// diagnostics are swallowed: they are counted, and what they say is a feature
/// of the input.
class Session {
public:
  Session();

  /// Null where `text` does not parse or does not verify.
  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text);
  /// The same for what was printed: it meets no fault of upstream's parser.
  mlir::OwningOpRef<mlir::ModuleOp> parsePrinted(llvm::StringRef text);
  mlir::MLIRContext &getContext() { return context; }

  int errors = 0;         ///< since the last look at them
  std::string firstError; ///< the first of them
  const char *stage = ""; ///< pass that runs, a part of each feature
  bool collecting = true; ///< whether what is said is a feature
  void forgetErrors();

private:
  mlir::MLIRContext context;
};

/// Marks what an input has done. libFuzzer keeps inputs that do something new;
/// so it needs no coverage of our code, which would have to be compiled again.
void addFeature(llvm::StringRef what, llvm::StringRef detail);

} // namespace ring::fuzz

#endif // RING_TOOLS_RINGOPTFUZZER_SESSION_H
