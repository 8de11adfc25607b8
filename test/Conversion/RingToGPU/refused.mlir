// RUN: ring-opt %s --convert-ring-to-gpu --split-input-file --verify-diagnostics
// RUN: echo "module {}" | not ring-opt --convert-ring-to-gpu=chip=sm_70 -o /dev/null 2>&1 | FileCheck %s --check-prefix=CHIP

// CHIP: error: feature 'chip sm_70' is not supported by convert-ring-to-gpu, expected sm_80, sm_86, sm_87 or sm_89

memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x1024xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x1024xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  // expected-error @+1 {{feature 'head size' is not supported by convert-ring-to-gpu for sm_80: the smallest tiles (}}
  ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x1024xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x1024xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x1024xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x1024xf32>
  return
}

// -----

memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  // expected-error @+1 {{feature 'memref.copy' is not supported by convert-ring-to-gpu: on the state of a ring.finalize}}
  memref.copy %max, %sum : memref<1x4x?xf32> to memref<1x4x?xf32>
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

// -----

memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  // expected-note @+1 {{the first round is here}}
  ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  // expected-error @+1 {{feature 'rounds that differ' is not supported by convert-ring-to-gpu}}
  ring.online_attention %q, %k, %v slices(%s) scale(2.500000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

// -----

memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>, %flag: i1) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  scf.if %flag {
    // expected-error @+1 {{feature 'rounds under other control flow than one loop' is not supported by convert-ring-to-gpu}}
    ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  }
  // expected-note @+1 {{the state is finished here}}
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

// -----

memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  %mine = memref.alloc(%n) : memref<1x4x?x64xbf16>
  %cast = memref.cast %mine : memref<1x4x?x64xbf16> to memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  // expected-error @+1 {{feature 'a tensor that is no argument of the rank function' is not supported by convert-ring-to-gpu}}
  ring.online_attention %cast, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

// -----

memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  // expected-error @+1 {{feature 'ring.merge' is not supported by convert-ring-to-gpu: on the state of a ring.finalize}}
  ring.merge ins(%acc, %max, %sum) outs(%acc, %max, %sum) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  ring.finalize %acc, %max, %sum outs(%out, %lse) : (memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>, memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}

// -----

memref.global "private" constant @table : memref<2x5xi64> = dense<[[0, 0, 50, 50, 1], [1, 50, 50, 50, 1]]>
shard.grid @ring(shape = 2)
func.func private @f_rank(%q: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %k: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %v: memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %out: memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, %lse: memref<1x4x?xf32, strided<[?, ?, ?], offset: ?>>) attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %empty = arith.constant 0xFF800000 : f32
  %table = memref.get_global @table : memref<2x5xi64>
  %rank = shard.process_linear_index on @ring : index
  %n = memref.dim %q, %c2 : memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>
  %acc = memref.alloc(%n) : memref<1x4x?x64xf32>
  linalg.fill ins(%zero : f32) outs(%acc : memref<1x4x?x64xf32>)
  %max = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%empty : f32) outs(%max : memref<1x4x?xf32>)
  %sum = memref.alloc(%n) : memref<1x4x?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<1x4x?xf32>)
  %s = ring.slices at(%rank, %c0 in %table, %table) mask(<causal>) : memref<2x5xi64>, memref<2x5xi64>
  // expected-error @+1 {{feature 'ring.online_attention' is not supported by convert-ring-to-gpu: on a state that no ring.finalize of the function reads}}
  ring.online_attention %q, %k, %v slices(%s) scale(1.250000e-01) outs(%acc, %max, %sum) : (memref<1x4x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, memref<1x2x?x64xbf16, strided<[?, ?, ?, ?], offset: ?>>, !ring.slices, memref<1x4x?x64xf32>, memref<1x4x?xf32>, memref<1x4x?xf32>) -> ()
  memref.dealloc %acc : memref<1x4x?x64xf32>
  return
}
