// torch.einsum with a mask of -inf, exported by torch-mlir.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, 0)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> ()>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x50x2x32xf32>, %arg1: tensor<2x50x2x32xf32>, %arg2: tensor<2x50x2x32xf32>) -> tensor<2x50x2x32xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant dense<true> : tensor<50x50xi1>
    %cst_3 = arith.constant 0.17677669529663689 : f64
    %0 = tensor.empty() : tensor<2x50x2x32xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x50x2x32xf32>) outs(%0 : tensor<2x50x2x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.truncf %cst_3 : f64 to f32
      %33 = arith.mulf %in, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<2x50x2x32xf32>
    %expanded = tensor.expand_shape %1 [[0], [1], [2], [3, 4]] output_shape [2, 50, 2, 32, 1] : tensor<2x50x2x32xf32> into tensor<2x50x2x32x1xf32>
    %expanded_4 = tensor.expand_shape %arg1 [[0], [1], [2], [3, 4]] output_shape [2, 50, 2, 32, 1] : tensor<2x50x2x32xf32> into tensor<2x50x2x32x1xf32>
    %2 = tensor.empty() : tensor<2x2x50x32x1xf32>
    %transposed = linalg.transpose ins(%expanded : tensor<2x50x2x32x1xf32>) outs(%2 : tensor<2x2x50x32x1xf32>) permutation = [0, 2, 1, 3, 4] 
    %collapsed = tensor.collapse_shape %transposed [[0, 1], [2], [3, 4]] : tensor<2x2x50x32x1xf32> into tensor<4x50x32xf32>
    %3 = tensor.empty() : tensor<2x2x32x50x1xf32>
    %transposed_5 = linalg.transpose ins(%expanded_4 : tensor<2x50x2x32x1xf32>) outs(%3 : tensor<2x2x32x50x1xf32>) permutation = [0, 2, 3, 1, 4] 
    %collapsed_6 = tensor.collapse_shape %transposed_5 [[0, 1], [2], [3, 4]] : tensor<2x2x32x50x1xf32> into tensor<4x32x50xf32>
    %4 = tensor.empty() : tensor<4x50x50xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<4x50x50xf32>) -> tensor<4x50x50xf32>
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_6 : tensor<4x50x32xf32>, tensor<4x32x50xf32>) outs(%5 : tensor<4x50x50xf32>) -> tensor<4x50x50xf32>
    %expanded_7 = tensor.expand_shape %6 [[0, 1], [2], [3, 4]] output_shape [2, 2, 50, 1, 50] : tensor<4x50x50xf32> into tensor<2x2x50x1x50xf32>
    %7 = tensor.empty() : tensor<2x2x50x50x1xf32>
    %transposed_8 = linalg.transpose ins(%expanded_7 : tensor<2x2x50x1x50xf32>) outs(%7 : tensor<2x2x50x50x1xf32>) permutation = [0, 1, 2, 4, 3] 
    %collapsed_9 = tensor.collapse_shape %transposed_8 [[0], [1], [2], [3, 4]] : tensor<2x2x50x50x1xf32> into tensor<2x2x50x50xf32>
    %8 = tensor.empty() : tensor<50xi64>
    %9 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel"]} outs(%8 : tensor<50xi64>) {
    ^bb0(%out: i64):
      %32 = linalg.index 0 : index
      %33 = arith.index_cast %32 : index to i64
      linalg.yield %33 : i64
    } -> tensor<50xi64>
    %expanded_10 = tensor.expand_shape %9 [[0, 1]] output_shape [1, 50] : tensor<50xi64> into tensor<1x50xi64>
    %expanded_11 = tensor.expand_shape %9 [[0, 1]] output_shape [50, 1] : tensor<50xi64> into tensor<50x1xi64>
    %10 = tensor.empty() : tensor<50x50xi64>
    %11 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%expanded_10, %expanded_11 : tensor<1x50xi64>, tensor<50x1xi64>) outs(%10 : tensor<50x50xi64>) {
    ^bb0(%in: i64, %in_20: i64, %out: i64):
      %32 = arith.subi %in, %in_20 : i64
      linalg.yield %32 : i64
    } -> tensor<50x50xi64>
    %12 = tensor.empty() : tensor<50x50xi1>
    %13 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%11 : tensor<50x50xi64>) outs(%12 : tensor<50x50xi1>) {
    ^bb0(%in: i64, %out: i1):
      %32 = arith.cmpi sle, %in, %c0_i64 : i64
      linalg.yield %32 : i1
    } -> tensor<50x50xi1>
    %14 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%13, %cst_2 : tensor<50x50xi1>, tensor<50x50xi1>) outs(%12 : tensor<50x50xi1>) {
    ^bb0(%in: i1, %in_20: i1, %out: i1):
      %32 = arith.andi %in, %in_20 : i1
      linalg.yield %32 : i1
    } -> tensor<50x50xi1>
    %15 = tensor.empty() : tensor<2x2x50x50xf32>
    %16 = linalg.generic {indexing_maps = [#map5, #map, #map6, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %collapsed_9, %cst_1 : tensor<50x50xi1>, tensor<2x2x50x50xf32>, tensor<f32>) outs(%15 : tensor<2x2x50x50xf32>) {
    ^bb0(%in: i1, %in_20: f32, %in_21: f32, %out: f32):
      %32 = arith.select %in, %in_20, %in_21 : f32
      linalg.yield %32 : f32
    } -> tensor<2x2x50x50xf32>
    %17 = tensor.empty() : tensor<2x2x50xi64>
    %18 = linalg.fill ins(%c0_i64 : i64) outs(%17 : tensor<2x2x50xi64>) -> tensor<2x2x50xi64>
    %19 = tensor.empty() : tensor<2x2x50xf32>
    %20 = linalg.fill ins(%cst_0 : f32) outs(%19 : tensor<2x2x50xf32>) -> tensor<2x2x50xf32>
    %21:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x2x50x50xf32>) outs(%20, %18 : tensor<2x2x50xf32>, tensor<2x2x50xi64>) {
    ^bb0(%in: f32, %out: f32, %out_20: i64):
      %32 = linalg.index 3 : index
      %33 = arith.index_cast %32 : index to i64
      %34 = arith.maximumf %in, %out : f32
      %35 = arith.cmpf ogt, %in, %out : f32
      %36 = arith.select %35, %33, %out_20 : i64
      linalg.yield %34, %36 : f32, i64
    } -> (tensor<2x2x50xf32>, tensor<2x2x50xi64>)
    %expanded_12 = tensor.expand_shape %21#0 [[0], [1], [2, 3]] output_shape [2, 2, 50, 1] : tensor<2x2x50xf32> into tensor<2x2x50x1xf32>
    %22 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %expanded_12 : tensor<2x2x50x50xf32>, tensor<2x2x50x1xf32>) outs(%15 : tensor<2x2x50x50xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %32 = arith.subf %in, %in_20 : f32
      linalg.yield %32 : f32
    } -> tensor<2x2x50x50xf32>
    %23 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<2x2x50x50xf32>) outs(%15 : tensor<2x2x50x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.exp %in : f32
      linalg.yield %32 : f32
    } -> tensor<2x2x50x50xf32>
    %24 = tensor.empty() : tensor<2x2x50x1xf32>
    %25 = linalg.fill ins(%cst : f32) outs(%24 : tensor<2x2x50x1xf32>) -> tensor<2x2x50x1xf32>
    %26 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%23 : tensor<2x2x50x50xf32>) outs(%25 : tensor<2x2x50x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.addf %in, %out : f32
      linalg.yield %32 : f32
    } -> tensor<2x2x50x1xf32>
    %27 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %26 : tensor<2x2x50x50xf32>, tensor<2x2x50x1xf32>) outs(%15 : tensor<2x2x50x50xf32>) {
    ^bb0(%in: f32, %in_20: f32, %out: f32):
      %32 = arith.divf %in, %in_20 : f32
      linalg.yield %32 : f32
    } -> tensor<2x2x50x50xf32>
    %expanded_13 = tensor.expand_shape %arg2 [[0], [1], [2], [3, 4]] output_shape [2, 50, 2, 32, 1] : tensor<2x50x2x32xf32> into tensor<2x50x2x32x1xf32>
    %collapsed_14 = tensor.collapse_shape %27 [[0, 1], [2], [3]] : tensor<2x2x50x50xf32> into tensor<4x50x50xf32>
    %transposed_15 = linalg.transpose ins(%expanded_13 : tensor<2x50x2x32x1xf32>) outs(%2 : tensor<2x2x50x32x1xf32>) permutation = [0, 2, 1, 3, 4] 
    %collapsed_16 = tensor.collapse_shape %transposed_15 [[0, 1], [2], [3, 4]] : tensor<2x2x50x32x1xf32> into tensor<4x50x32xf32>
    %28 = tensor.empty() : tensor<4x50x32xf32>
    %29 = linalg.fill ins(%cst : f32) outs(%28 : tensor<4x50x32xf32>) -> tensor<4x50x32xf32>
    %30 = linalg.batch_matmul ins(%collapsed_14, %collapsed_16 : tensor<4x50x50xf32>, tensor<4x50x32xf32>) outs(%29 : tensor<4x50x32xf32>) -> tensor<4x50x32xf32>
    %expanded_17 = tensor.expand_shape %30 [[0, 1], [2], [3, 4]] output_shape [2, 2, 50, 1, 32] : tensor<4x50x32xf32> into tensor<2x2x50x1x32xf32>
    %31 = tensor.empty() : tensor<2x50x2x32x1xf32>
    %transposed_18 = linalg.transpose ins(%expanded_17 : tensor<2x2x50x1x32xf32>) outs(%31 : tensor<2x50x2x32x1xf32>) permutation = [0, 2, 1, 4, 3] 
    %collapsed_19 = tensor.collapse_shape %transposed_18 [[0], [1], [2], [3, 4]] : tensor<2x50x2x32x1xf32> into tensor<2x50x2x32xf32>
    return %collapsed_19 : tensor<2x50x2x32xf32>
  }
}
