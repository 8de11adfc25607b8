// RUN: ring-opt --ring-shard-attention=ranks=2 --ring-shard-function=blockwise-ffn=4 %s -o %t.blocks
// RUN: FileCheck %s < %t.blocks
// RUN: FileCheck %s --check-prefix REST < %t.blocks
// RUN: ring-opt --ring-shard-attention=ranks=2 --ring-shard-function %s | FileCheck %s --check-prefix PLAIN
// RUN: not ring-opt --ring-shard-function=blockwise-ffn=-1 %s 2>&1 | FileCheck %s --check-prefix NEGATIVE
// NEGATIVE: error: blockwise-ffn is -1, expected 0 or more

// PLAIN-LABEL: @gated_rank(
// PLAIN-NOT:     scf.for
// PLAIN-LABEL: @gated_attention(

// The norm before and the sum after are in the loop: only %x and the result are
// as long as the rank's part of the sequence. Memory to write to is the block's.
// CHECK-LABEL: func.func private @gated_rank(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x?x8xf32>
// CHECK:         %[[L:.*]] = tensor.dim %[[X]], %c1
// CHECK:         %[[A:.*]] = call @gated_attention(
// CHECK:         %[[H:.*]] = linalg.add ins(%[[X]]
// CHECK:         %[[ALL:.*]] = tensor.empty(%[[L]]) : tensor<1x?x8xf32>
// CHECK:         %[[Y:.*]] = scf.for %[[I:.*]] = %c0 to %[[L]] step %c4 iter_args(%[[DONE:.*]] = %[[ALL]]) -> (tensor<1x?x8xf32>) {
// CHECK:           %[[AFTER:.*]] = arith.subi %[[L]], %[[I]]
// CHECK:           %[[N:.*]] = arith.minsi %c4, %[[AFTER]]
// CHECK:           %[[BLOCK:.*]] = tensor.extract_slice %[[H]][0, %[[I]], 0] [1, %[[N]], 8] [1, 1, 1]
// CHECK:           %[[NORM:.*]] = linalg.exp ins(%[[BLOCK]]
// CHECK:           %[[FLAT:.*]] = tensor.collapse_shape %[[NORM]]
// CHECK:           tensor.empty(%[[N]]) : tensor<?x32xf32>
// CHECK:           %[[UP:.*]] = linalg.matmul ins(%[[FLAT]], %{{.*}} -> tensor<?x32xf32>
// CHECK:           %[[GATE:.*]] = linalg.matmul ins(%[[FLAT]], %{{.*}} -> tensor<?x32xf32>
// CHECK:           %[[WIDE:.*]] = linalg.mul ins(%[[UP]], %[[GATE]]
// CHECK:           %[[DOWN:.*]] = linalg.matmul ins(%[[WIDE]], %{{.*}} -> tensor<?x8xf32>
// CHECK:           %[[BACK:.*]] = tensor.expand_shape %[[DOWN]] {{.*}} output_shape [1, %[[N]], 8]
// CHECK:           %[[SUM:.*]] = linalg.add ins(%[[BLOCK]], %[[BACK]]
// CHECK:           %[[NEXT:.*]] = tensor.insert_slice %[[SUM]] into %[[DONE]][0, %[[I]], 0] [1, %[[N]], 8] [1, 1, 1]
// CHECK:           scf.yield %[[NEXT]]
// CHECK:         }
// CHECK-NOT:     linalg
// CHECK:         return %[[Y]]

func.func @gated(%x: tensor<1x6x8xf32>, %up: tensor<8x32xf32>, %gate: tensor<8x32xf32>, %down: tensor<32x8xf32>) -> tensor<1x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %q = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, 1, 6, 8] : tensor<1x6x8xf32> into tensor<1x1x6x8xf32>
  %o = ring.attention %q, %q, %q : (tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>) -> tensor<1x1x6x8xf32>
  %a = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x1x6x8xf32> into tensor<1x6x8xf32>
  %e = tensor.empty() : tensor<1x6x8xf32>
  %h = linalg.add ins(%x, %a : tensor<1x6x8xf32>, tensor<1x6x8xf32>) outs(%e : tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  %n = linalg.exp ins(%h : tensor<1x6x8xf32>) outs(%e : tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  %flat = tensor.collapse_shape %n [[0, 1], [2]] : tensor<1x6x8xf32> into tensor<6x8xf32>
  %we = tensor.empty() : tensor<6x32xf32>
  %wide = linalg.fill ins(%zero : f32) outs(%we : tensor<6x32xf32>) -> tensor<6x32xf32>
  %u = linalg.matmul ins(%flat, %up : tensor<6x8xf32>, tensor<8x32xf32>) outs(%wide : tensor<6x32xf32>) -> tensor<6x32xf32>
  %g = linalg.matmul ins(%flat, %gate : tensor<6x8xf32>, tensor<8x32xf32>) outs(%wide : tensor<6x32xf32>) -> tensor<6x32xf32>
  %m = linalg.mul ins(%u, %g : tensor<6x32xf32>, tensor<6x32xf32>) outs(%we : tensor<6x32xf32>) -> tensor<6x32xf32>
  %ne = tensor.empty() : tensor<6x8xf32>
  %narrow = linalg.fill ins(%zero : f32) outs(%ne : tensor<6x8xf32>) -> tensor<6x8xf32>
  %d = linalg.matmul ins(%m, %down : tensor<6x32xf32>, tensor<32x8xf32>) outs(%narrow : tensor<6x8xf32>) -> tensor<6x8xf32>
  %back = tensor.expand_shape %d [[0, 1], [2]] output_shape [1, 6, 8] : tensor<6x8xf32> into tensor<1x6x8xf32>
  %y = linalg.add ins(%h, %back : tensor<1x6x8xf32>, tensor<1x6x8xf32>) outs(%e : tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
  return %y : tensor<1x6x8xf32>
}

// Batch and sequence in one dimension: a block is taken of each batch entry.
// REST-LABEL: func.func private @batch_rank(
// REST:         %[[APART:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [2, %[[L:.*]], 8] : tensor<?x8xf32> into tensor<2x?x8xf32>
// REST:         tensor.empty(%[[L]]) : tensor<2x?x8xf32>
// REST:         scf.for %[[I:.*]] = %c0 to %[[L]] step %c4
// REST:           %[[N:.*]] = arith.minsi
// REST:           %[[SLICE:.*]] = tensor.extract_slice %[[APART]][0, %[[I]], 0] [2, %[[N]], 8]
// REST:           %[[FLAT:.*]] = tensor.collapse_shape %[[SLICE]] {{.*}} into tensor<?x8xf32>
// REST:           %[[ROWS:.*]] = arith.muli %[[N]], %c2
// REST:           tensor.empty(%[[ROWS]]) : tensor<?x32xf32>
// REST:           linalg.matmul ins(%[[FLAT]]
// REST:           %[[RESULT:.*]] = tensor.expand_shape {{.*}} output_shape [2, %[[N]], 8]
// REST:           tensor.insert_slice %[[RESULT]] into %{{.*}}[0, %[[I]], 0] [2, %[[N]], 8]

func.func @batch(%x: tensor<12x8xf32>, %up: tensor<8x32xf32>, %down: tensor<32x8xf32>) -> tensor<2x6x8xf32> {
  %zero = arith.constant 0.0 : f32
  %apart = tensor.expand_shape %x [[0, 1, 2], [3]] output_shape [2, 1, 6, 8] : tensor<12x8xf32> into tensor<2x1x6x8xf32>
  %o = ring.attention %apart, %apart, %apart : (tensor<2x1x6x8xf32>, tensor<2x1x6x8xf32>, tensor<2x1x6x8xf32>) -> tensor<2x1x6x8xf32>
  %flat = tensor.collapse_shape %o [[0, 1, 2], [3]] : tensor<2x1x6x8xf32> into tensor<12x8xf32>
  %e = tensor.empty() : tensor<12x8xf32>
  %sum = linalg.add ins(%flat, %x : tensor<12x8xf32>, tensor<12x8xf32>) outs(%e : tensor<12x8xf32>) -> tensor<12x8xf32>
  %we = tensor.empty() : tensor<12x32xf32>
  %wide = linalg.fill ins(%zero : f32) outs(%we : tensor<12x32xf32>) -> tensor<12x32xf32>
  %u = linalg.matmul ins(%sum, %up : tensor<12x8xf32>, tensor<8x32xf32>) outs(%wide : tensor<12x32xf32>) -> tensor<12x32xf32>
  %narrow = linalg.fill ins(%zero : f32) outs(%e : tensor<12x8xf32>) -> tensor<12x8xf32>
  %d = linalg.matmul ins(%u, %down : tensor<12x32xf32>, tensor<32x8xf32>) outs(%narrow : tensor<12x8xf32>) -> tensor<12x8xf32>
  %s = linalg.mul ins(%d, %sum : tensor<12x8xf32>, tensor<12x8xf32>) outs(%e : tensor<12x8xf32>) -> tensor<12x8xf32>
  %r = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 6, 8] : tensor<12x8xf32> into tensor<2x6x8xf32>
  return %r : tensor<2x6x8xf32>
}

// No feed-forward: what is wide is needed by others, the first product does not
// widen, or what is narrowed comes from attention.
// REST-LABEL: func.func private @used_rank(
// REST-NOT:     scf.for
// REST-LABEL: func.func private @used_attention(

func.func @used(%x: tensor<1x1x6x8xf32>, %up: tensor<8x32xf32>, %down: tensor<32x8xf32>) -> (tensor<6x8xf32>, tensor<6x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>) -> tensor<1x1x6x8xf32>
  %flat = tensor.collapse_shape %o [[0, 1, 2], [3]] : tensor<1x1x6x8xf32> into tensor<6x8xf32>
  %we = tensor.empty() : tensor<6x32xf32>
  %wide = linalg.fill ins(%zero : f32) outs(%we : tensor<6x32xf32>) -> tensor<6x32xf32>
  %u = linalg.matmul ins(%flat, %up : tensor<6x8xf32>, tensor<8x32xf32>) outs(%wide : tensor<6x32xf32>) -> tensor<6x32xf32>
  %e = tensor.empty() : tensor<6x8xf32>
  %narrow = linalg.fill ins(%zero : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %d = linalg.matmul ins(%u, %down : tensor<6x32xf32>, tensor<32x8xf32>) outs(%narrow : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %d, %u : tensor<6x8xf32>, tensor<6x32xf32>
}

// REST-LABEL: func.func private @square_rank(
// REST-NOT:     scf.for
// REST-LABEL: func.func private @square_attention(

func.func @square(%x: tensor<1x1x6x8xf32>, %up: tensor<8x8xf32>, %down: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>) -> tensor<1x1x6x8xf32>
  %flat = tensor.collapse_shape %o [[0, 1, 2], [3]] : tensor<1x1x6x8xf32> into tensor<6x8xf32>
  %we = tensor.empty() : tensor<6x8xf32>
  %wide = linalg.fill ins(%zero : f32) outs(%we : tensor<6x8xf32>) -> tensor<6x8xf32>
  %u = linalg.matmul ins(%flat, %up : tensor<6x8xf32>, tensor<8x8xf32>) outs(%wide : tensor<6x8xf32>) -> tensor<6x8xf32>
  %e = tensor.empty() : tensor<6x4xf32>
  %narrow = linalg.fill ins(%zero : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %d = linalg.matmul ins(%u, %down : tensor<6x8xf32>, tensor<8x4xf32>) outs(%narrow : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %d : tensor<6x4xf32>
}

// REST-LABEL: func.func private @output_rank(
// REST-NOT:     scf.for
// REST-LABEL: func.func private @output_attention(

func.func @output(%x: tensor<1x1x6x8xf32>, %down: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>, tensor<1x1x6x8xf32>) -> tensor<1x1x6x8xf32>
  %flat = tensor.collapse_shape %o [[0, 1, 2], [3]] : tensor<1x1x6x8xf32> into tensor<6x8xf32>
  %e = tensor.empty() : tensor<6x4xf32>
  %narrow = linalg.fill ins(%zero : f32) outs(%e : tensor<6x4xf32>) -> tensor<6x4xf32>
  %d = linalg.matmul ins(%flat, %down : tensor<6x8xf32>, tensor<8x4xf32>) outs(%narrow : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %d : tensor<6x4xf32>
}
