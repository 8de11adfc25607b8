// RUN: split-file %s %t
// RUN: ring-opt %t/functions.mlir --ring-results-to-destinations -o %t.once
// RUN: FileCheck %s < %t.once
// A second time changes nothing.
// RUN: ring-opt %t.once --ring-results-to-destinations | diff %t.once -
// RUN: ring-opt %t/wrong.mlir --ring-results-to-destinations --split-input-file --verify-diagnostics -o /dev/null

// Each tensor result becomes memory of the caller's, with any strides, after
// the arguments and in order; arguments are never written.
// CHECK-LABEL: func.func @two(
// CHECK-SAME:    %[[A:[^:]*]]: tensor<4xf32> {bufferization.writable = false},
// CHECK-SAME:    %[[I:[^:]*]]: index,
// CHECK-SAME:    %[[D0:[^:]*]]: memref<4xf32, strided<[?], offset: ?>>,
// CHECK-SAME:    %[[D1:[^:]*]]: memref<?x2xi8, strided<[?, ?], offset: ?>>) {
// CHECK:         %[[B:.*]] = tensor.empty(%[[I]]) : tensor<?x2xi8>
// CHECK:         bufferization.materialize_in_destination %[[A]] in restrict writable %[[D0]] :
// CHECK:         bufferization.materialize_in_destination %[[B]] in restrict writable %[[D1]] :
// CHECK:         return{{$}}

// What is no tensor stays a result.
// CHECK-LABEL: func.func @mixed(
// CHECK-SAME:    memref<4xf32, strided<[?], offset: ?>>) -> index {
// CHECK:         bufferization.materialize_in_destination
// CHECK:         return %{{.*}} : index

// A function that another calls keeps its results.
// CHECK-LABEL: func.func private @called(
// CHECK-SAME:    %{{[^:]*}}: tensor<4xf32>) -> tensor<4xf32> {
// CHECK:         return %{{.*}} : tensor<4xf32>
// CHECK-LABEL: func.func @caller(
// CHECK-SAME:    memref<4xf32, strided<[?], offset: ?>>) {

// A declaration, and functions without tensors of whatever dialect.
// CHECK:       func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func @branches(%{{.*}}: i1, %{{.*}}: f32) -> f32 {
// CHECK:         cf.cond_br
// CHECK-LABEL: func.func @no_way_out() {
// CHECK-NEXT:    llvm.unreachable

//--- functions.mlir
func.func @two(%a: tensor<4xf32>, %i: index) -> (tensor<4xf32>, tensor<?x2xi8>) {
  %b = tensor.empty(%i) : tensor<?x2xi8>
  return %a, %b : tensor<4xf32>, tensor<?x2xi8>
}
func.func @mixed(%i: index) -> (index, tensor<4xf32>) {
  %b = tensor.empty() : tensor<4xf32>
  return %i, %b : index, tensor<4xf32>
}
func.func private @called(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func @caller(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @called(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @branches(%c: i1, %x: f32) -> f32 {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : f32
^b:
  %y = arith.negf %x : f32
  return %y : f32
}
func.func @no_way_out() {
  llvm.unreachable
}

//--- wrong.mlir
// expected-error @below {{expected one block in a function with tensor results}}
func.func @branches(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  cf.cond_br %c, ^a, ^b
^a:
  return %x : tensor<4xf32>
^b:
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{expected a return in a function with tensor results}}
func.func @no_way_out() -> tensor<4xf32> {
  llvm.unreachable
}
