/*===- Host.h - Starting rings and sharding tensors --------------*- C -*-===*\
|*                                                                            *|
|* Part of the Ring project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* What a host program (ring-run, a compiled host function, a C program, the  *|
|* Python package) calls to run rank functions. A host function is compiled   *|
|* to `int32_t f(ring_host *, inputs..., outputs...)` on whole tensors.       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef RING_RUNTIME_HOST_H
#define RING_RUNTIME_HOST_H

#include "ring/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A set of ranks of this process, with their transport and pool. One thread
 * at a time may use it. */
typedef struct ring_host ring_host;

typedef struct ring_host_options {
  int32_t ranks;   /* >= 1 */
  int32_t threads; /* of the pool; 0: one per core */
  double deadline; /* seconds that any wait may last; 0: 60 */
  int32_t trace;   /* record events for ring_host_write_trace */
  /* What the ranks compute on: one for all, or one a rank with commas between
   * them, of "cpu", "cuda[:INDEX]" and "vgpu[:INDEX]" (the virtual GPU).
   * Without an index rank r has the device r modulo their number. NULL: "cpu".
   */
  const char *devices;
  /* How blocks travel: "threads" (all ranks are threads of this process) or
   * "nccl" (each rank has a GPU of its own). NULL: "threads". */
  const char *transport;
  /* Multiprocessors that are left to the transport where work is split over
   * all; 0: as many as it is known to use (threads none, nccl 8); -1: none. */
  int32_t sm_margin;
  int32_t graph; /* replay programs as CUDA graphs, see ring_host_graph_note */
} ring_host_options;

/* NULL and a message in `error` (may be NULL) where it cannot be had. With
 * `nccl` the ranks may be processes, see docs/gpu.md: all of them have to call
 * this, as often as one another and in the same order. MPI, where they meet by
 * it, is initialised unless the program has done so; then also finalised, when
 * the process exits. */
ring_host *ring_host_create(const ring_host_options *options, char *error,
                            size_t error_bytes);
void ring_host_destroy(ring_host *host);
/* A host keeps large blocks (128 KiB or more) that its programs have freed,
 * since the next call asks for the same ones, until two calls in a row have not
 * used them. This gives them back at once. */
void ring_host_trim(ring_host *host);

/* Ranks of the ring, the first of those that live in this process, and how many
 * do. */
int32_t ring_host_ranks(const ring_host *host);
int32_t ring_host_first_rank(const ring_host *host);
int32_t ring_host_local_ranks(const ring_host *host);

/* Runs body(context of rank r, environment) for every local rank, each on a
 * thread of its own with a stack of 16 MiB, and waits for all. Returns the
 * status of the rank that failed first; ring_host_error says what happened. A
 * body that returns a bad status, or returns without ring_end, has failed.
 * `ranks` is what the program was compiled for: another number is
 * RING_ERROR_MISMATCH, at once. A host does not survive fork: in the child
 * this is RING_ERROR_USAGE.
 *
 * Faults for tests: the environment variable
 *   RING_FAULT=drop|swap|delay:rank=R,transfer=T[,ms=M]
 * strikes what rank R sends in its transfer T (1, 2, ... in the order of its
 * starts). `drop` never delivers it; `swap` delivers the block that the
 * receiver itself sent first instead, which in a ring is never the right one;
 * `delay` stops rank R for M milliseconds (100) before it sends, which changes
 * no result. Read at each run; a text that is not well formed is
 * RING_ERROR_USAGE. */
typedef ring_status (*ring_rank_body)(ring_context *context, void *environment);
ring_status ring_host_run(ring_host *host, int32_t ranks, ring_rank_body body,
                          void *environment);
/* What the last call that returns a status said: one line, empty after success.
 * Valid until the next of them. */
const char *ring_host_error(const ring_host *host);

/* With `graph`, over nccl and without a trace, all that a program enqueues on a
 * GPU in its rounds is enqueued when they have ended: the first time as it is,
 * later, where addresses and sizes are those of a time before, as one CUDA
 * graph. Why the first local rank's last program was not launched as a graph;
 * empty where it was. Valid until the next run. */
const char *ring_host_graph_note(const ring_host *host);

/* Whole tensor -> stacked local tensors [local ranks, ..., padded, ...] and
 * back, along dimension `dim` of the whole tensor, with any strides and
 * elements of 1, 2, 4 or 8 bytes. `table` is [entries][5], see
 * ring/Analysis/Layout.h; it must give every position one owner. Padding is
 * zeroed by scatter and not read by gather. RING_ERROR_USAGE where shapes or
 * table do not fit, before anything is written. */
ring_status ring_host_scatter(ring_host *host, const int64_t *table,
                              int64_t entries, int32_t dim,
                              const ring_tensor *whole,
                              const ring_tensor *stacked);
ring_status ring_host_gather(ring_host *host, const int64_t *table,
                             int64_t entries, int32_t dim,
                             const ring_tensor *stacked,
                             const ring_tensor *whole);

/* First and last call of every host function, which returns the status that the
 * second returns: that of its own. After a bad one, what the function allocated
 * is freed. A program compiled for another RING_ABI_VERSION than this
 * runtime's, or for another number of `ranks` than the host's (0: it runs no
 * ranks), is RING_ERROR_MISMATCH, before anything else. */
ring_status ring_host_begin(ring_host *host, int32_t abi_version,
                            int32_t ranks);
/* ring_check_argument for a host function, after ring_host_begin. */
ring_status ring_host_check_argument(ring_host *host, int32_t argument,
                                     const void *data, int32_t dims,
                                     const int64_t *sizes,
                                     const int64_t *expected);
ring_status ring_host_end(ring_host *host, ring_status status);

/* ring_parallel_for for a host function, between these two: on the same pool,
 * and what the items allocate is counted with the function. RING_ERROR_USAGE in
 * a process forked after the host was created. */
ring_status ring_host_parallel_for(ring_host *host, int64_t count,
                                   ring_body body, void *environment);

/* The tables [entries][5] of the queries (tables[0]) and of the keys
 * (tables[1]) of a layout on `ranks` ranks, with room for as many entries as
 * such a layout may need (2 a rank, `balanced` 64); the rest becomes empty
 * entries. Work that `balanced` evens out is what `visibility` lets through. */
enum {
  RING_LAYOUT_CONTIGUOUS = 0,
  RING_LAYOUT_ZIGZAG = 1,
  RING_LAYOUT_STRIPED = 2,
  RING_LAYOUT_BALANCED = 3
};
ring_status ring_host_tables(ring_host *host, int32_t layout,
                             int64_t granularity, int32_t ranks,
                             int64_t query_count, int64_t key_count,
                             const ring_visibility *visibility,
                             const ring_tensor *tables);
/* The longest local size under a table. */
int64_t ring_padded_size(const int64_t *table, int64_t entries, int32_t ranks);
/* RING_ERROR_USAGE, with a message that names `what`, unless a == b. */
ring_status ring_host_require_equal(ring_host *host, int64_t a, int64_t b,
                                    const char *what);

/* Counters since ring_host_reset_counters (or creation); per-rank values are
 * maxima over the local ranks. */
typedef struct ring_counters {
  int64_t runs;              /* ring_host_run calls that started ranks */
  int64_t transfers;         /* per rank */
  int64_t bytes_sent;        /* per rank, also when only an address passed */
  int64_t buffers_allocated; /* slots the transport allocated, per rank; the
                              * most of a program */
  int64_t slots_in_flight;   /* most unwaited transfers at once, of a rank */
  int64_t launches;          /* ring_parallel_for calls, and kernels on a GPU,
                              * per rank */
  int64_t peak_bytes;        /* most bytes allocated at once, of a rank */
  int64_t local_bytes;       /* of one rank's local tensors, scattered to it
                              * and gathered from it, of all calls */
  double balance;            /* visible pairs of the busiest rank / mean of all
                              * ranks, as the kernels found them; the largest
                              * of all programs, 1 where nothing was visible */
  double round_balance;      /* the same with the busiest rank of each round,
                              * summed over the rounds */
  double seconds;            /* time inside ring_host_run, all runs */
} ring_counters;
void ring_host_counters(const ring_host *host, ring_counters *counters);
/* Also forgets the events of the trace. */
void ring_host_reset_counters(ring_host *host);

/* Chrome trace events (Perfetto opens them): a process per rank, a row for
 * computation and one for transfers, every round and transfer named; time that
 * a rank waited stands in its computation row. Returns 0 where the file cannot
 * be written, 1 otherwise. */
int32_t ring_host_write_trace(const ring_host *host, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* RING_RUNTIME_HOST_H */
