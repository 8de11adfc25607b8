// RUN: split-file %s %t
// DEFINE: %{distance} = 1
// DEFINE: %{form4} = ring-opt %t/full.mlir --ring-shard-attention=ranks=4 --ring-classify-blocks --ring-pipeline-rounds=prefetch-distance=%{distance} --cse
// DEFINE: %{bufferize} = %{form4} --ring-bufferize-transfers
// DEFINE: %{check} = FileCheck %s --implicit-check-not="permute_start{{.*}}tensor<" --implicit-check-not="ring.future<tensor" --check-prefix

// What travels is a memref: the rank's own block when it is sent first, then
// what arrived. Computation sees a tensor without a copy.
// RUN: %{bufferize} | %{check} D1
// D1-LABEL: func.func private @full_rank(
// D1-SAME:    %[[Q:[^:]*]]: tensor<2x2x?x8xf32>, %[[K:[^:]*]]: tensor<2x1x?x8xf32>, %[[V:[^:]*]]: tensor<2x1x?x4xf32>)
// D1-SAME:    ring.fingerprint = {{-?[0-9]+}} : i64
// D1-SAME:    ring.program = "4 ranks; layout #ring.layout<contiguous>; 12 queries; 12 keys; mask none; (tensor<2x2x?x8xf32>, tensor<2x1x?x8xf32>, tensor<2x1x?x4xf32>) -> tensor<2x2x?x4xf32>"
// D1-DAG:     %[[K0:.*]] = bufferization.to_buffer %[[K]] read_only : tensor<2x1x?x8xf32> to memref<2x1x?x8xf32, strided<[?, ?, ?, ?], offset: ?>>
// D1-DAG:     %[[V0:.*]] = bufferization.to_buffer %[[V]] read_only
// D1:         %[[F:.*]] = ring.permute_start %[[K0]], %[[V0]] on @ring axis 0
// D1:         %[[L:.*]]:6 = scf.for {{.*}}, %[[KB:[^ ]*]] = %{{[^ ]*}}, %[[VB:[^ ]*]] = %{{[^ ]*}}, %[[FB:[^ ]*]] = %[[F]])
// D1-SAME:      -> (tensor<2x2x?x4xf32>, tensor<2x2x?xf32>, tensor<2x2x?xf32>, memref<2x1x?x8xf32, {{.*}}>, memref<2x1x?x4xf32, {{.*}}>, !ring.future<memref<
// D1:           %[[KT:.*]] = bufferization.to_tensor %[[KB]] restrict :
// D1:           %[[VT:.*]] = bufferization.to_tensor %[[VB]] restrict :
// D1:           ring.online_attention %[[Q]], %[[KT]], %[[VT]]
// D1:           %[[B:.*]]:2 = ring.permute_wait %[[FB]]
// D1:           ring.permute_start %[[B]]#0, %[[B]]#1 on @ring axis 0
// D1:         %[[KT:.*]] = bufferization.to_tensor %[[L]]#3 restrict
// D1:         %[[VT:.*]] = bufferization.to_tensor %[[L]]#4 restrict
// D1:         ring.online_attention %[[Q]], %[[KT]], %[[VT]]
// D1:         %[[B:.*]]:2 = ring.permute_wait %[[L]]#5
// D1:         %[[KT:.*]] = bufferization.to_tensor %[[B]]#0 restrict
// D1:         %[[VT:.*]] = bufferization.to_tensor %[[B]]#1 restrict
// D1:         ring.online_attention %[[Q]], %[[KT]], %[[VT]]

// A transfer of a future stays one.
// REDEFINE: %{distance} = 2
// RUN: %{bufferize} | %{check} D2
// D2: %[[F:.*]] = ring.permute_start %{{.*}}, %{{.*}} on @ring axis 0 : memref
// D2: ring.permute_start %[[F]] on @ring axis 0 : !ring.future<memref

// Forms 1 to 3, where branches carry the blocks.
// RUN: ring-opt %t/full.mlir --ring-shard-attention=ranks=4 --ring-bufferize-transfers | %{check} BRANCH
// BRANCH: scf.for {{.*}}, %[[KB:[^ ]*]] = %{{[^ ]*}}, %[[VB:[^ ]*]] = %{{[^ ]*}})
// BRANCH:   scf.if %{{.*}} -> (memref<2x1x?x8xf32, {{.*}}>, memref<2x1x?x4xf32, {{.*}}>)
// BRANCH:     ring.permute_start %[[KB]], %[[VB]]
// BRANCH:     %[[B:.*]]:2 = ring.permute_wait
// BRANCH:     scf.yield %[[B]]#0, %[[B]]#1
// BRANCH:   } else {
// BRANCH:     scf.yield %[[KB]], %[[VB]] : memref

// No transfer: nothing to do but to say who fits whom.
// RUN: ring-opt %t/full.mlir --ring-shard-attention=ranks=1 --ring-classify-blocks --ring-pipeline-rounds --ring-bufferize-transfers | FileCheck %s --check-prefix=ONE --implicit-check-not=memref
// ONE: ring.fingerprint = {{-?[0-9]+}} : i64

// A second time changes nothing.
// RUN: %{bufferize} -o %t.once
// RUN: ring-opt --ring-bufferize-transfers %t.once | diff %t.once -

//===----------------------------------------------------------------------===//
// Fingerprints
//===----------------------------------------------------------------------===//

// The same program has the same one; any other, in shapes, layout, mask, number
// of ranks or schedule, has another.
// RUN: %{bufferize} | grep -o 'ring.fingerprint = [-0-9]*' > %t.prints
// RUN: %{bufferize} | grep -o 'ring.fingerprint = [-0-9]*' | diff %t.prints -
// REDEFINE: %{distance} = 1
// RUN: %{bufferize} | grep -o 'ring.fingerprint = [-0-9]*' >> %t.prints
// RUN: ring-opt %t/full.mlir --ring-shard-attention=ranks=3 --ring-bufferize-transfers | grep -o 'ring.fingerprint = [-0-9]*' >> %t.prints
// RUN: ring-opt %t/full.mlir --ring-shard-attention=ranks=4 --ring-bufferize-transfers | grep -o 'ring.fingerprint = [-0-9]*' >> %t.prints
// RUN: ring-opt %t/full.mlir --ring-shard-attention=ranks=4 --ring-apply-layout --ring-bufferize-transfers | grep -o 'ring.fingerprint = [-0-9]*' >> %t.prints
// RUN: sed -e 's/: (tensor/mask(<causal>) : (tensor/' %t/full.mlir | ring-opt --ring-shard-attention=ranks=4 --ring-bufferize-transfers | grep -o 'ring.fingerprint = [-0-9]*' >> %t.prints
// RUN: sed -e 's/x12x/x13x/g' %t/full.mlir | ring-opt --ring-shard-attention=ranks=4 --ring-bufferize-transfers | grep -o 'ring.fingerprint = [-0-9]*' >> %t.prints
// RUN: sort -u %t.prints | count 7

// A table that nobody has checked may be longer than any sequence.
// RUN: ring-opt %t/long.mlir --ring-bufferize-transfers | FileCheck %s --check-prefix=LONG
// LONG: ring.program = "3 ranks; too many queries; 8 keys; mask none; () -> ()"

//--- full.mlir
func.func @full(%q: tensor<2x2x12x8xf32>, %k: tensor<2x1x12x8xf32>, %v: tensor<2x1x12x4xf32>) -> tensor<2x2x12x4xf32> {
  %o = ring.attention %q, %k, %v : (tensor<2x2x12x8xf32>, tensor<2x1x12x8xf32>, tensor<2x1x12x4xf32>) -> tensor<2x2x12x4xf32>
  return %o : tensor<2x2x12x4xf32>
}

//--- long.mlir
shard.grid @ring(shape = 3)
func.func private @rank() attributes {ring.rank_of = @f} {
  %queries = arith.constant dense<[[0, 8, 2, 2, 4], [1, 2, 2, 2, 9223372036854775807]]> : tensor<2x5xi64>
  %keys = arith.constant dense<[[0, 0, 8, 8, 1]]> : tensor<1x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %slices = ring.slices at(%rank, %owner in %queries, %keys) whole : tensor<2x5xi64>, tensor<1x5xi64>
  return
}
