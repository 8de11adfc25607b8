// RUN: ring-opt %s --remarks-filter='.*' -o /dev/null \
// RUN:   --pass-pipeline='builtin.module(ring-shard-attention{ranks=2},ring-apply-layout{layout=zigzag},ring-classify-blocks,ring-pipeline-rounds,ring-verify-schedule)' \
// RUN:   2>&1 | FileCheck %s --implicit-check-not=bytes_per_rank

// Types may be larger than any memory: what is sent is more than an integer of
// 64 bits holds, and no remark says a wrong number.

// CHECK: PipelineRounds
// CHECK-SAME: transfers=1
// CHECK: VerifySchedule
// CHECK-SAME: transfers=1

func.func @attention(%q: tensor<2x9223372036854775807x8x64xf32>) -> tensor<2x9223372036854775807x8x64xf32> {
  %o = ring.attention %q, %q, %q
    : (tensor<2x9223372036854775807x8x64xf32>, tensor<2x9223372036854775807x8x64xf32>, tensor<2x9223372036854775807x8x64xf32>)
    -> tensor<2x9223372036854775807x8x64xf32>
  return %o : tensor<2x9223372036854775807x8x64xf32>
}
