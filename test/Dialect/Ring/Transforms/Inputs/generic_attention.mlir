// Attention as a few generic ops: 2 batches, 4 heads, 8 queries and keys. The
// tests change single lines of it.

!query = tensor<2x4x8x16xf32>
!key = tensor<2x4x8x16xf32>
!value = tensor<2x4x8x32xf32>
!output = tensor<2x4x8x32xf32>
!pairs = tensor<2x4x8x8xf32>
!rows = tensor<2x4x8xf32>

#at_query = affine_map<(b, h, q, k, d) -> (b, h, q, d)>
#at_key = affine_map<(b, h, q, k, d) -> (b, h, k, d)>
#at_score = affine_map<(b, h, q, k, d) -> (b, h, q, k)>
#pair = affine_map<(b, h, q, k) -> (b, h, q, k)>
#row = affine_map<(b, h, q, k) -> (b, h, q)>
#at_weight = affine_map<(b, h, q, c, k) -> (b, h, q, k)>
#at_sum = affine_map<(b, h, q, c, k) -> (b, h, q)>
#at_value = affine_map<(b, h, q, c, k) -> (b, h, k, c)>
#at_output = affine_map<(b, h, q, c, k) -> (b, h, q, c)>

func.func @generic(%q: !query, %k: !key, %v: !value, %es: !pairs, %er: !rows, %eo: !output) -> !output {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.25 : f32
  %three = arith.constant 3 : index
  %s0 = linalg.fill ins(%zero : f32) outs(%es : !pairs) -> !pairs
  %dot = linalg.generic {indexing_maps = [#at_query, #at_key, #at_score],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : !query, !key) outs(%s0 : !pairs) {
  ^bb0(%x: f32, %y: f32, %acc: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  } -> !pairs
  %s = linalg.generic {indexing_maps = [#pair, #pair],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%dot : !pairs) outs(%es : !pairs) {
  ^bb0(%x: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %later = arith.addi %j, %three : index
    %earlier = arith.subi %j, %three : index
    %visible = arith.cmpi sge, %i, %j : index
    %near = arith.cmpi slt, %i, %later : index
    %both = arith.andi %visible, %near : i1
    %0 = arith.mulf %scale, %x : f32
    %masked = arith.select %visible, %0, %ninf : f32
    linalg.yield %masked : f32
  } -> !pairs
  %m0 = linalg.fill ins(%ninf : f32) outs(%er : !rows) -> !rows
  %m = linalg.generic {indexing_maps = [#pair, #row],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%s : !pairs) outs(%m0 : !rows) {
  ^bb0(%x: f32, %acc: f32):
    %0 = arith.maximumf %acc, %x : f32
    linalg.yield %0 : f32
  } -> !rows
  %p = linalg.generic {indexing_maps = [#pair, #row, #pair],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %m : !pairs, !rows) outs(%es : !pairs) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %0 = arith.subf %x, %y : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> !pairs
  %l0 = linalg.fill ins(%zero : f32) outs(%er : !rows) -> !rows
  %l = linalg.generic {indexing_maps = [#pair, #row],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p : !pairs) outs(%l0 : !rows) {
  ^bb0(%x: f32, %acc: f32):
    %0 = arith.addf %x, %acc : f32
    linalg.yield %0 : f32
  } -> !rows
  %o0 = linalg.fill ins(%zero : f32) outs(%eo : !output) -> !output
  %o = linalg.generic {indexing_maps = [#at_weight, #at_sum, #at_value, #at_output],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %l, %v : !pairs, !rows, !value) outs(%o0 : !output) {
  ^bb0(%x: f32, %y: f32, %z: f32, %acc: f32):
    %0 = arith.divf %x, %y : f32
    %1 = arith.mulf %z, %0 : f32
    %2 = arith.addf %1, %acc : f32
    linalg.yield %2 : f32
  } -> !output
  return %o : !output
}
