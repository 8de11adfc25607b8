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

// Ops that start from an empty tensor start from the result's memory. Each
// result has a fill of its own.
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME:    %[[A:[^:]*]]: tensor<4xf32> {{.*}}, %[[D0:[^:]*]]: memref<4xf32, {{.*}}>, %[[D1:[^:]*]]: memref<4xf32, {{.*}}>)
// CHECK-DAG:     %[[T0:.*]] = bufferization.to_tensor %[[D0]] restrict writable
// CHECK-DAG:     %[[T1:.*]] = bufferization.to_tensor %[[D1]] restrict writable
// CHECK-DAG:     %[[F0:.*]] = linalg.fill {{.*}} outs(%[[T0]]
// CHECK-DAG:     %[[F1:.*]] = linalg.fill {{.*}} outs(%[[T1]]
// CHECK:         %[[R0:.*]] = linalg.exp ins(%[[A]] : {{.*}}) outs(%[[F0]]
// CHECK:         %[[R1:.*]] = linalg.abs ins(%[[A]] : {{.*}}) outs(%[[F1]]
// CHECK:         materialize_in_destination %[[R0]] in restrict writable %[[D0]]
// CHECK:         materialize_in_destination %[[R1]] in restrict writable %[[D1]]

// Where one of them has another user, which may want it when the result has
// been written over it, they do not; nor where one is of another type.
// CHECK-LABEL: func.func @other_users(
// CHECK-NOT:     to_tensor
// CHECK-LABEL: func.func @other_type(
// CHECK-NOT:     to_tensor

// A loop that fills an empty tensor piece by piece fills the result's memory.
// CHECK-LABEL: func.func @pieces(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4xf32> {{{.*}}}, %[[OUT:[^:]*]]: memref<4xf32
// CHECK:         %[[T:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[T]])

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
func.func @in_place(%a: tensor<4xf32>, %x: f32) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%x : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.exp ins(%a : tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.abs ins(%a : tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @other_users(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.abs ins(%a : tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.negf ins(%a : tensor<4xf32>) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @other_type(%a: tensor<4xf32>, %b: tensor<9xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<9xf32>
  %f = linalg.exp ins(%b : tensor<9xf32>) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %s = tensor.extract_slice %f[0] [4] [1] : tensor<9xf32> to tensor<4xf32>
  %0 = tensor.insert_slice %a into %s[0] [4] [1] : tensor<4xf32> into tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @pieces(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<4xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%done = %e) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %x[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    %n = tensor.insert_slice %s into %done[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  return %r : tensor<4xf32>
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
