//===- RingTypes.td - Types of the ring dialect ------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGTYPES_TD
#define RING_DIALECT_RING_IR_RINGTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "ring/Dialect/Ring/IR/RingDialect.td"

class Ring_Type<string name, string typeMnemonic> : TypeDef<Ring_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Ring_FutureType : Ring_Type<"Future", "future"> {
  let summary = "future of a started transfer";
  let description = [{
    What a `ring.permute_start` promises: one message group of tensors (or
    memrefs) from the predecessor in the ring. It is waited for exactly once on
    every path.

    Example: `!ring.future<tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>>`

    Constraints:
    - the payload is one or more ranked tensors, or one or more memrefs.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Type">:$payload);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Ring_SlicesType : Ring_Type<"Slices", "slices"> {
  let summary = "work list of a round";
  let description = [{
    Per query range of a rank the ranges of the visiting keys that it may see,
    each full (no mask needed) or partial; what sees nothing does not appear.
    Made by `ring.slices`.

    Example: `!ring.slices`
  }];
}

def Ring_DeviceAttentionType
    : Ring_Type<"DeviceAttention", "device_attention"> {
  let summary = "attention on a rank's GPU, from its first to its last round";
  let description = [{
    What the runtime keeps of it: kernel, operands, state. Made by
    `ring.device.attention`.

    Example: `!ring.device_attention`
  }];
}

#endif // RING_DIALECT_RING_IR_RINGTYPES_TD
