//===- UnlinkedOp.h - Ops of dialects that are not linked -------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frameworks' dialects are not linked, so their ops are unregistered: known by
// name, with operands that nobody has verified and attributes of any kind.
//
//===----------------------------------------------------------------------===//

#ifndef RING_LIB_CONVERSION_UNLINKEDOP_H
#define RING_LIB_CONVERSION_UNLINKEDOP_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace mlir::ring {

/// An error at the op that starts with its name.
inline InFlightDiagnostic emitNamedError(Operation *op) {
  return op->emitError("'") << op->getName() << "' ";
}

/// Fails unless all attributes of the op are in `known` or annotations, whose
/// names have a dot. What newer files have as properties was an attribute in
/// older ones.
inline LogicalResult checkAttributes(Operation *op, ArrayRef<StringRef> known) {
  SmallVector<NamedAttribute> attributes(op->getDiscardableAttrs());
  if (auto properties =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    llvm::append_range(attributes, properties);
  for (NamedAttribute attribute : attributes)
    if (StringRef name = attribute.getName().getValue();
        !name.contains('.') && !llvm::is_contained(known, name))
      return emitNamedError(op)
             << "has the attribute '" << name << "', which is not understood";
  return success();
}

} // namespace mlir::ring

#endif // RING_LIB_CONVERSION_UNLINKEDOP_H
