module {
  shard.grid @ring(shape = 4) {ring.order = [0, 2, 1, 3]}
  func.func private @kernel(index, memref<4xf32>)
  func.func private @rank() attributes {ring.rank_of = @whole, ring.layout = #ring.layout<striped, 2>}
  func.func @whole(%q: tensor<2x4x8x4xf32>, %k: tensor<2x2x8x4xf32>, %b: tensor<2x1x8x8xf32>, %id: tensor<2x8xi32>, %n: tensor<2xi32>, %s: tensor<4xf32>, %t: tensor<4x5xi64>) {
    %o, %l = ring.attention %q, %k, %k bias(%b) segments(%id, %id) lengths(%n) offsets(%n) sinks(%s)
        mask(<causal, window = [3, *], chunk = 4, prefix = 1>) scale(0.5) softcap(2.0) empty_rows(nan)
        score {
        ^bb0(%x: f32, %batch: index, %head: index, %qi: index, %ki: index):
          %y = tensor.extract %s[%head] : tensor<4xf32>
          ring.yield %y : f32
        }
      : (tensor<2x4x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x2x8x4xf32>, tensor<2x1x8x8xf32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4xf32>) -> (tensor<2x4x8x4xf32>, tensor<2x4x8xf32>)
    %local = ring.scatter %q by %t dim 2 on @ring axis 0 : tensor<2x4x8x4xf32>, tensor<4x5xi64> -> tensor<2x4x?x4xf32>
    %g = ring.gather %local by %t dim 2 on @ring axis 0 : tensor<2x4x?x4xf32>, tensor<4x5xi64> -> tensor<2x4x8x4xf32>
    return
  }
  func.func private @around() attributes {ring.rank_of = @whole, ring.local}
  func.func @local(%r: index, %t: tensor<4x5xi64>, %id: tensor<2x8xi32>, %n: tensor<2xi32>, %q: tensor<2x4x8x4xf32>, %m: tensor<2x4x8xf32>, %sink: tensor<4xf32>, %mean: tensor<2x2x4xf32>) {
    %o = ring.owner %r on @ring axis 0
    %s = ring.slices at(%r, %o in %t, %t) segments(%id, %id : tensor<2x8xi32>, tensor<2x8xi32>) lengths(%n : tensor<2xi32>) offsets(%n : tensor<2xi32>) mask(<causal>) whole : tensor<4x5xi64>, tensor<4x5xi64>
    %a:3 = ring.online_attention %q, %q, %q slices(%s) bias(%q) scale(0.5) softcap(2.0) outs(%q, %m, %m)
      : (tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>, !ring.slices, tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8x4xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    %f = ring.permute_start %q, %q on @ring axis 0 : tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>
    %f2 = ring.permute_start %f on @ring axis 0 : !ring.future<tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>>
    %k, %v = ring.permute_wait %f2 : !ring.future<tensor<2x4x8x4xf32>, tensor<2x4x8x4xf32>>
    %b:3 = ring.merge ins(%a#0, %a#1, %a#2) outs(%q, %m, %m) : (tensor<2x4x8x4xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x4xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8x4xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
    %c:2 = ring.finalize %b#0, %b#1, %b#2 sinks(%sink) empty_rows(uniform) mean(%mean) outs(%q, %m) : (tensor<2x4x8x4xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4xf32>, tensor<2x2x4xf32>, tensor<2x4x8x4xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8x4xf32>, tensor<2x4x8xf32>)
    %call = ring.call @rank (%q, %sink) outs(%m) : (tensor<2x4x8x4xf32>, tensor<4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    return
  }
  func.func @host(%q: tensor<8xf32>, %t: tensor<4x5xi64>, %m: memref<4xf32>, %i: index, %id: tensor<2x8xi32>, %len: tensor<2xi32>, %local: tensor<?xf32>) {
    %n = ring.host.ranks
    %e = tensor.empty(%n) : tensor<?x2xf32>
    %s = ring.host.scatter %q by %t dim 0 outs(%e) : (tensor<8xf32>, tensor<4x5xi64>, tensor<?x2xf32>) -> tensor<?x2xf32>
    %r = ring.host.run @rank ranks 4 (%s) replicated(%t, %i) outs(%e) : (tensor<?x2xf32>, tensor<4x5xi64>, index, tensor<?x2xf32>) -> tensor<?x2xf32>
    %g = ring.host.gather %r by %t dim 0 outs(%q) : (tensor<?x2xf32>, tensor<4x5xi64>, tensor<8xf32>) -> tensor<8xf32>
    ring.parallel_call @kernel(%n, %i) (%m) : memref<4xf32>
    %tables:2 = ring.tables <zigzag> ranks 2 sizes(%i, %i) segments(%id, %id) lengths(%len) offsets(%len) mask(<causal>) outs(%t, %t) : (index, index, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2xi32>, tensor<2xi32>, tensor<4x5xi64>, tensor<4x5xi64>) -> (tensor<4x5xi64>, tensor<4x5xi64>)
    %p = ring.padded_size %tables#0 ranks 2 : tensor<4x5xi64>
    ring.require_equal %p, %i "sizes"
    %w = ring.gather %local by %t dim 0 sizes(%p) on @ring axis 0 : tensor<?xf32>, tensor<4x5xi64> -> tensor<?xf32>
    return
  }
}
