// What mixes positions outside attention: an error that names the op, or with
// `partial` left to the host, with a remark.

// RUN: ring-opt --ring-shard-attention=ranks=2 --ring-shard-function -split-input-file -verify-diagnostics %s
// RUN: ring-opt --ring-shard-attention=ranks=2 --ring-shard-function=partial -split-input-file \
// RUN:   --remarks-filter=".*" --remark-policy=all %s -o %t.partial 2> %t.remarks
// RUN: FileCheck %s < %t.partial
// RUN: FileCheck %s --check-prefix REMARK < %t.remarks

#q4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#noRow = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>

// A sum over positions after the last attention: what is before it is local.
// CHECK-LABEL: func.func @pooled(
// CHECK:         call @pooled_rank(
// CHECK:         %[[Y:.*]] = ring.gather
// CHECK:         linalg.generic {{.*}} ins(%[[Y]]
// CHECK-LABEL: func.func private @pooled_rank({{.*}} attributes {no_inline, ring.local
// REMARK: [Missed] ShardFunction
// REMARK-SAME: Category:ring-shard-function
// REMARK-SAME: Function=pooled
// REMARK-SAME: Reason="reduces along the sequence"
func.func @pooled(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x4xf32> {
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %q = linalg.exp ins(%x : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %o = ring.attention %q, %q, %q : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %s = arith.constant dense<0.0> : tensor<1x1x4xf32>
  // expected-error @below {{mixes positions outside attention: 'linalg.generic' reduces along the sequence}}
  %p = linalg.generic {indexing_maps = [#q4, #noRow], iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
      ins(%o : tensor<1x1x6x4xf32>) outs(%s : tensor<1x1x4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %t = arith.addf %a, %out : f32
    linalg.yield %t : f32
  } -> tensor<1x1x4xf32>
  return %p : tensor<1x1x4xf32>
}

// -----

// Between two attentions: the host does all that is around them.
// CHECK-LABEL: func.func @between(
// CHECK:         linalg.exp
// CHECK:         call @between_rank(
// CHECK:         tensor.extract_slice
// CHECK:         call @between_rank_0(
func.func @between(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32> {
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %q = linalg.exp ins(%x : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %o = ring.attention %q, %q, %q : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %first = tensor.extract_slice %o[0, 0, 0, 0] [1, 1, 1, 4] [1, 1, 1, 1] : tensor<1x1x6x4xf32> to tensor<1x1x1x4xf32>
  // expected-error @below {{mixes positions outside attention: 'tensor.extract_slice' takes some of the positions}}
  %rest = tensor.extract_slice %o[0, 0, 1, 0] [1, 1, 5, 4] [1, 1, 1, 1] : tensor<1x1x6x4xf32> to tensor<1x1x5x4xf32>
  %turned = tensor.concat dim(2) %rest, %first : (tensor<1x1x5x4xf32>, tensor<1x1x1x4xf32>) -> tensor<1x1x6x4xf32>
  %p = ring.attention %turned, %turned, %turned : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  return %p : tensor<1x1x6x4xf32>
}

// -----

// Before the first: what the host makes is cut.
// CHECK-LABEL: func.func @before(
// CHECK-SAME:    %[[X:.*]]: tensor<1x1x6x4xf32>
// CHECK:         %[[SHIFTED:.*]] = tensor.insert_slice
// CHECK:         ring.scatter %[[SHIFTED]]
// CHECK-LABEL: func.func private @before_rank(
// CHECK:         linalg.exp
func.func @before(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<1x1x6x4xf32>
  %some = tensor.extract_slice %x[0, 0, 0, 0] [1, 1, 5, 4] [1, 1, 1, 1] : tensor<1x1x6x4xf32> to tensor<1x1x5x4xf32>
  // expected-error @below {{mixes positions outside attention: 'tensor.insert_slice' writes some of the positions}}
  %shifted = tensor.insert_slice %some into %zero[0, 0, 1, 0] [1, 1, 5, 4] [1, 1, 1, 1] : tensor<1x1x5x4xf32> into tensor<1x1x6x4xf32>
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %q = linalg.exp ins(%shifted : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %o = ring.attention %q, %q, %q : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  return %o : tensor<1x1x6x4xf32>
}

// -----

func.func @first(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x1x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'tensor.extract_slice' takes some of the positions}}
  %p = tensor.extract_slice %o[0, 0, 0, 0] [1, 1, 1, 4] [1, 1, 1, 1] : tensor<1x1x6x4xf32> to tensor<1x1x1x4xf32>
  return %p : tensor<1x1x1x4xf32>
}

// -----

func.func @longer(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x12x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'tensor.concat' concatenates along the sequence}}
  %p = tensor.concat dim(2) %o, %o : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x12x4xf32>
  return %p : tensor<1x1x12x4xf32>
}

// -----

func.func @padded(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x7x4xf32> {
  %zero = arith.constant 0.0 : f32
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'tensor.pad' pads the sequence}}
  %p = tensor.pad %o low[0, 0, 1, 0] high[0, 0, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x1x6x4xf32> to tensor<1x1x7x4xf32>
  return %p : tensor<1x1x7x4xf32>
}

// -----

func.func @pairs(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x3x2x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'tensor.expand_shape' takes the sequence apart}}
  %p = tensor.expand_shape %o [[0], [1], [2, 3], [4]] output_shape [1, 1, 3, 2, 4] : tensor<1x1x6x4xf32> into tensor<1x1x3x2x4xf32>
  return %p : tensor<1x1x3x2x4xf32>
}

// -----

// Rows with rows: another attention that nobody recognised.
func.func @product(%x: tensor<1x6x4xf32>) -> tensor<1x6x6xf32> {
  %q = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [1, 1, 6, 4] : tensor<1x6x4xf32> into tensor<1x1x6x4xf32>
  %o = ring.attention %q, %q, %q : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %c = tensor.collapse_shape %o [[0, 1], [2], [3]] : tensor<1x1x6x4xf32> into tensor<1x6x4xf32>
  %te = tensor.empty() : tensor<1x4x6xf32>
  %t = linalg.transpose ins(%c : tensor<1x6x4xf32>) outs(%te : tensor<1x4x6xf32>) permutation = [0, 2, 1]
  %s = arith.constant dense<0.0> : tensor<1x6x6xf32>
  // expected-error @below {{mixes positions outside attention: 'linalg.batch_matmul' needs all positions of an operand}}
  %p = linalg.batch_matmul ins(%c, %t : tensor<1x6x4xf32>, tensor<1x4x6xf32>) outs(%s : tensor<1x6x6xf32>) -> tensor<1x6x6xf32>
  return %p : tensor<1x6x6xf32>
}

// -----

// A neighbour's value, as in a convolution.
func.func @neighbours(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x5x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %w = tensor.empty() : tensor<2xf32>
  %s = arith.constant dense<0.0> : tensor<1x1x5x4xf32>
  // expected-error @below {{mixes positions outside attention: 'linalg.generic' reads other positions}}
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2 + d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%o, %w : tensor<1x1x6x4xf32>, tensor<2xf32>) outs(%s : tensor<1x1x5x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %t = arith.addf %a, %out : f32
    linalg.yield %t : f32
  } -> tensor<1x1x5x4xf32>
  return %p : tensor<1x1x5x4xf32>
}

// -----

// Its own position, and two of a tensor that every rank would have whole.
func.func @beside(%x: tensor<1x1x6x4xf32>, %w: tensor<7xf32>) -> tensor<1x1x6x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %two = tensor.empty() : tensor<2xf32>
  %s = arith.constant dense<0.0> : tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'linalg.generic' reads other positions}}
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d2 + d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%o, %w, %two : tensor<1x1x6x4xf32>, tensor<7xf32>, tensor<2xf32>) outs(%s : tensor<1x1x6x4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    %t = arith.addf %m, %out : f32
    linalg.yield %t : f32
  } -> tensor<1x1x6x4xf32>
  return %p : tensor<1x1x6x4xf32>
}

// -----

// Position by position, but with another position of the same tensor.
func.func @looks(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'linalg.generic' looks up other positions}}
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %zero = arith.constant 0 : index
    %first = tensor.extract %o[%zero, %zero, %zero, %zero] : tensor<1x1x6x4xf32>
    %t = arith.subf %a, %first : f32
    linalg.yield %t : f32
  } -> tensor<1x1x6x4xf32>
  return %p : tensor<1x1x6x4xf32>
}

// -----

// Padding holds zeros: a division by it would end the program.
func.func @divides(%x: tensor<1x1x6x4xf32>, %n: tensor<6xi32>) -> tensor<1x1x6x4xi32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %e = tensor.empty() : tensor<1x1x6x4xi32>
  // expected-error @below {{mixes positions outside attention: 'linalg.generic' divides integers by data}}
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o, %n : tensor<1x1x6x4xf32>, tensor<6xi32>) outs(%e : tensor<1x1x6x4xi32>) {
  ^bb0(%a: f32, %b: i32, %out: i32):
    %c = arith.fptosi %a : f32 to i32
    %t = arith.divsi %c, %b : i32
    linalg.yield %t : i32
  } -> tensor<1x1x6x4xi32>
  return %p : tensor<1x1x6x4xi32>
}

// -----

func.func private @print(f32)
func.func @effect(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'linalg.generic' has 'func.call' inside}}
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) {
  ^bb0(%a: f32, %out: f32):
    func.call @print(%a) : (f32) -> ()
    linalg.yield %a : f32
  } -> tensor<1x1x6x4xf32>
  return %p : tensor<1x1x6x4xf32>
}

// -----

// The mean of all values, for rows that see nothing.
func.func @mean(%x: tensor<1x1x6x4xf32>, %n: tensor<1xi32>) -> tensor<1x1x6x4xf32> {
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %a = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %q = linalg.exp ins(%a : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'linalg.generic' reduces along the sequence}}
  %o = ring.attention %q, %q, %q lengths(%n) empty_rows(uniform) : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1xi32>) -> tensor<1x1x6x4xf32>
  return %o : tensor<1x1x6x4xf32>
}

// -----

func.func @unknown(%x: tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32> {
  %o = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  // expected-error @below {{mixes positions outside attention: 'linalg.softmax' is not known to work position by position}}
  %p = linalg.softmax dimension(2) ins(%o : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  return %p : tensor<1x1x6x4xf32>
}


// -----

// Encoder and decoder: the queries of one are not the other's.
// CHECK-LABEL: func.func @decoder(
// CHECK:         call @decoder_rank(
// CHECK:         linalg.exp
// CHECK:         call @decoder_rank_0(
func.func @decoder(%x: tensor<1x1x6x4xf32>, %y: tensor<1x1x10x4xf32>) -> tensor<1x1x10x4xf32> {
  %a = ring.attention %x, %x, %x : (tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %e = tensor.empty() : tensor<1x1x6x4xf32>
  %m = linalg.exp ins(%a : tensor<1x1x6x4xf32>) outs(%e : tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  // expected-error @below {{feature 'queries of several sequences' is not supported by ring-shard-function}}
  %o = ring.attention %y, %m, %m : (tensor<1x1x10x4xf32>, tensor<1x1x6x4xf32>, tensor<1x1x6x4xf32>) -> tensor<1x1x10x4xf32>
  return %o : tensor<1x1x10x4xf32>
}
