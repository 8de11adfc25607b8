func.func @clauses(%q: tensor<2x4x19x8xf32>, %k: tensor<2x2x23x8xf32>, %v: tensor<2x2x23x6xf32>, %b: tensor<2x1x19x23xf32>, %s: tensor<4xf32>)
    -> (tensor<2x4x19x6xf32>, tensor<2x4x19xf32>) {
  %o, %lse = ring.attention %q, %k, %v bias(%b) sinks(%s) mask(<causal, window = [7, *], align = top_left>) softcap(4.0) empty_rows(uniform) score {
  ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
    %slope = tensor.extract %s[%head] : tensor<4xf32>
    %d = index.sub %qi, %ki
    %i = arith.index_cast %d : index to i32
    %f = arith.sitofp %i : i32 to f32
    %y = math.fma %slope, %f, %x : f32
    ring.yield %y : f32
  } : (tensor<2x4x19x8xf32>, tensor<2x2x23x8xf32>, tensor<2x2x23x6xf32>, tensor<2x1x19x23xf32>, tensor<4xf32>) -> (tensor<2x4x19x6xf32>, tensor<2x4x19xf32>)
  return %o, %lse : tensor<2x4x19x6xf32>, tensor<2x4x19xf32>
}
