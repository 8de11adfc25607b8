//===- TileProducts.cpp - Inner loops of dense attention --------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written with GCC's vector extension, which Clang shares: it becomes whatever
// vectors the target has. The loop bodies are inlined into one function per
// instruction set; the AVX2 one is called only where the processor has it.
//
//===----------------------------------------------------------------------===//

#include "TileProducts.h"

using namespace ring::tools;

namespace {

// Unaligned, and allowed to alias the doubles it is loaded from.
typedef double Vector __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t Bits __attribute__((vector_size(32), aligned(8), may_alias));

constexpr int64_t kLanes = 4;
static_assert(kTileKeys == 4 * kLanes && kTileColumns == 2 * kLanes,
              "the loops below keep a tile in that many vectors");

#define RING_INLINE static inline __attribute__((always_inline))

// Macros instead of functions: vector parameters would depend on the
// instruction set.
#define RING_LOAD(pointer) (*reinterpret_cast<const Vector *>(pointer))
#define RING_STORE(pointer, vector)                                            \
  (*reinterpret_cast<Vector *>(pointer) = (vector))
#define RING_ABS(vector) ((Vector)((Bits)(vector) & INT64_MAX))

RING_INLINE void scoresBody(const double *query, const double *keys,
                            int64_t depth, double *scores, double *sizes) {
  Vector s0 = {}, s1 = {}, s2 = {}, s3 = {};
  Vector z0 = {}, z1 = {}, z2 = {}, z3 = {};
  for (int64_t c = 0; c < depth; ++c, keys += kTileKeys) {
    double q = query[c], size = q < 0 ? -q : q;
    Vector k0 = RING_LOAD(keys), k1 = RING_LOAD(keys + kLanes);
    Vector k2 = RING_LOAD(keys + 2 * kLanes), k3 = RING_LOAD(keys + 3 * kLanes);
    s0 += q * k0;
    s1 += q * k1;
    s2 += q * k2;
    s3 += q * k3;
    z0 += size * RING_ABS(k0);
    z1 += size * RING_ABS(k1);
    z2 += size * RING_ABS(k2);
    z3 += size * RING_ABS(k3);
  }
  RING_STORE(scores, s0);
  RING_STORE(scores + kLanes, s1);
  RING_STORE(scores + 2 * kLanes, s2);
  RING_STORE(scores + 3 * kLanes, s3);
  RING_STORE(sizes, z0);
  RING_STORE(sizes + kLanes, z1);
  RING_STORE(sizes + 2 * kLanes, z2);
  RING_STORE(sizes + 3 * kLanes, z3);
}

RING_INLINE void accumulateBody(const double *weights, const double *values,
                                int64_t keys, int64_t columns, double *out,
                                double *magnitude, double *spread) {
  for (int64_t c = 0; c < columns; c += kTileColumns) {
    Vector o0 = RING_LOAD(out + c), o1 = RING_LOAD(out + c + kLanes);
    Vector m0 = RING_LOAD(magnitude + c),
           m1 = RING_LOAD(magnitude + c + kLanes);
    Vector p0 = RING_LOAD(spread + c), p1 = RING_LOAD(spread + c + kLanes);
    for (int64_t j = 0; j < keys; ++j) {
      double w = weights[j];
      Vector v0 = w * RING_LOAD(values + j * columns + c);
      Vector v1 = w * RING_LOAD(values + j * columns + c + kLanes);
      o0 += v0;
      o1 += v1;
      m0 += RING_ABS(v0); // weights are not negative
      m1 += RING_ABS(v1);
      p0 += v0 * v0;
      p1 += v1 * v1;
    }
    RING_STORE(out + c, o0);
    RING_STORE(out + c + kLanes, o1);
    RING_STORE(magnitude + c, m0);
    RING_STORE(magnitude + c + kLanes, m1);
    RING_STORE(spread + c, p0);
    RING_STORE(spread + c + kLanes, p1);
  }
}

void scoresAny(const double *query, const double *keys, int64_t depth,
               double *scores, double *sizes) {
  scoresBody(query, keys, depth, scores, sizes);
}

void accumulateAny(const double *weights, const double *values, int64_t keys,
                   int64_t columns, double *out, double *magnitude,
                   double *spread) {
  accumulateBody(weights, values, keys, columns, out, magnitude, spread);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void
scoresAvx2(const double *query, const double *keys, int64_t depth,
           double *scores, double *sizes) {
  scoresBody(query, keys, depth, scores, sizes);
}

__attribute__((target("avx2,fma"))) void
accumulateAvx2(const double *weights, const double *values, int64_t keys,
               int64_t columns, double *out, double *magnitude,
               double *spread) {
  accumulateBody(weights, values, keys, columns, out, magnitude, spread);
}
#endif

} // namespace

const TileProducts &ring::tools::tileProducts() {
  static constexpr TileProducts any = {scoresAny, accumulateAny};
#if defined(__x86_64__)
  static constexpr TileProducts avx2 = {scoresAvx2, accumulateAvx2};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return avx2;
#endif
  return any;
}
