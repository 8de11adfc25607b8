/*===- fma_peak.c - The f32 FMA peak of a core -------------------*- C -*-===*\
|*                                                                            *|
|* Part of the Ring project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Prints the GFLOP/s of multiply-adds that never leave the registers, the    *|
|* best of many turns. To be compiled with -O2 -ffp-contract=fast, for the    *|
|* machine, and with -DLANES=16, 8 or 4, the floats of a register.            *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <stdio.h>
#include <time.h>

typedef float lanes __attribute__((vector_size(4 * LANES)));
/* Enough chains to fill the pipelines, few enough for the registers. A turn is
 * a fraction of a millisecond: some of them no other process disturbs. */
enum { CHAINS = 12, STEPS = 20000, TURNS = 2000 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void) {
  lanes sums[CHAINS] = {0}, factor, term;
  volatile float close_to_one = 0.999f;
  for (int i = 0; i < LANES; ++i)
    factor[i] = term[i] = close_to_one;
  double best = 1e9;
  for (int turn = 0; turn < TURNS; ++turn) {
    double begin = seconds();
    for (int step = 0; step < STEPS; ++step) {
#pragma GCC unroll 12
      for (int i = 0; i < CHAINS; ++i)
        sums[i] = sums[i] * factor + term;
    }
    double time = seconds() - begin;
    best = time < best ? time : best;
  }
  volatile float kept = 0;
  for (int i = 0; i < CHAINS; ++i)
    kept = kept + sums[i][0];
  printf("%.2f\n", 2e-9 * LANES * CHAINS * STEPS / best);
  return 0;
}
