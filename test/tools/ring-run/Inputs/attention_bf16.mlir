func.func @attention(%q: tensor<1x1x5x4xbf16>, %k: tensor<1x1x5x4xbf16>, %v: tensor<1x1x5x4xbf16>) -> tensor<1x1x5x4xbf16> {
  %out = ring.attention %q, %k, %v mask(<window = [0, 0]>)
    : (tensor<1x1x5x4xbf16>, tensor<1x1x5x4xbf16>, tensor<1x1x5x4xbf16>) -> tensor<1x1x5x4xbf16>
  return %out : tensor<1x1x5x4xbf16>
}
