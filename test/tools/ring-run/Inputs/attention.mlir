func.func @attention(%q: tensor<1x4x37x8xf32>, %k: tensor<1x2x37x8xf32>, %v: tensor<1x2x37x8xf32>)
    -> (tensor<1x4x37x8xf32>, tensor<1x4x37xf32>) {
  %out, %lse = ring.attention %q, %k, %v mask(<causal>)
    : (tensor<1x4x37x8xf32>, tensor<1x2x37x8xf32>, tensor<1x2x37x8xf32>) -> (tensor<1x4x37x8xf32>, tensor<1x4x37xf32>)
  return %out, %lse : tensor<1x4x37x8xf32>, tensor<1x4x37xf32>
}
