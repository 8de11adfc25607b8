/*===- Runtime.h - What generated rank programs call -------------*- C -*-===*\
|*                                                                            *|
|* Part of the Ring project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The C ABI between a compiled rank function and the runtime.                *|
|*                                                                            *|
|* A rank function is `int32_t f_rank(ring_context *, inputs..., outputs...)`.*|
|* Every call returns a ring_status; generated code returns the first bad one.*|
|* A call that fails tells the other ranks at once, and every later call of   *|
|* the context returns the same status. No wait lasts longer than the         *|
|* deadline. A context belongs to one thread at a time: the rank's own.       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef RING_RUNTIME_RUNTIME_H
#define RING_RUNTIME_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change of this file or of Host.h that a compiled program
 * would notice. */
#define RING_ABI_VERSION 5

typedef int32_t ring_status;
enum {
  RING_OK = 0,
  RING_ERROR_MISMATCH = 1, /* ranks run different programs, or the wrong N */
  RING_ERROR_TIMEOUT = 2,  /* a deadline passed */
  RING_ERROR_PEER = 3,     /* another rank failed first */
  RING_ERROR_USAGE = 4,    /* an unknown ticket, a bad axis, ... */
  RING_ERROR_MEMORY = 5,
  RING_ERROR_DEVICE = 6 /* a GPU or its driver reported an error */
};

/* One rank of a running ring: its rank and size, transport, pool, deadline,
 * counters and trace. Created by a host (Host.h). */
typedef struct ring_context ring_context;

/* Most dimensions of a tensor that travels. */
#define RING_MAX_DIMS 6

/* A strided tensor, not owned. Sizes and strides in elements. */
typedef struct ring_tensor {
  void *data; /* address of element [0, ..., 0] */
  int32_t dims;
  int32_t element_bytes;
  int64_t sizes[RING_MAX_DIMS];
  int64_t strides[RING_MAX_DIMS];
} ring_tensor;

int32_t ring_rank(const ring_context *context);
int32_t ring_size(const ring_context *context);
/* Which of the process's ranks this is, 0 to local ranks - 1. */
int32_t ring_local_index(const ring_context *context);

/* First call of every rank function with rounds. A run may call several, one
 * after another, each from ring_begin to ring_end. Compares `ranks` with the
 * ring's size and `fingerprint` (N, layout, shapes, types, mask) with the other
 * ranks', before the first transfer: all ranks run the same programs in the
 * same order. `slots` is how many transfers the program keeps in flight; a
 * transport that copies allocates so many, `threads` none. `program` (may be
 * NULL) says what the fingerprint stands for, in fields that
 * "; " separates: those that differ are part of the message. */
ring_status ring_begin(ring_context *context, int32_t ranks, int32_t slots,
                       uint64_t fingerprint, const char *program);
/* For each argument of a rank function that is a tensor, before anything else
 * but ring_begin: RING_ERROR_USAGE where its sizes are not the `dims` that the
 * program was compiled for (below 0: any that is not negative), or where it has
 * elements and no memory. `argument` counts from 0, without the context. */
ring_status ring_check_argument(ring_context *context, int32_t argument,
                                const void *data, int32_t dims,
                                const int64_t *sizes, const int64_t *expected);
/* Last call of such a function: returns when all ranks have passed their last
 * round, so that what a rank lent to its peers may be freed. A transfer that
 * was not waited for is RING_ERROR_USAGE. Also called on the way out of a
 * failed program, with its status, which it returns; then too it stays until no
 * peer reads what this rank lent, but no longer than the deadline. */
ring_status ring_end(ring_context *context, ring_status status);

/* Asynchronous ppermute, shift +1 in ring order: sends `tensors` (one message
 * group) to `to` and will receive the like from `from`. Transfers run in the
 * order of their starts; what one rank sends to another arrives in the order
 * of its starts. Does not wait. The tensors must stay as they are until the
 * wait of this transfer (and, where peers were handed the address, until
 * ring_end); the descriptors are copied. */
typedef int64_t ring_ticket;
ring_status ring_permute_start(ring_context *context, int32_t to, int32_t from,
                               int32_t count, const ring_tensor *tensors,
                               ring_ticket *ticket);
/* The same, sending on what the transfer `source`, started before and not yet
 * waited for, will deliver. */
ring_status ring_permute_forward(ring_context *context, int32_t to,
                                 int32_t from, ring_ticket source,
                                 ring_ticket *ticket);
/* Waits until what was sent has left and what is received has arrived; writes
 * where it is. Consumes the ticket: to wait twice is RING_ERROR_USAGE. What
 * arrives must have the shapes of what was sent, or else RING_ERROR_MISMATCH.
 * `threads` hands over the owner's address, so that nothing has to leave. */
ring_status ring_permute_wait(ring_context *context, ring_ticket ticket,
                              int32_t count, ring_tensor *received);

/* Runs body(environment, 0) .. body(environment, count - 1) on the pool that
 * all ranks of the process share, and returns when all have ended. `name` and
 * `round` (-1: none) label the trace and messages. Items may run in any order
 * and side by side, on threads with a stack of 16 MiB. A call from within a
 * body runs its items one after the other. */
typedef void (*ring_body)(void *environment, int64_t item);
ring_status ring_parallel_for(ring_context *context, const char *name,
                              int64_t round, int64_t count, ring_body body,
                              void *environment);

/* Who sees whom: a `#ring.mask`, and what is known at run time only. */
typedef struct ring_visibility {
  int32_t causal;
  int32_t bottom_right;       /* queries are shifted by Sk - Sq, else by 0 */
  int64_t left, right;        /* INT64_MAX: unbounded */
  int64_t chunk, prefix;      /* 0: none */
  ring_tensor query_segments; /* i32 [batch][Sq]; no data: none */
  ring_tensor key_segments;   /* i32 [batch][Sk] */
  ring_tensor lengths;        /* i32 [batch] */
  ring_tensor offsets;        /* i32 [batch]; shifts in place of the others */
  int32_t sorted;             /* the key ids of every batch entry are */
} ring_visibility;

/* Pointers to tensors may be NULL; both segments are given, or none. The
 * descriptors are copied, the data is borrowed. Looks at every key id, so it is
 * called once, not in each round. */
void ring_visibility_init(ring_visibility *visibility, int32_t causal,
                          int64_t left, int64_t right, int64_t chunk,
                          int64_t prefix, int32_t bottom_right,
                          const ring_tensor *query_segments,
                          const ring_tensor *key_segments,
                          const ring_tensor *lengths,
                          const ring_tensor *offsets);

/* The work list of a round (ring/Analysis/Slices.h says what it is).
 * Filled by generated code with ring_slices_init, read by kernels. The struct
 * may live on the caller's stack; it borrows the tables. */
typedef struct ring_slices {
  const int64_t *query_table;         /* [query_entries][5] */
  const int64_t *key_table;           /* [key_entries][5] */
  int64_t query_entries, key_entries; /* of this rank, of this owner */
  int64_t rank, owner;
  int64_t query_count, key_count; /* of the whole sequence: Sq, Sk */
  int32_t classify;
  ring_visibility visibility;
} ring_slices;

/* `query_table`, `key_table`: the whole tables, of all ranks; the lengths of
 * the sequences are their sums. */
void ring_slices_init(ring_slices *slices, const int64_t *query_table,
                      int64_t query_entries, const int64_t *key_table,
                      int64_t key_entries, int64_t rank, int64_t owner,
                      int32_t classify, const ring_visibility *visibility);
/* Number of query ranges of at most `tile` rows. */
int64_t ring_slices_query_ranges(const ring_slices *slices, int64_t tile);
/* Writes the local queries [range[0], range[1]) of the `index`-th. */
void ring_slices_query_range(const ring_slices *slices, int64_t tile,
                             int64_t index, int64_t *range);

/* A walk over the key ranges of one query range of one batch entry; lives on
 * the caller's stack. */
typedef struct ring_key_cursor {
  int64_t opaque[64];
} ring_key_cursor;
void ring_slices_keys(const ring_slices *slices, int64_t batch,
                      int64_t query_begin, int64_t query_end,
                      ring_key_cursor *cursor);
/* Writes range[0..1] = local keys [begin, end), range[2] = 1 iff full;
 * returns 0 at the end. */
int32_t ring_slices_next_keys(ring_key_cursor *cursor, int64_t *range);
/* Which pairs of a part of the cursor's present range are visible: for local
 * key key_begin + k and the q-th query of the cursor, seen[k * lanes + q] is 1
 * or 0; 0 also for q from the number of queries to `lanes` (256 at most). To be
 * asked once for each key of a partial range: the answers are counted. */
void ring_slices_visible(ring_key_cursor *cursor, int64_t key_begin,
                         int64_t key_end, int64_t lanes, uint8_t *seen);
/* Positions in the whole sequences, of the cursor's queries (the last one's
 * again up to `lanes`) and of the local keys [key_begin, key_end) of the
 * cursor's present range. */
void ring_slices_query_positions(const ring_key_cursor *cursor, int64_t lanes,
                                 int64_t *positions);
void ring_slices_key_positions(const ring_key_cursor *cursor, int64_t key_begin,
                               int64_t key_end, int64_t *positions);

/* Allocation of generated code, 64-byte aligned; counted on the rank whose
 * body, or whose parallel_for item, the calling thread runs. Any thread may
 * free. With RING_POISON=1 in the environment of the process fresh memory is
 * filled with NaN. Where there is no memory the process ends with a message,
 * as generated code does not look. (The names are those of MLIR's generic
 * allocation functions.) */
void *_mlir_memref_to_llvm_alloc(size_t bytes);
void *_mlir_memref_to_llvm_aligned_alloc(size_t alignment, size_t bytes);
void _mlir_memref_to_llvm_free(void *address);

/* Copies between memrefs of one shape that do not overlap; elements of 1, 2, 4
 * or 8 bytes. Both point to {int64_t rank, descriptor address}. (The name is
 * that of MLIR's conversion of `memref.copy`.) */
void memrefCopy(int64_t element_bytes, const void *source, const void *target);

#ifdef __cplusplus
}
#endif

#endif /* RING_RUNTIME_RUNTIME_H */
