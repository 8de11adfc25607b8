//===- RingOps.td - All ops of the ring dialect -------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGOPS_TD
#define RING_DIALECT_RING_IR_RINGOPS_TD

include "ring/Dialect/Ring/IR/RingAttentionOps.td"
include "ring/Dialect/Ring/IR/RingCommunicationOps.td"
include "ring/Dialect/Ring/IR/RingDeviceOps.td"
include "ring/Dialect/Ring/IR/RingRuntimeOps.td"

#endif // RING_DIALECT_RING_IR_RINGOPS_TD
