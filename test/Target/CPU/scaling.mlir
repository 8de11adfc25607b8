// RUN: split-file %s %t

//===----------------------------------------------------------------------===//
// The IR grows with neither the ranks nor the sequence
//===----------------------------------------------------------------------===//

// Rounds are a loop and tables are constants: at 64 ranks and 2^20 positions
// there is not one operation more than at 4 ranks and 1,024 positions, in form
// 4 and all the way down.
// DEFINE: %{ranks} = 4
// DEFINE: %{file} = %t/short.mlir
// DEFINE: %{form4} = ring-opt %{file} --ring-shard-attention=ranks=%{ranks} --ring-apply-layout --ring-classify-blocks --ring-pipeline-rounds --ring-verify-schedule --print-op-stats -o /dev/null
// DEFINE: %{llvm} = ring-opt %{file} --ring-to-cpu=ranks=%{ranks} --print-op-stats -o /dev/null
// RUN: %{form4} 2> %t.form4
// RUN: %{llvm} 2> %t.llvm
// REDEFINE: %{file} = %t/long.mlir
// RUN: %{llvm} 2>&1 | diff %t.llvm -
// REDEFINE: %{ranks} = 64
// RUN: %{form4} 2>&1 | diff %t.form4 -
// RUN: %{llvm} 2>&1 | diff %t.llvm -
// RUN: FileCheck %s --check-prefix=FORM4 < %t.form4
// FORM4-DAG: ring.online_attention , 3
// FORM4-DAG: ring.permute_start {{.*}}, 2
// FORM4-DAG: ring.permute_wait {{.*}}, 2
// FORM4-DAG: scf.for {{.*}}, 1
// RUN: FileCheck %s --check-prefix=LLVM < %t.llvm
// LLVM: llvm.call

// Tables that are computed at run time make no difference: as many operations
// at 64 ranks as at 4.
// REDEFINE: %{file} = %t/dynamic.mlir
// REDEFINE: %{ranks} = 4
// RUN: %{form4} 2> %t.form4
// RUN: %{llvm} 2> %t.llvm
// REDEFINE: %{ranks} = 64
// RUN: %{form4} 2>&1 | diff %t.form4 -
// RUN: %{llvm} 2>&1 | diff %t.llvm -
// RUN: FileCheck %s --check-prefix=FORM4 < %t.form4
// RUN: FileCheck %s --check-prefix=LLVM < %t.llvm

// It takes less than a second; a busy machine gets three.
// RUN: %python %S/Inputs/within.py 3 ring-opt %t/long.mlir --ring-to-cpu=ranks=64 -o /dev/null

//===----------------------------------------------------------------------===//
// Transfers, bytes and slots, for every N and prefetch distance
//===----------------------------------------------------------------------===//

// N - 1 transfers of one message group, min(d + 1, N - 1) slots, and transfers
// * batch * kv_heads * Lk * (d + dv) * bytes, where Lk = ceil(S / N) here. Told
// by ring-pipeline-rounds, and found again by ring-verify-schedule, which runs
// the program.
// RUN: %python %S/Inputs/counts.py ring-opt %t/counts.mlir | FileCheck %s --check-prefix=COUNTS
// COUNTS: 72 programs counted

//--- short.mlir
func.func @main(%q: tensor<1x8x1024x64xf32>, %k: tensor<1x2x1024x64xf32>, %v: tensor<1x2x1024x64xf32>) -> (tensor<1x8x1024x64xf32>, tensor<1x8x1024xf32>) {
  %o, %lse = ring.attention %q, %k, %v mask(<causal>) : (tensor<1x8x1024x64xf32>, tensor<1x2x1024x64xf32>, tensor<1x2x1024x64xf32>) -> (tensor<1x8x1024x64xf32>, tensor<1x8x1024xf32>)
  return %o, %lse : tensor<1x8x1024x64xf32>, tensor<1x8x1024xf32>
}

//--- long.mlir
func.func @main(%q: tensor<1x8x1048576x64xf32>, %k: tensor<1x2x1048576x64xf32>, %v: tensor<1x2x1048576x64xf32>) -> (tensor<1x8x1048576x64xf32>, tensor<1x8x1048576xf32>) {
  %o, %lse = ring.attention %q, %k, %v mask(<causal>) : (tensor<1x8x1048576x64xf32>, tensor<1x2x1048576x64xf32>, tensor<1x2x1048576x64xf32>) -> (tensor<1x8x1048576x64xf32>, tensor<1x8x1048576xf32>)
  return %o, %lse : tensor<1x8x1048576x64xf32>, tensor<1x8x1048576xf32>
}

//--- dynamic.mlir
func.func @main(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %v: tensor<?x2x?x64xf32>, %ids: tensor<?x?xi32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = ring.attention %q, %k, %v segments(%ids, %ids) mask(<causal>) : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x?xi32>, tensor<?x?xi32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

//--- counts.mlir
func.func @main(%q: tensor<2x6xSx8xf16>, %k: tensor<2x3xSx8xf16>, %v: tensor<2x3xSx5xf16>) -> tensor<2x6xSx5xf16> {
  %o = ring.attention %q, %k, %v : (tensor<2x6xSx8xf16>, tensor<2x3xSx8xf16>, tensor<2x3xSx5xf16>) -> tensor<2x6xSx5xf16>
  return %o : tensor<2x6xSx5xf16>
}
