//===- Refusal.h - Saying what is not supported ----------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A path that cannot do something refuses it with a located error that names
// the feature. The wording is decided here, so that tools can read the name
// back out of the message.
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_REFUSAL_H
#define RING_DIALECT_RING_IR_REFUSAL_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace mlir::ring {

/// Emits "feature '<feature>' is not supported <where>" at `op`.
InFlightDiagnostic refuse(Operation *op, llvm::StringRef feature,
                          llvm::StringRef where);
/// The same at a location, for what is about no op in particular: a tool that
/// prints the op with its errors would print a whole program.
InFlightDiagnostic refuse(Location location, llvm::StringRef feature,
                          llvm::StringRef where);

/// The feature that such a message names; empty for any other message.
llvm::StringRef refusedFeature(llvm::StringRef message);

} // namespace mlir::ring

#endif // RING_DIALECT_RING_IR_REFUSAL_H
