// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK-LABEL: @no_clause
func.func @no_clause(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{[^ ]*}} : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  %out = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// CHECK-LABEL: @two_results
func.func @two_results(%q: tensor<1x8x256x64xf32>, %k: tensor<1x2x256x64xf32>, %v: tensor<1x2x256x64xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = ring.attention {{.*}} -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>)
  %out, %lse = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf32>, tensor<1x2x256x64xf32>, tensor<1x2x256x64xf32>) -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>)
  return
}

// CHECK-LABEL: @value_head_size_differs
func.func @value_head_size_differs(%q: tensor<1x8x256x64xf16>, %k: tensor<1x2x100x64xf16>, %v: tensor<1x2x100x32xf16>) {
  // CHECK: -> (tensor<1x8x256x32xf16>, tensor<1x8x256xf32>)
  %out, %lse = ring.attention %q, %k, %v
    : (tensor<1x8x256x64xf16>, tensor<1x2x100x64xf16>, tensor<1x2x100x32xf16>) -> (tensor<1x8x256x32xf16>, tensor<1x8x256xf32>)
  return
}

// CHECK-LABEL: @dynamic_batch_and_lengths
func.func @dynamic_batch_and_lengths(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>) {
  // CHECK: mask(<causal>) : {{.*}} -> tensor<?x8x?x64xbf16>
  %out = ring.attention %q, %k, %v mask(<causal>)
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x8x?x64xbf16>
  return
}

// CHECK-LABEL: @bias
func.func @bias(%q: tensor<1x8x256x64xbf16>, %k: tensor<1x2x256x64xbf16>, %v: tensor<1x2x256x64xbf16>,
                %full: tensor<1x8x256x256xbf16>, %row: tensor<1x1x1x256xf32>) {
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{.*}} bias(%{{[^ ]*}}) : {{.*}}, tensor<1x8x256x256xbf16>) ->
  %full_out = ring.attention %q, %k, %v bias(%full)
    : (tensor<1x8x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x8x256x256xbf16>) -> tensor<1x8x256x64xbf16>
  // CHECK: bias(%{{[^ ]*}}) : {{.*}}, tensor<1x1x1x256xf32>) ->
  %row_out = ring.attention %q, %k, %v bias(%row)
    : (tensor<1x8x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x2x256x64xbf16>, tensor<1x1x1x256xf32>) -> tensor<1x8x256x64xbf16>
  return
}

// CHECK-LABEL: @segments
func.func @segments(%q: tensor<2x8x256x64xf32>, %k: tensor<2x2x100x64xf32>, %v: tensor<2x2x100x64xf32>,
                    %sq: tensor<2x256xi32>, %sk: tensor<2x100xi32>) {
  // CHECK: segments(%{{[^ ]*}}, %{{[^ ]*}}) : {{.*}}, tensor<2x256xi32>, tensor<2x100xi32>) ->
  %out = ring.attention %q, %k, %v segments(%sq, %sk)
    : (tensor<2x8x256x64xf32>, tensor<2x2x100x64xf32>, tensor<2x2x100x64xf32>, tensor<2x256xi32>, tensor<2x100xi32>) -> tensor<2x8x256x64xf32>
  return
}

// CHECK-LABEL: @lengths
func.func @lengths(%q: tensor<2x8x256x64xf32>, %kv: tensor<2x2x256x64xf32>, %n: tensor<2xi32>) {
  // CHECK: lengths(%{{[^ ]*}}) : {{.*}}, tensor<2xi32>) ->
  %out = ring.attention %q, %kv, %kv lengths(%n)
    : (tensor<2x8x256x64xf32>, tensor<2x2x256x64xf32>, tensor<2x2x256x64xf32>, tensor<2xi32>) -> tensor<2x8x256x64xf32>
  return
}

// CHECK-LABEL: @offsets
func.func @offsets(%q: tensor<2x8x1x64xf32>, %kv: tensor<2x2x256x64xf32>, %o: tensor<2xi32>) {
  // CHECK: offsets(%{{[^ ]*}}) mask(<causal>) : {{.*}}, tensor<2xi32>) ->
  %out = ring.attention %q, %kv, %kv offsets(%o) mask(<causal>)
    : (tensor<2x8x1x64xf32>, tensor<2x2x256x64xf32>, tensor<2x2x256x64xf32>, tensor<2xi32>) -> tensor<2x8x1x64xf32>
  return
}

// CHECK-LABEL: @sinks
func.func @sinks(%q: tensor<1x8x256x64xf16>, %kv: tensor<1x2x256x64xf16>, %s: tensor<8xf32>) {
  // CHECK: sinks(%{{[^ ]*}}) : {{.*}}, tensor<8xf32>) ->
  %out = ring.attention %q, %kv, %kv sinks(%s)
    : (tensor<1x8x256x64xf16>, tensor<1x2x256x64xf16>, tensor<1x2x256x64xf16>, tensor<8xf32>) -> tensor<1x8x256x64xf16>
  return
}

// CHECK-LABEL: @mask
func.func @mask(%q: tensor<1x8x256x64xf32>, %kv: tensor<1x2x100x64xf32>) {
  // CHECK: mask(<causal, window = [127, 0], align = bottom_right>) :
  %out = ring.attention %q, %kv, %kv mask(<causal, window = [127, 0], align = bottom_right>)
    : (tensor<1x8x256x64xf32>, tensor<1x2x100x64xf32>, tensor<1x2x100x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// CHECK-LABEL: @scale_and_softcap
func.func @scale_and_softcap(%q: tensor<1x8x256x64xf32>) {
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{.*}} scale(1.250000e-01) :
  %scale = ring.attention %q, %q, %q scale(0.125)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{.*}} scale(-2.000000e+00) :
  %negative = ring.attention %q, %q, %q scale(-2.0)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  // CHECK: ring.attention %{{.*}}, %{{.*}}, %{{.*}} softcap(3.000000e+01) :
  %softcap = ring.attention %q, %q, %q softcap(30.0)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// CHECK-LABEL: @empty_rows
func.func @empty_rows(%q: tensor<1x8x256x64xf32>) {
  // CHECK: empty_rows(zero) :
  %zero = ring.attention %q, %q, %q empty_rows(zero)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  // CHECK: empty_rows(uniform) :
  %uniform = ring.attention %q, %q, %q empty_rows(uniform)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  // CHECK: empty_rows(nan) :
  %nan = ring.attention %q, %q, %q empty_rows(nan)
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// CHECK-LABEL: @score_captures_table
func.func @score_captures_table(%q: tensor<1x8x256x64xf32>, %slopes: tensor<8xf32>) {
  // CHECK:      score {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: index, %[[HEAD:.*]]: index, %[[QI:.*]]: index, %[[KI:.*]]: index):
  // CHECK-NEXT:   %[[SLOPE:.*]] = tensor.extract %{{.*}}[%[[HEAD]]] : tensor<8xf32>
  // CHECK-NEXT:   index.sub
  // CHECK-NEXT:   arith.index_cast
  // CHECK-NEXT:   arith.sitofp
  // CHECK-NEXT:   math.fma
  // CHECK-NEXT:   arith.constant
  // CHECK-NEXT:   arith.maximumf
  // CHECK-NEXT:   ring.yield %{{.*}} : f32
  // CHECK-NEXT: } : (tensor
  %out = ring.attention %q, %q, %q score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %slope = tensor.extract %slopes[%head] : tensor<8xf32>
    %distance = index.sub %ki, %qi
    %integer = arith.index_cast %distance : index to i64
    %float = arith.sitofp %integer : i64 to f32
    %biased = math.fma %slope, %float, %x : f32
    %least = arith.constant -1.0e4 : f32
    %y = arith.maximumf %biased, %least : f32
    ring.yield %y : f32
  } : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}

// CHECK-LABEL: @all_clauses_in_order
func.func @all_clauses_in_order(%q: tensor<2x8x256x64xbf16>, %k: tensor<2x2x100x64xbf16>, %v: tensor<2x2x100x32xbf16>,
                                %b: tensor<2x1x256x100xf32>, %sq: tensor<2x256xi32>, %sk: tensor<2x100xi32>,
                                %n: tensor<2xi32>, %o: tensor<2xi32>, %s: tensor<8xf32>) {
  // CHECK:      bias(%{{.*}}) segments(%{{.*}}, %{{.*}}) lengths(%{{.*}}) offsets(%{{.*}}) sinks(%{{.*}}) mask(<causal, prefix = 3>) scale(1.000000e+00) softcap(2.000000e+00) empty_rows(uniform) score {
  // CHECK:      } : (tensor<2x8x256x64xbf16>, tensor<2x2x100x64xbf16>, tensor<2x2x100x32xbf16>, tensor<2x1x256x100xf32>, tensor<2x256xi32>, tensor<2x100xi32>, tensor<2xi32>, tensor<2xi32>, tensor<8xf32>)
  // CHECK-SAME: -> (tensor<2x8x256x32xbf16>, tensor<2x8x256xf32>)
  %out, %lse = ring.attention %q, %k, %v bias(%b) segments(%sq, %sk) lengths(%n) offsets(%o) sinks(%s)
      mask(<causal, prefix = 3>) scale(1.0) softcap(2.0) empty_rows(uniform)
      score {
      ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
        %y = arith.negf %x : f32
        ring.yield %y : f32
      }
    : (tensor<2x8x256x64xbf16>, tensor<2x2x100x64xbf16>, tensor<2x2x100x32xbf16>, tensor<2x1x256x100xf32>,
       tensor<2x256xi32>, tensor<2x100xi32>, tensor<2xi32>, tensor<2xi32>, tensor<8xf32>)
    -> (tensor<2x8x256x32xbf16>, tensor<2x8x256xf32>)
  return
}

// CHECK-LABEL: @discardable_attributes
func.func @discardable_attributes(%q: tensor<1x8x256x64xf32>) {
  // CHECK: scale(1.000000e+00) {note = "kept"} :
  %out = ring.attention %q, %q, %q scale(1.0) {note = "kept"}
    : (tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>, tensor<1x8x256x64xf32>) -> tensor<1x8x256x64xf32>
  return
}
