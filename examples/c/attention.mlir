// Causal attention with grouped heads over 500 positions, for 3 ranks.
func.func @attention(%q: tensor<1x4x500x64xf32>, %k: tensor<1x2x500x64xf32>,
                     %v: tensor<1x2x500x64xf32>)
    -> (tensor<1x4x500x64xf32>, tensor<1x4x500xf32>) {
  %out, %lse = ring.attention %q, %k, %v mask(<causal>)
    : (tensor<1x4x500x64xf32>, tensor<1x2x500x64xf32>, tensor<1x2x500x64xf32>)
    -> (tensor<1x4x500x64xf32>, tensor<1x4x500xf32>)
  return %out, %lse : tensor<1x4x500x64xf32>, tensor<1x4x500xf32>
}
