//===- RingDeviceOps.td - Ops of rank functions on a GPU ----*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_IR_RINGDEVICEOPS_TD
#define RING_DIALECT_RING_IR_RINGDEVICEOPS_TD

include "ring/Dialect/Ring/IR/RingRuntimeOps.td"

class Ring_DeviceCopyOp<string mnemonic> : Ring_Op<mnemonic, []> {
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyMemRef:$target);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($target)";
  let hasVerifier = 1;
}

def Ring_DeviceImportOp : Ring_DeviceCopyOp<"device.import"> {
  let summary = "the values of a tensor in memory of the rank's GPU";
  let description = [{
    The tensor itself where it is such memory, else a copy, whose rows start at
    multiples of 16 bytes. Lowers to `ring_device_import`.

    Example:

    ```mlir
    %d = ring.device.import %q : memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
      to memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
    ```

    Constraints:
    - both have one shape and element type; the layout of the result is dynamic.
  }];
}

def Ring_DeviceExportOp : Ring_DeviceCopyOp<"device.export"> {
  let summary = "memory of the rank's GPU for the values of a tensor";
  let description = [{
    What the rank function leaves there is in the tensor when it returns. Lowers
    to `ring_device_export`.

    Example: `%d = ring.device.export %out : memref<4xf32> to memref<4xf32, strided<[?], offset: ?>>`

    Constraints:
    - as of `ring.device.import`.
  }];
}

def Ring_DeviceHostCopyOp : Ring_DeviceCopyOp<"device.host_copy"> {
  let summary = "the values of a tensor in memory of the host";
  let description = [{
    The tensor itself where it is such memory, else a copy: for ids, lengths and
    offsets, which work lists are made of. Lowers to `ring_device_host_copy`.

    Example: `%h = ring.device.host_copy %ids : memref<1x64xi32> to memref<1x64xi32, strided<[?, ?], offset: ?>>`

    Constraints:
    - as of `ring.device.import`.
  }];
}

def Ring_DeviceAttentionOp : Ring_Op<"device.attention",
    [AttrSizedOperandSegments]> {
  let summary = "an attention on the rank's GPU, before its first round";
  let description = [{
    Names the kernel that computes one round and what stays from round to
    round; all is memory of the GPU but `captures`, what the kernel's `score`
    region captures, which may be scalars. The state is the runtime's. Lowers to
    `ring_device_attention_begin`; the attributes are the fields of
    `ring_attention_kernel` (include/ring/Runtime/Device.h).

    Example:

    ```mlir
    %a = ring.device.attention @kernels::@attention query(%q) outs(%out, %lse)
      {threads = 128 : i32, shared_bytes = 65536 : i32, query_tile = 128 : i32,
       key_tile = 64 : i32, heads = 8 : i32, head_blocks = 8 : i32, state_floats = 17408 : i32}
      : memref<1x8x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, ...
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel, AnyMemRef:$query,
    Optional<AnyMemRef>:$bias, Optional<AnyMemRef>:$sinks,
    Optional<AnyMemRef>:$mean, Optional<AnyMemRef>:$query_segments,
    Optional<AnyMemRef>:$key_segments, AnyMemRef:$out,
    Optional<AnyMemRef>:$lse, Variadic<AnyType>:$captures,
    I32Attr:$threads, I32Attr:$shared_bytes, I32Attr:$query_tile,
    I32Attr:$key_tile, I32Attr:$heads, I32Attr:$head_blocks,
    I32Attr:$state_floats);
  let results = (outs Ring_DeviceAttentionType:$attention);
  let assemblyFormat = [{
    $kernel `query` `(` $query `)` (`bias` `(` $bias^ `)`)?
    (`sinks` `(` $sinks^ `)`)? (`mean` `(` $mean^ `)`)?
    (`segments` `(` $query_segments^ `,` $key_segments `)`)?
    `outs` `(` $out (`,` $lse^)? `)` (`captures` `(` $captures^ `)`)?
    attr-dict `:` type(operands)
  }];
}

def Ring_DeviceRoundOp : Ring_Op<"device.round", []> {
  let summary = "one round of an attention on the rank's GPU";
  let description = [{
    Enqueues the kernel for the block of keys and values that has arrived; in
    the `last` round it also writes the results. Lowers to
    `ring_device_attention_round`.

    Example:

    ```mlir
    ring.device.round %a, %round, %k, %v slices(%s) last(%last)
      : memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>,
        memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
    ```
  }];
  let arguments = (ins Ring_DeviceAttentionType:$attention, Index:$round,
    AnyMemRef:$key, AnyMemRef:$value, Ring_SlicesType:$slices, I1:$last);
  let assemblyFormat = [{
    $attention `,` $round `,` $key `,` $value `slices` `(` $slices `)`
    `last` `(` $last `)` attr-dict `:` type($key) `,` type($value)
  }];
}

#endif // RING_DIALECT_RING_IR_RINGDEVICEOPS_TD
