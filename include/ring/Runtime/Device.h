/*===- Device.h - Attention on a device ---------------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Ring project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* What a rank function compiled for a GPU calls besides Runtime.h, and what  *|
|* its kernels read: the structs below are laid out alike on host and device. *|
|*                                                                            *|
|* A rank's GPU has one stream for computation and one for transfers. Calls   *|
|* here enqueue and do not wait, but for ring_device_host_copy and            *|
|* ring_device_finish. Between ring_device_begin and ring_device_finish the   *|
|* tensors of transfers are device memory, and ring_permute_wait makes the    *|
|* computation stream wait, not the caller.                                   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef RING_RUNTIME_DEVICE_H
#define RING_RUNTIME_DEVICE_H

#include "ring/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/*---- What kernels read -----------------------------------------------------*/

/* Where local indices stand in the whole sequence: index i, which is `base` or
 * more, at begin + (i - base) / block * stride + (i - base) % block. */
typedef struct ring_device_entry {
  int32_t base, begin, block, stride;
} ring_device_entry;

/* Keys [begin, end) of a block, at least one, which lie in one layout entry. */
typedef struct ring_attention_range {
  int32_t begin, end;
  int32_t full; /* 1: every query of the item sees every key */
  int32_t reserved;
  ring_device_entry keys;
} ring_attention_range;

/* What thread blocks with this blockIdx.x do, for head block blockIdx.y:
 * start from the state `tile`, or afresh; visit the ranges; merge partial
 * states in their order; write the state, a partial state, or the result. */
typedef struct ring_attention_item {
  int32_t batch;
  int32_t query_begin, query_end; /* local, in one layout entry */
  int32_t range_begin, range_end; /* indices into `ranges` */
  int32_t merge_begin, merge_end; /* indices of partial states */
  int32_t tile;                   /* index of the state */
  int32_t fresh;                  /* 1: no state to start from */
  int32_t target;    /* RING_TARGET_*, or a partial state's index */
  int32_t shift;     /* the position of query i is i + shift */
  int32_t key_count; /* keys from this position on are invisible */
  ring_device_entry queries;
} ring_attention_item;
enum { RING_TARGET_STATE = -1, RING_TARGET_RESULT = -2 };

/* The one parameter of an attention kernel, by value. Addresses are of the
 * device. Strides are in elements, 0 where a dimension is broadcast; the last
 * dimension of query, key, value and out is contiguous, and their rows start at
 * multiples of 16 bytes. A pair is visible iff
 *   lower(p) <= j < upper(p), and both ids are equal and not negative,
 * where p is the query's position plus the item's shift, j the key's position,
 *   lower(p) = max(p - left, chunk ? floor(p / chunk) * chunk : 0)
 *   upper(p) = min(p + right + 1, chunk ? the end of that chunk : inf,
 *                  causal ? max(p + 1, prefix) : inf, key_count). */
typedef struct ring_attention_params {
  const void *query;             /* [batch, heads, Lq, d] */
  const void *key;               /* [batch, kv_heads, Lk, d] */
  const void *value;             /* [batch, kv_heads, Lk, dv] */
  const void *bias;              /* [batch, heads, Lq, Sk] */
  const float *sinks;            /* [heads] */
  const float *mean;             /* [batch, kv_heads, dv], of empty rows */
  const int32_t *query_segments; /* [batch, Sq]; NULL: none */
  const int32_t *key_segments;   /* [batch, Sk] */
  void *out;                     /* [batch, heads, Lq, dv] */
  float *lse;                    /* [batch, heads, Lq]; NULL: not asked for */
  const ring_attention_item *items;
  const ring_attention_range *ranges;
  float *states;               /* [tiles, head blocks, state_floats] */
  float *partials;             /* [partial states, head blocks, state_floats] */
  const ring_tensor *captures; /* of the `score` region, in its order */
  int64_t query_strides[3], key_strides[3], value_strides[3];
  int64_t bias_strides[4];
  int64_t sinks_stride;
  int64_t mean_strides[3];
  int64_t query_segments_strides[2], key_segments_strides[2];
  int64_t out_strides[3], lse_strides[3];
  int32_t causal, left, right, chunk,
      prefix; /* INT32_MAX: unbounded; 0: none */
  int32_t reserved;
} ring_attention_params;

/*---- What the compiler tells about its kernels -----------------------------*/

/* One form of the same kernels. */
typedef struct ring_device_image {
  const char
      *kind; /* "cubin", "ptx", or "vgpu": MLIR bytecode of the kernels */
  const char *chip; /* what it was made for, such as "sm_80" */
  const void *data; /* text ends with a 0 byte */
  int64_t bytes;
} ring_device_image;

typedef struct ring_attention_kernel {
  const char *name; /* of the kernel in the images */
  const ring_device_image *images;
  int32_t image_count;
  int32_t threads;            /* of a block, in x */
  int32_t shared_bytes;       /* dynamic shared memory of a block */
  int32_t query_tile;         /* most queries of an item */
  int32_t key_tile;           /* keys met at once */
  int32_t heads, head_blocks; /* a block works on heads / head_blocks heads */
  int32_t state_floats;       /* of one tile and head block, in states */
} ring_attention_kernel;

/* Tensors that an attention keeps from round to round. Absent: NULL. All are
 * device memory, but for the captures' array, which is copied. */
typedef struct ring_attention_operands {
  const ring_tensor *query, *bias, *sinks, *mean;
  const ring_tensor *query_segments, *key_segments;
  const ring_tensor *out, *lse;
  const ring_tensor *captures;
  int32_t capture_count;
} ring_attention_operands;

/*---- What rank functions call ----------------------------------------------*/

/* What a rank computes on. */
enum { RING_DEVICE_CPU = 0, RING_DEVICE_GPU = 1 };
int32_t ring_device(const ring_context *context);

/* After ring_begin and the checks of arguments, and before anything else here:
 * opens the rank's GPU. */
ring_status ring_device_begin(ring_context *context);
/* The same values in memory of the rank's GPU: the tensor itself where it is
 * such memory with the alignment that kernels need, otherwise a copy that lives
 * until ring_device_finish. For tensors whose last dimension is contiguous. */
ring_status ring_device_import(ring_context *context, const ring_tensor *tensor,
                               ring_tensor *on_device);
/* The same values in host memory: the tensor itself or a copy. Waits for it. */
ring_status ring_device_host_copy(ring_context *context,
                                  const ring_tensor *tensor,
                                  ring_tensor *on_host);
/* Device memory for what `tensor` is to hold; ring_device_finish copies it
 * there where it is not `tensor` itself. */
ring_status ring_device_export(ring_context *context, const ring_tensor *tensor,
                               ring_tensor *on_device);
/* Starts an attention, which lives until ring_device_finish. Loads the first
 * image that the device takes: a cubin of its chip, else PTX, else (vgpu only)
 * a "vgpu" image. RING_ERROR_USAGE where none fits, naming chip and images. */
typedef struct ring_device_attention ring_device_attention;
ring_status ring_device_attention_begin(ring_context *context,
                                        const ring_attention_kernel *kernel,
                                        const ring_attention_operands *operands,
                                        ring_device_attention **attention);
/* One round: at most one launch for the ranges and, where key ranges are split
 * over blocks, one that merges. `slices` refers to host memory. `last`: also
 * writes the results. */
ring_status ring_device_attention_round(ring_context *context,
                                        ring_device_attention *attention,
                                        int64_t round, const ring_tensor *key,
                                        const ring_tensor *value,
                                        const ring_slices *slices,
                                        int32_t last);
/* Copies what was exported and waits for all that the rank enqueued. Also on
 * the way out of a failed program, before ring_end; frees what was imported. */
ring_status ring_device_finish(ring_context *context, ring_status status);

#ifdef __cplusplus
}
#endif

#endif /* RING_RUNTIME_DEVICE_H */
