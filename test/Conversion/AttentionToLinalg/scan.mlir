// RUN: ring-opt %s --allow-unregistered-dialect --convert-attention-to-linalg --split-input-file | FileCheck %s --implicit-check-not=tm_tensor

// Running sums: a loop over the dimension that carries the sum.

// CHECK-LABEL: func @inclusive
// CHECK: %[[NONE:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: %[[SUM:.*]] = linalg.fill ins(%[[NONE]] : f32) {{.*}} -> tensor<2x1x3xf32>
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[OUT:.*]] = %{{.*}}, %[[ACC:.*]] = %[[SUM]])
// CHECK: %[[PART:.*]] = tensor.extract_slice %arg0[0, %[[I]], 0] [2, 1, 3] [1, 1, 1]
// CHECK: %[[NEXT:.*]] = linalg.generic {{.*}} ins(%[[PART]] : tensor<2x1x3xf32>) outs(%[[ACC]]
// CHECK: arith.addf
// CHECK: %[[INTO:.*]] = tensor.insert_slice %[[NEXT]] into %[[OUT]][0, %[[I]], 0] [2, 1, 3] [1, 1, 1]
// CHECK: scf.yield %[[INTO]], %[[NEXT]]
func.func @inclusive(%x: tensor<2x5x3xf32>, %o: tensor<2x5x3xf32>, %a: tensor<2x3xf32>) -> tensor<2x5x3xf32> {
  %r:2 = "tm_tensor.scan"(%x, %o, %a) <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: f32, %z: f32):
    %s = arith.addf %y, %z : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<2x5x3xf32>, tensor<2x5x3xf32>, tensor<2x3xf32>) -> (tensor<2x5x3xf32>, tensor<2x3xf32>)
  return %r#0 : tensor<2x5x3xf32>
}

// -----

// CHECK-LABEL: func @exclusive
// CHECK: %[[START:.*]] = tensor.expand_shape %arg2 {{\[\[}}0, 1]] output_shape [1, 3]
// CHECK: scf.for {{.*}} iter_args(%[[OUT:.*]] = %{{.*}}, %[[ACC:.*]] = %[[START]])
// CHECK: %[[INTO:.*]] = tensor.insert_slice %[[ACC]] into %[[OUT]]
func.func @exclusive(%x: tensor<5x3xi64>, %o: tensor<5x3xi64>, %a: tensor<3xi64>) -> tensor<5x3xi64> {
  %r:2 = "tm_tensor.scan"(%x, %o, %a) <{dimension = 0 : i64, inclusive = false, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i64, %z: i64):
    %s = arith.addi %z, %y : i64
    "tm_tensor.yield"(%s) : (i64) -> ()
  }) : (tensor<5x3xi64>, tensor<5x3xi64>, tensor<3xi64>) -> (tensor<5x3xi64>, tensor<3xi64>)
  return %r#0 : tensor<5x3xi64>
}

// -----

// Sums of constants are a constant, here of positions and what stands before
// them.
// CHECK-LABEL: func @constant
// CHECK: arith.constant dense<{{\[\[}}0, 1, 3, 6, 10]]> : tensor<1x5xi64>
// CHECK-NOT: scf.for
func.func @constant(%o: tensor<1x5xi64>, %a: tensor<1xi64>) -> tensor<1x5xi64> {
  %first = arith.constant dense<-1> : tensor<1x1xi64>
  %e = tensor.empty() : tensor<7xi64>
  %iota = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<7xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i64
    linalg.yield %c : i64
  } -> tensor<7xi64>
  %row = tensor.expand_shape %iota [[0, 1]] output_shape [1, 7] : tensor<7xi64> into tensor<1x7xi64>
  %joined = tensor.concat dim(1) %first, %row : (tensor<1x1xi64>, tensor<1x7xi64>) -> tensor<1x8xi64>
  %x = tensor.extract_slice %joined[0, 1] [1, 5] [1, 1] : tensor<1x8xi64> to tensor<1x5xi64>
  %r:2 = "tm_tensor.scan"(%x, %o, %a) <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i64, %z: i64):
    %s = arith.addi %y, %z : i64
    "tm_tensor.yield"(%s) : (i64) -> ()
  }) : (tensor<1x5xi64>, tensor<1x5xi64>, tensor<1xi64>) -> (tensor<1x5xi64>, tensor<1xi64>)
  return %r#0 : tensor<1x5xi64>
}

// -----

// Along the outer dimension, from what the accumulator holds.
// CHECK-LABEL: func @constant_exclusive
// CHECK: arith.constant dense<{{\[\[}}10, 20], [11, 22], [14, 26]]> : tensor<3x2xi32>
func.func @constant_exclusive(%o: tensor<3x2xi32>) -> tensor<3x2xi32> {
  %x = arith.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %a = arith.constant dense<[10, 20]> : tensor<2xi32>
  %r:2 = "tm_tensor.scan"(%x, %o, %a) <{dimension = 0 : i64, inclusive = false, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%y: i32, %z: i32):
    %s = arith.addi %y, %z : i32
    "tm_tensor.yield"(%s) : (i32) -> ()
  }) : (tensor<3x2xi32>, tensor<3x2xi32>, tensor<2xi32>) -> (tensor<3x2xi32>, tensor<2xi32>)
  return %r#0 : tensor<3x2xi32>
}
