/*===- HeadersInC.c - The C ABI compiled as C -----------------------------===*\
|*                                                                            *|
|* Part of the Ring project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "ring/Runtime/Host.h"
#include "ring/Runtime/Runtime.h"

static void store(void *environment, int64_t item) {
  ((int64_t *)environment)[item] = item + 1;
}

static ring_status body(ring_context *context, void *environment) {
  ring_status status = ring_begin(context, ring_size(context), /*slots=*/0,
                                  /*fingerprint=*/1, NULL);
  if (status == RING_OK && ring_rank(context) == 0)
    status = ring_parallel_for(context, "store", -1, 3, store, environment);
  return ring_end(context, status);
}

/* Runs a ring of two from C; 0 where it did what it should. */
int ring_test_headers_in_c(void) {
  int64_t items[3] = {0, 0, 0};
  ring_host_options options = {2, 1, 0.0, 0, NULL, NULL, 0, 0};
  ring_host *host = ring_host_create(&options, NULL, 0);
  ring_status status;
  if (!host)
    return 1;
  status = ring_host_run(host, 2, body, items);
  ring_host_destroy(host);
  return status != RING_OK || items[0] != 1 || items[2] != 3;
}
