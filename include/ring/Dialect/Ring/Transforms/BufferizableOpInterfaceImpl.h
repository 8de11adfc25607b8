//===- BufferizableOpInterfaceImpl.h - Bufferization of ring ops -*- C++
//-*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define RING_DIALECT_RING_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
namespace ring {

/// Lets one-shot bufferization handle the ring ops in destination style.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace ring
} // namespace mlir

#endif // RING_DIALECT_RING_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
