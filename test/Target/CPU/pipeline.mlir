// RUN: split-file %s %t
// DEFINE: %{file} = %t/f32.mlir
// DEFINE: %{options} = ranks=4
// DEFINE: %{compile} = ring-opt %{file} --ring-to-cpu="%{options}"
// DEFINE: %{check} = FileCheck %s --implicit-check-not=unrealized_conversion_cast --implicit-check-not="{{ (func|scf|memref|vector|arith|cf|ring)\.[a-z]}}" --check-prefix

// From attention to the LLVM dialect and nothing else. Two functions can be
// linked; they take their context and descriptors by address, and return a
// status.
// RUN: %{compile} | %{check} LLVM
// LLVM-DAG: llvm.func @main(%{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr) -> i32
// LLVM-DAG: llvm.func @main_rank(%{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr) -> i32
// LLVM-DAG: llvm.func internal @main_rank_attention(
// LLVM-DAG: llvm.func internal @main_rank_finalize(
// LLVM-DAG: llvm.func @ring_parallel_for(
// LLVM-DAG: llvm.intr.{{fma|fmuladd}}({{.*}} : (vector<64xf32>

// What a kernel calls: the runtime's work list. No exp, no log, no other
// function of libm.
// RUN: %{compile} | grep -oE 'llvm.func @[a-z_]+' | sort -u | FileCheck %s --check-prefix=CALLS --implicit-check-not="llvm.func @"
// CALLS-DAG: @main
// CALLS-DAG: @main_rank
// CALLS-DAG: @_mlir_memref_to_llvm_alloc
// CALLS-DAG: @_mlir_memref_to_llvm_free
// CALLS-DAG: @ring_begin
// CALLS-DAG: @ring_end
// CALLS-DAG: @ring_rank
// CALLS-DAG: @ring_local_index
// CALLS-DAG: @ring_parallel_for
// CALLS-DAG: @ring_permute_start
// CALLS-DAG: @ring_permute_wait
// CALLS-DAG: @ring_slices_init
// CALLS-DAG: @ring_slices_keys
// CALLS-DAG: @ring_slices_next_keys
// CALLS-DAG: @ring_slices_query_range
// CALLS-DAG: @ring_slices_query_ranges
// CALLS-DAG: @ring_slices_visible
// CALLS-DAG: @ring_visibility_init
// CALLS-DAG: @ring_host_begin
// CALLS-DAG: @ring_host_end
// CALLS-DAG: @ring_host_scatter
// CALLS-DAG: @ring_host_gather
// CALLS-DAG: @ring_host_run
// CALLS-DAG: @ring_host_local_ranks

// Options: each changes the program.
// REDEFINE: %{options} = ranks=4 layout=striped:2
// RUN: %{compile} | %{check} STRIPED
// STRIPED: dense<{{\[\[}}0, 0, 2, 8, 2], [1, 2, 2, 8, 2], [2, 4, 2, 2, 1], [3, 6, 2, 2, 1]]>
// REDEFINE: %{options} = ranks=4 prefetch-distance=2
// RUN: %{compile} | %{check} FORWARD
// FORWARD: llvm.call @ring_permute_forward(
// REDEFINE: %{options} = ranks=4 vector-bits=128
// RUN: %{compile} | %{check} NARROW --implicit-check-not="vector<64xf32>"
// NARROW: llvm.intr.{{fma|fmuladd}}({{.*}} : (vector<8xf32>
// REDEFINE: %{options} = ranks=1
// RUN: %{compile} | %{check} ALONE --implicit-check-not=ring_permute
// ALONE: llvm.call @ring_begin(

// REDEFINE: %{options} = ranks=4 layout=spiral
// RUN: not %{compile} -o /dev/null 2>&1 | FileCheck %s --check-prefix=LAYOUT
// LAYOUT: error: unknown layout 'spiral', expected contiguous, zigzag, striped[:G] or balanced
// REDEFINE: %{options} = ranks=4 variant=pass-q
// RUN: not %{compile} -o /dev/null 2>&1 | FileCheck %s --check-prefix=VARIANT
// VARIANT: f32.mlir:2:14: error: feature 'pass-q' is not supported by ring-shard-attention

// No NaN constant in any type, whatever the form and the clauses (M13).
// DEFINE: %{no_nan} = %python %S/Inputs/nan_constants.py
// REDEFINE: %{options} = ranks=4
// RUN: %{compile} -o %t.llvm
// RUN: %{no_nan} %t.llvm
// RUN: sed -e 's/xf32>/xf16>/g; s/x12xf16>/x12xf32>/g' %t/f32.mlir > %t.f16.mlir
// REDEFINE: %{file} = %t.f16.mlir
// RUN: %{compile} -o %t.llvm
// RUN: %{no_nan} %t.llvm
// RUN: sed -e 's/xf32>/xbf16>/g; s/x12xbf16>/x12xf32>/g' %t/f32.mlir > %t.bf16.mlir
// REDEFINE: %{file} = %t.bf16.mlir
// RUN: %{compile} -o %t.llvm
// RUN: %{no_nan} %t.llvm
// REDEFINE: %{file} = %t/clauses.mlir
// RUN: %{compile} -o %t.llvm
// RUN: %{no_nan} %t.llvm
// RUN: sed -e 's/empty_rows(uniform)/empty_rows(nan)/' %t/clauses.mlir > %t.nan.mlir
// REDEFINE: %{file} = %t.nan.mlir
// RUN: %{compile} -o %t.llvm
// RUN: %{no_nan} %t.llvm

// Every clause at once, with sizes of run time: what the runtime is asked
// besides. No function of libm: those of math in the region are taken apart.
// REDEFINE: %{file} = %t/clauses.mlir
// RUN: %{compile} | grep -oE 'llvm.func @[a-z_0-9]+' | sort -u | FileCheck %s --check-prefix=CLAUSES --implicit-check-not="llvm.func @{{(ring_host_t|ring_host_r|ring_p|[^rm_])}}"
// CLAUSES-DAG: @main
// CLAUSES-DAG: @main_rank
// CLAUSES-DAG: @ring_host_tables
// CLAUSES-DAG: @ring_host_require_equal
// CLAUSES-DAG: @ring_host_run
// CLAUSES-DAG: @ring_padded_size
// CLAUSES-DAG: @ring_parallel_for
// CLAUSES-DAG: @ring_permute_start
// CLAUSES-DAG: @ring_permute_wait
// CLAUSES-DAG: @ring_slices_key_positions
// CLAUSES-DAG: @ring_slices_query_positions
// CLAUSES-DAG: @ring_slices_visible
// CLAUSES-DAG: @ring_visibility_init
// Pipelining peels rounds off, constants and all: they still share one kernel.
// RUN: %{compile} | grep -cE 'llvm.func internal @main_rank_attention(_[0-9]+)?[(]' | FileCheck %s --check-prefix=KERNELS
// KERNELS: {{^}}1{{$}}
// REDEFINE: %{options} = ranks=4 prefetch-distance=3
// RUN: %{compile} | grep -cE 'llvm.func internal @main_rank_attention(_[0-9]+)?[(]' | FileCheck %s --check-prefix=KERNELS

// Every form takes the same way: a program that is sharded, laid out,
// classified or pipelined already is compiled to the same calls and vector ops
// in the same order.
// DEFINE: %{calls} = grep -oE 'llvm\.(call @[a-z_]+|intr[.a-z]+)'
// REDEFINE: %{options} = ranks=4
// REDEFINE: %{file} = %t/f32.mlir
// RUN: %{compile} | %{calls} > %t.calls
// RUN: grep -c ring_permute_start %t.calls
// RUN: ring-opt %t/f32.mlir --ring-shard-attention=ranks=4 -o %t.form1
// RUN: ring-opt %t.form1 --ring-to-cpu | %{calls} | diff %t.calls -
// RUN: ring-opt %t.form1 --ring-apply-layout -o %t.form2
// RUN: ring-opt %t.form2 --ring-to-cpu | %{calls} | diff %t.calls -
// RUN: ring-opt %t.form2 --ring-classify-blocks -o %t.form3
// RUN: ring-opt %t.form3 --ring-to-cpu | %{calls} | diff %t.calls -
// RUN: ring-opt %t.form3 --ring-pipeline-rounds -o %t.form4
// RUN: ring-opt %t.form4 --ring-to-cpu | %{calls} | diff %t.calls -

// The same with every clause and sizes of run time.
// REDEFINE: %{file} = %t/clauses.mlir
// RUN: %{compile} | %{calls} > %t.calls
// RUN: grep -c ring_permute_start %t.calls
// RUN: ring-opt %t/clauses.mlir --ring-shard-attention=ranks=4 -o %t.form1
// RUN: ring-opt %t.form1 --ring-to-cpu | %{calls} | diff %t.calls -
// RUN: ring-opt %t.form1 --ring-apply-layout -o %t.form2
// RUN: ring-opt %t.form2 --ring-to-cpu | %{calls} | diff %t.calls -
// RUN: ring-opt %t.form2 --ring-classify-blocks -o %t.form3
// RUN: ring-opt %t.form3 --ring-to-cpu | %{calls} | diff %t.calls -
// RUN: ring-opt %t.form3 --ring-pipeline-rounds --ring-verify-schedule -o %t.form4
// RUN: ring-opt %t.form4 --ring-to-cpu | %{calls} | diff %t.calls -

// A module without attention is compiled as well.
// REDEFINE: %{file} = %t/none.mlir
// RUN: %{compile} | %{check} NONE
// NONE: llvm.func @none(%{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr) -> i32
// REDEFINE: %{file} = %t/empty.mlir
// RUN: %{compile} | %{check} EMPTY
// EMPTY: module {

//--- f32.mlir
func.func @main(%q: tensor<1x2x12x4xf32>, %k: tensor<1x1x12x4xf32>, %v: tensor<1x1x12x4xf32>) -> (tensor<1x2x12x4xf32>, tensor<1x2x12xf32>) {
  %o, %lse = ring.attention %q, %k, %v mask(<causal>) : (tensor<1x2x12x4xf32>, tensor<1x1x12x4xf32>, tensor<1x1x12x4xf32>) -> (tensor<1x2x12x4xf32>, tensor<1x2x12xf32>)
  return %o, %lse : tensor<1x2x12x4xf32>, tensor<1x2x12xf32>
}

//--- clauses.mlir
func.func @main(%q: tensor<?x2x?x4xf32>, %k: tensor<?x1x?x4xf32>, %b: tensor<1x2x?x?xf32>, %sq: tensor<?x?xi32>, %sk: tensor<?x?xi32>, %n: tensor<?xi32>, %o: tensor<?xi32>, %s: tensor<2xf32>, %g: tensor<f32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?xf32>) {
  %gain = tensor.extract %g[] : tensor<f32>
  %out, %lse = ring.attention %q, %k, %k bias(%b) segments(%sq, %sk) lengths(%n) offsets(%o) sinks(%s) mask(<causal, window = [9, *], chunk = 8, prefix = 2>) softcap(5.0) empty_rows(uniform) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %slope = tensor.extract %s[%head] : tensor<2xf32>
    %q32 = arith.index_cast %qi : index to i32
    %k32 = arith.index_cast %ki : index to i32
    %d = arith.subi %q32, %k32 : i32
    %f = arith.sitofp %d : i32 to f32
    %two = arith.constant 2.0 : f32
    %p = math.exp2 %slope : f32
    %t = math.tanh %x : f32
    %y = math.fma %p, %f, %t : f32
    %z = arith.mulf %y, %gain : f32
    %w = arith.divf %z, %two : f32
    ring.yield %w : f32
  } : (tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<1x2x?x?xf32>, tensor<?x?xi32>, tensor<?x?xi32>, tensor<?xi32>, tensor<?xi32>, tensor<2xf32>) -> (tensor<?x2x?x4xf32>, tensor<?x2x?xf32>)
  return %out, %lse : tensor<?x2x?x4xf32>, tensor<?x2x?xf32>
}

//--- none.mlir
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.elementwise kind=#linalg.elementwise_kind<negf> ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- empty.mlir
module {
}
