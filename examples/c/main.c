/* Links the object file that
 *
 *   ring-run attention.mlir --ranks 3 --emit-object attention.o
 *
 * writes, runs it on a ring of three ranks in this process, and compares one
 * row with attention written out.
 */
#include "attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kHeads = 4, kKvHeads = 2, kLength = 500, kDepth = 64 };

/* The inputs, copies of them, and the outputs. */
static float queryBefore[kHeads][kLength][kDepth],
    keyBefore[kKvHeads][kLength][kDepth],
    valueBefore[kKvHeads][kLength][kDepth];
static float query[kHeads][kLength][kDepth], key[kKvHeads][kLength][kDepth],
    value[kKvHeads][kLength][kDepth], out[kHeads][kLength][kDepth],
    lse[kHeads][kLength];

/* A row-major descriptor of [1][heads][kLength][kDepth]. */
static ring_memref_4d tensor(void *data, int64_t heads) {
  ring_memref_4d result = {
      data,
      data,
      0,
      {1, heads, kLength, kDepth},
      {heads * kLength * kDepth, kLength * kDepth, kDepth, 1}};
  return result;
}

static void fill(float *data, size_t count) {
  for (size_t i = 0; i < count; ++i)
    data[i] = (float)rand() / (float)RAND_MAX - 0.5f;
}

/* Largest error of row `row` of head `head` against float64. */
static double errorOfRow(int head, int row) {
  double weights[kLength], total = 0, worst = 0;
  int kvHead = head / (kHeads / kKvHeads);
  for (int j = 0; j <= row; ++j) {
    double score = 0;
    for (int d = 0; d < kDepth; ++d)
      score += (double)query[head][row][d] * key[kvHead][j][d];
    weights[j] = exp(score / sqrt(kDepth));
    total += weights[j];
  }
  for (int d = 0; d < kDepth; ++d) {
    double expected = 0;
    for (int j = 0; j <= row; ++j)
      expected += weights[j] / total * value[kvHead][j][d];
    worst = fmax(worst, fabs(expected - out[head][row][d]));
  }
  return fmax(worst, fabs(log(total) - lse[head][row]));
}

int main(void) {
  fill(&query[0][0][0], sizeof(query) / sizeof(float));
  fill(&key[0][0][0], sizeof(key) / sizeof(float));
  fill(&value[0][0][0], sizeof(value) / sizeof(float));
  memcpy(queryBefore, query, sizeof(query));
  memcpy(keyBefore, key, sizeof(key));
  memcpy(valueBefore, value, sizeof(value));
  ring_memref_4d q = tensor(query, kHeads), k = tensor(key, kKvHeads),
                 v = tensor(value, kKvHeads), o = tensor(out, kHeads);
  ring_memref_3d l = {
      lse, lse, 0, {1, kHeads, kLength}, {kHeads * kLength, kLength, 1}};

  char message[256];
  ring_host_options options = {.ranks = 3};
  ring_host *host = ring_host_create(&options, message, sizeof(message));
  if (!host) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  int32_t status = attention(host, &q, &k, &v, &o, &l);
  if (status != RING_OK)
    fprintf(stderr, "%s\n", ring_host_error(host));
  ring_host_destroy(host);
  if (status != RING_OK)
    return 1;

  if (memcmp(queryBefore, query, sizeof(query)) ||
      memcmp(keyBefore, key, sizeof(key)) ||
      memcmp(valueBefore, value, sizeof(value))) {
    fprintf(stderr, "an input was written\n");
    return 1;
  }
  double worst = 0;
  for (int head = 0; head < kHeads; ++head)
    for (int row = 0; row < kLength; row += 7)
      worst = fmax(worst, errorOfRow(head, row));
  printf("attention on 3 ranks, largest error against float64: %.2g\n", worst);
  return worst < 1e-5 ? 0 : 1;
}
