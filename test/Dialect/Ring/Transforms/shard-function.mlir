// RUN: split-file %s %t
// DEFINE: %{shard} = ring-opt --ring-shard-attention=ranks=2 --ring-shard-function
// DEFINE: %{check} = FileCheck %s --check-prefix

//===----------------------------------------------------------------------===//
// Projections, attention, residual: only the input is cut
//===----------------------------------------------------------------------===//

// RUN: %{shard} %t/layer.mlir -o %t.layer
// RUN: %{check} LAYER < %t.layer

// LAYER-LABEL: func.func @layer(
// LAYER-SAME:    %[[X:.*]]: tensor<1x6x8xf32>, %[[W:.*]]: tensor<8x8xf32>
// LAYER-NOT:     linalg
// LAYER:         %[[XL:.*]] = ring.scatter %[[X]] by %{{.*}} dim 1 on @ring axis 0 : tensor<1x6x8xf32>, tensor<2x5xi64> -> tensor<1x?x8xf32>
// LAYER-NOT:     ring.scatter
// LAYER:         %[[YL:.*]] = call @layer_rank(%[[XL]], %[[W]]) : (tensor<1x?x8xf32>, tensor<8x8xf32>) -> tensor<1x?x8xf32>
// LAYER:         %[[Y:.*]] = ring.gather %[[YL]] by %{{.*}} dim 1 on @ring axis 0 : tensor<1x?x8xf32>, tensor<2x5xi64> -> tensor<1x6x8xf32>
// LAYER-NOT:     linalg
// LAYER:         return %[[Y]]
// LAYER-LABEL: func.func private @layer_rank(
// LAYER-SAME:    %[[X:.*]]: tensor<1x?x8xf32>, %[[W:.*]]: tensor<8x8xf32>) -> tensor<1x?x8xf32> attributes {no_inline, ring.local, ring.rank_of = @layer}
// LAYER:         %[[L:.*]] = tensor.dim %[[X]], %c1
// LAYER:         %[[FLAT:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<1x?x8xf32> into tensor<?x8xf32>
// LAYER:         %[[EMPTY:.*]] = tensor.empty(%[[L]]) : tensor<?x8xf32>
// LAYER:         %[[P:.*]] = linalg.matmul ins(%[[FLAT]], %[[W]] {{.*}} -> tensor<?x8xf32>
// LAYER:         %[[E:.*]] = tensor.expand_shape %[[P]] {{.*}} output_shape [1, %[[L]], 2, 4] : tensor<?x8xf32> into tensor<1x?x2x4xf32>
// LAYER:         %[[Q:.*]] = linalg.transpose ins(%[[E]] : tensor<1x?x2x4xf32>) {{.*}} permutation = [0, 2, 1, 3]
// LAYER:         %[[O:.*]] = call @layer_attention(%[[Q]], %[[Q]], %[[Q]]) : (tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>) -> tensor<1x2x?x4xf32>
// LAYER:         linalg.transpose ins(%[[O]]
// LAYER:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[X]], %{{.*}} : tensor<1x?x8xf32>, tensor<1x?x8xf32>)
// LAYER:         return %[[R]]
// LAYER-LABEL: func.func private @layer_attention(
// LAYER-SAME:    ring.rank_of = @layer
// LAYER-NOT:   func.func

// Once more, there is nothing to do.
// RUN: ring-opt --ring-shard-function %t.layer | diff %t.layer -

//--- layer.mlir

#same = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @layer(%x: tensor<1x6x8xf32>, %w: tensor<8x8xf32>) -> tensor<1x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %flat = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x6x8xf32> into tensor<6x8xf32>
  %e = tensor.empty() : tensor<6x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %p = linalg.matmul ins(%flat, %w : tensor<6x8xf32>, tensor<8x8xf32>) outs(%fill : tensor<6x8xf32>) -> tensor<6x8xf32>
  %heads = tensor.expand_shape %p [[0, 1], [2, 3]] output_shape [1, 6, 2, 4] : tensor<6x8xf32> into tensor<1x6x2x4xf32>
  %qe = tensor.empty() : tensor<1x2x6x4xf32>
  %q = linalg.transpose ins(%heads : tensor<1x6x2x4xf32>) outs(%qe : tensor<1x2x6x4xf32>) permutation = [0, 2, 1, 3]
  %o = ring.attention %q, %q, %q mask(<causal>) : (tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32>
  %te = tensor.empty() : tensor<1x6x2x4xf32>
  %t = linalg.transpose ins(%o : tensor<1x2x6x4xf32>) outs(%te : tensor<1x6x2x4xf32>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %t [[0], [1], [2, 3]] : tensor<1x6x2x4xf32> into tensor<1x6x8xf32>
  %re = tensor.empty() : tensor<1x6x8xf32>
  %r = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %c : tensor<1x6x8xf32>, tensor<1x6x8xf32>) outs(%re : tensor<1x6x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<1x6x8xf32>
  return %r : tensor<1x6x8xf32>
}

//===----------------------------------------------------------------------===//
// Batch and sequence collapsed at the boundary: the sequence alone is cut
//===----------------------------------------------------------------------===//

// RUN: %{shard} %t/collapsed.mlir | %{check} COLLAPSED
// COLLAPSED-LABEL: func.func @collapsed(
// COLLAPSED-SAME:    %[[X:.*]]: tensor<12x8xf32>
// COLLAPSED:         %[[APART:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1], [2]] output_shape [2, 6, 8] : tensor<12x8xf32> into tensor<2x6x8xf32>
// COLLAPSED:         %[[XL:.*]] = ring.scatter %[[APART]] by %{{.*}} dim 1
// COLLAPSED:         %[[YL:.*]] = call @collapsed_rank(%[[XL]]) : (tensor<2x?x8xf32>) -> tensor<2x?x8xf32>
// COLLAPSED:         %[[Y:.*]] = ring.gather %[[YL]] by %{{.*}} dim 1 {{.*}} -> tensor<2x6x8xf32>
// COLLAPSED:         tensor.collapse_shape %[[Y]] {{\[\[}}0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
// COLLAPSED-LABEL: func.func private @collapsed_rank(
// COLLAPSED-SAME:    %[[X:.*]]: tensor<2x?x8xf32>
// COLLAPSED:         %[[L:.*]] = tensor.dim %[[X]], %c1
// COLLAPSED:         %[[FLAT:.*]] = tensor.collapse_shape %[[X]] {{.*}} : tensor<2x?x8xf32> into tensor<?x8xf32>
// COLLAPSED:         %[[N:.*]] = arith.muli %[[L]], %c2
// COLLAPSED:         tensor.empty(%[[N]]) : tensor<?x8xf32>
// COLLAPSED:         linalg.exp ins(%[[FLAT]] : tensor<?x8xf32>)
// COLLAPSED:         tensor.expand_shape {{.*}} output_shape [2, %[[L]], 2, 4] : tensor<?x8xf32> into tensor<2x?x2x4xf32>

//--- collapsed.mlir

func.func @collapsed(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %e = tensor.empty() : tensor<12x8xf32>
  %y = linalg.exp ins(%x : tensor<12x8xf32>) outs(%e : tensor<12x8xf32>) -> tensor<12x8xf32>
  %heads = tensor.expand_shape %y [[0, 1], [2, 3]] output_shape [2, 6, 2, 4] : tensor<12x8xf32> into tensor<2x6x2x4xf32>
  %qe = tensor.empty() : tensor<2x2x6x4xf32>
  %q = linalg.transpose ins(%heads : tensor<2x6x2x4xf32>) outs(%qe : tensor<2x2x6x4xf32>) permutation = [0, 2, 1, 3]
  %o = ring.attention %q, %q, %q : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x4xf32>
  %te = tensor.empty() : tensor<2x6x2x4xf32>
  %t = linalg.transpose ins(%o : tensor<2x2x6x4xf32>) outs(%te : tensor<2x6x2x4xf32>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %t [[0, 1], [2, 3]] : tensor<2x6x2x4xf32> into tensor<12x8xf32>
  return %c : tensor<12x8xf32>
}

//===----------------------------------------------------------------------===//
// Positions, look-ups, assertions
//===----------------------------------------------------------------------===//

// Positions are numbers from 1 on, cut like everything else; 0 is padding, of
// which nothing is asserted, and whose look-ups stay inside the table.
// RUN: %{shard} %t/embedding.mlir | %{check} EMBEDDING
// EMBEDDING-LABEL: func.func @embedding(
// EMBEDDING-SAME:    %[[IDS:.*]]: tensor<1x6xi64>, %[[TABLE:.*]]: tensor<10x4xf32>
// EMBEDDING:         %[[POSITIONS:.*]] = linalg.generic
// EMBEDDING:           %[[I:.*]] = linalg.index 0
// EMBEDDING:           arith.addi %[[I]], %c1
// EMBEDDING-DAG:     %[[IL:.*]] = ring.scatter %[[IDS]] by %{{.*}} dim 1
// EMBEDDING-DAG:     %[[PL:.*]] = ring.scatter %[[POSITIONS]] by %{{.*}} dim 0
// EMBEDDING:         call @embedding_rank(%{{.*}}, %{{.*}}, %[[TABLE]])
// EMBEDDING-LABEL: func.func private @embedding_rank(
// EMBEDDING-NOT:     linalg.index 2
// EMBEDDING:       ^bb0(%[[ID:.*]]: i64, %[[NUMBER:.*]]: i64, %{{.*}}: f32):
// EMBEDDING:         %[[BEFORE:.*]] = arith.subi %[[NUMBER]], %c1_i64
// EMBEDDING:         %[[MAX:.*]] = arith.maxsi %[[BEFORE]], %c0_i64
// EMBEDDING:         %[[P:.*]] = arith.index_cast %[[MAX]] : i64 to index
// EMBEDDING:         %[[PADDING:.*]] = arith.cmpi eq, %[[NUMBER]], %c0_i64
// EMBEDDING:         %[[OK:.*]] = arith.cmpi slt, %[[ID]]
// EMBEDDING:         %[[EITHER:.*]] = arith.ori %[[PADDING]], %[[OK]]
// EMBEDDING:         cf.assert %[[EITHER]], "too large"
// EMBEDDING:         %[[INDEX:.*]] = arith.index_cast %[[ID]] : i64 to index
// EMBEDDING:         %[[LOW:.*]] = arith.maxsi %[[INDEX]], %c0
// EMBEDDING:         %[[HIGH:.*]] = arith.minsi %[[LOW]], %c9
// EMBEDDING:         tensor.extract %{{.*}}[%[[HIGH]],
// EMBEDDING:         arith.index_cast %[[P]] : index to i64

//--- embedding.mlir

func.func @embedding(%ids: tensor<1x6xi64>, %table: tensor<10x4xf32>) -> tensor<1x1x6x4xf32> {
  %ten = arith.constant 10 : i64
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%ids : tensor<1x6xi64>) outs(%e : tensor<1x1x6x4xf32>) {
  ^bb0(%id: i64, %out: f32):
    %ok = arith.cmpi slt, %id, %ten : i64
    cf.assert %ok, "too large"
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 3 : index
    %x = tensor.extract %table[%row, %column] : tensor<10x4xf32>
    %p = linalg.index 2 : index
    %i = arith.index_cast %p : index to i64
    %f = arith.sitofp %i : i64 to f32
    %y = arith.addf %x, %f : f32
    linalg.yield %y : f32
  } -> tensor<1x1x6x4xf32>
  %o = ring.attention %q, %q, %q : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  return %o : tensor<1x1x6x4xf32>
}

//===----------------------------------------------------------------------===//
// Layers that are alike share their attention
//===----------------------------------------------------------------------===//

// RUN: %{shard} %t/layers.mlir | %{check} LAYERS
// LAYERS-LABEL: func.func private @layers_rank(
// LAYERS:         call @layers_attention(
// LAYERS:         call @layers_attention(
// LAYERS:         call @layers_attention_1(
// LAYERS:       func.func private @layers_attention
// LAYERS:       func.func private @layers_attention
// LAYERS-NOT:   func.func

//--- layers.mlir

func.func @layers(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32> {
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %a = ring.attention %x, %x, %x mask(<causal>) : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %b = linalg.exp ins(%a : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %c = ring.attention %b, %b, %b mask(<causal>) : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %d = linalg.exp ins(%c : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %f = ring.attention %d, %d, %d mask(<causal, window = [2, *]>) : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  return %f : tensor<1x1x6x4xf32>
}

//===----------------------------------------------------------------------===//
// Keys of another sequence
//===----------------------------------------------------------------------===//

// The host makes and cuts them; the queries are the ranks' own.
// RUN: %{shard} %t/cross.mlir | %{check} CROSS
// CROSS-LABEL: func.func @cross(
// CROSS-SAME:    %[[X:.*]]: tensor<1x1x6x4xf32>, %[[Y:.*]]: tensor<1x1x10x4xf32>
// CROSS-DAG:     %[[K:.*]] = linalg.exp ins(%[[Y]]
// CROSS-DAG:     %[[KL:.*]] = ring.scatter %[[K]] {{.*}} : tensor<1x1x10x4xf32>
// CROSS-DAG:     %[[VL:.*]] = ring.scatter %[[K]] {{.*}} : tensor<1x1x10x4xf32>
// CROSS-DAG:     %[[XL:.*]] = ring.scatter %[[X]] {{.*}} : tensor<1x1x6x4xf32>
// CROSS:         call @cross_rank(%[[XL]], %[[KL]], %[[VL]])
// CROSS-LABEL: func.func private @cross_rank(
// CROSS-SAME:    %[[X:[^:]*]]: tensor<1x1x?x4xf32>, %[[K:[^:]*]]: tensor<1x1x?x4xf32>, %[[V:[^:]*]]: tensor<1x1x?x4xf32>)
// CROSS:         %[[Q:.*]] = linalg.exp ins(%[[X]]
// CROSS:         call @cross_attention(%[[Q]], %[[K]], %[[V]])

//--- cross.mlir

func.func @cross(%x: tensor<1x1x6x4xf32>, %y: tensor<1x1x10x4xf32>) -> tensor<1x1x6x4xf32> {
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %q = linalg.exp ins(%x : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %ke = tensor.empty() : tensor<1x1x10x4xf32>
  %k = linalg.exp ins(%y : tensor<1x1x10x4xf32>) outs(%ke : tensor<1x1x10x4xf32>) -> tensor<1x1x10x4xf32>
  %o = ring.attention %q, %k, %k : (tensor<1x1x6x4xf32>, tensor<1x1x10x4xf32>, tensor<1x1x10x4xf32>) -> tensor<1x1x6x4xf32>
  return %o : tensor<1x1x6x4xf32>
}

//===----------------------------------------------------------------------===//
// Each kind of op; a bias is cut along its rows, its columns stay whole
//===----------------------------------------------------------------------===//

// RUN: %{shard} %t/kinds.mlir | %{check} KINDS
// KINDS-LABEL: func.func @kinds(
// KINDS-SAME:    %[[X:.*]]: tensor<1x6x1x4xf32>, %[[MASK:.*]]: tensor<1x6xf32>, %[[S:.*]]: f32
// KINDS:         %[[TABLE:.*]] = arith.constant dense<{{.*}}> : tensor<6x4xf32>
// KINDS-DAG:     ring.scatter %[[X]] {{.*}} dim 1
// KINDS-DAG:     ring.scatter %[[TABLE]] {{.*}} dim 0
// KINDS:         call @kinds_rank(%{{.*}}, %{{.*}}, %{{.*}}) : (
// KINDS-LABEL: func.func private @kinds_rank(
// KINDS:         %[[L:.*]] = tensor.dim
// KINDS:         linalg.fill {{.*}} -> tensor<1x?x4xf32>
// KINDS:         tensor.extract_slice %{{.*}}[0, 0, 0, 2] [1, %[[L]], 1, 2] [1, 1, 1, 1] : tensor<1x?x1x4xf32> to tensor<1x?x2xf32>
// KINDS:         tensor.concat dim(2) %{{.*}} : (tensor<1x?x2xf32>, tensor<1x?x2xf32>) -> tensor<1x?x4xf32>
// KINDS:         tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1] [1, %[[L]], 2] [1, 1, 1] : tensor<1x?x2xf32> into tensor<1x?x4xf32>
// KINDS:         tensor.pad %{{.*}} low[0, 0, 1] high[0, 0, 0]
// KINDS:           : tensor<1x?x3xf32> to tensor<1x?x4xf32>
// KINDS:         arith.mulf %{{.*}} : tensor<1x?x4xf32>
// KINDS:         } -> tensor<1x1x?x4xf32>
// KINDS:         } -> tensor<1x1x?x6xf32>
// KINDS:         call @kinds_attention(

//--- kinds.mlir

func.func @kinds(%x: tensor<1x6x1x4xf32>, %mask: tensor<1x6xf32>, %s: f32) -> tensor<1x1x6x4xf32> {
  %half = arith.constant dense<0.5> : tensor<1x6x4xf32>
  %table = arith.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0], [0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<6x4xf32>
  %zero = arith.constant 0.0 : f32
  %high = tensor.extract_slice %x[0, 0, 0, 2] [1, 6, 1, 2] [1, 1, 1, 1] : tensor<1x6x1x4xf32> to tensor<1x6x2xf32>
  %low = tensor.extract_slice %x[0, 0, 0, 0] [1, 6, 1, 2] [1, 1, 1, 1] : tensor<1x6x1x4xf32> to tensor<1x6x2xf32>
  %turned = tensor.concat dim(2) %high, %low : (tensor<1x6x2xf32>, tensor<1x6x2xf32>) -> tensor<1x6x4xf32>
  %written = tensor.insert_slice %low into %turned[0, 0, 1] [1, 6, 2] [1, 1, 1] : tensor<1x6x2xf32> into tensor<1x6x4xf32>
  %three = tensor.extract_slice %written[0, 0, 0] [1, 6, 3] [1, 1, 1] : tensor<1x6x4xf32> to tensor<1x6x3xf32>
  %padded = tensor.pad %three low[0, 0, 1] high[0, 0, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<1x6x3xf32> to tensor<1x6x4xf32>
  %m = arith.mulf %padded, %written : tensor<1x6x4xf32>
  %h = arith.mulf %m, %half : tensor<1x6x4xf32>
  %qe = tensor.empty() : tensor<1x1x6x4xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%h, %table : tensor<1x6x4xf32>, tensor<6x4xf32>) outs(%qe : tensor<1x1x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %c = arith.mulf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<1x1x6x4xf32>
  %be = tensor.empty() : tensor<1x1x6x6xf32>
  %bias = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                          iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%mask : tensor<1x6xf32>) outs(%be : tensor<1x1x6x6xf32>) {
  ^bb0(%a: f32, %out: f32):
    %c = arith.mulf %a, %s : f32
    linalg.yield %c : f32
  } -> tensor<1x1x6x6xf32>
  %o = ring.attention %q, %q, %q bias(%bias) : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x6xf32>) -> tensor<1x1x6x4xf32>
  return %o : tensor<1x1x6x4xf32>
}

//===----------------------------------------------------------------------===//
// An operand in which the op also looks up another position: cut, and whole
//===----------------------------------------------------------------------===//

// RUN: %{shard} %t/both.mlir | %{check} BOTH

// BOTH-LABEL: func.func @both(
// BOTH-SAME:    %[[X:.*]]: tensor<1x1x6x4xf32>
// BOTH:         %[[XL:.*]] = ring.scatter %[[X]]
// BOTH:         call @both_rank(%[[XL]], %[[X]])
// BOTH-LABEL: func.func private @both_rank(
// BOTH-SAME:    %[[XL:.*]]: tensor<1x1x?x4xf32>, %[[X:.*]]: tensor<1x1x6x4xf32>)
// BOTH:         %[[O:.*]] = call @both_attention(%[[XL]], %[[XL]], %[[XL]])
// BOTH:         linalg.generic {{.*}} ins(%[[O]], %[[XL]] :
// BOTH:           tensor.extract %[[X]][

//--- both.mlir

func.func @both(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o, %x : tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %two = arith.constant 2 : index
    %zero = arith.constant 0 : index
    %other = tensor.extract %x[%zero, %zero, %two, %zero] : tensor<1x1x6x4xf32>
    %s = arith.addf %a, %b : f32
    %t = arith.subf %s, %other : f32
    linalg.yield %t : f32
  } -> tensor<1x1x6x4xf32>
  return %p : tensor<1x1x6x4xf32>
}

//===----------------------------------------------------------------------===//
// Attention alone stays as it is
//===----------------------------------------------------------------------===//

// RUN: ring-opt --ring-shard-attention=ranks=2 %t/alone.mlir -o %t.alone
// RUN: ring-opt --ring-shard-function %t.alone | diff %t.alone -

//--- alone.mlir

func.func @alone(%q: tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32> {
  %o = ring.attention %q, %q, %q : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  return %o : tensor<1x1x6x4xf32>
}
func.func @constants() -> tensor<1x1x6x4xf32> {
  %c = arith.constant dense<1.0> : tensor<1x1x6x4xf32>
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %q = linalg.exp ins(%c : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %o = ring.attention %q, %q, %q : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  return %o : tensor<1x1x6x4xf32>
}
func.func @none(%x: tensor<6xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %y = linalg.exp ins(%x : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}
