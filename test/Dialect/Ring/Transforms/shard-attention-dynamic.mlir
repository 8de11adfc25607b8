// RUN: ring-opt %s --ring-shard-attention=ranks=4 --split-input-file | FileCheck %s

// Sizes that are known at run time only: the host computes the tables, checks
// what the verifier checks where sizes are static, and gathers as much as there
// is.

func.func @sequence(%q: tensor<1x4x?x8xf32>, %k: tensor<1x2x?x8xf32>, %v: tensor<1x2x?x6xf32>) -> (tensor<1x4x?x6xf32>, tensor<1x4x?xf32>) {
  %o, %lse = ring.attention %q, %k, %v mask(<causal, align = bottom_right>)
    : (tensor<1x4x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x6xf32>) -> (tensor<1x4x?x6xf32>, tensor<1x4x?xf32>)
  return %o, %lse : tensor<1x4x?x6xf32>, tensor<1x4x?xf32>
}
// CHECK-LABEL: func.func @sequence(
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<1x4x?x8xf32>, %[[K:[^:]*]]: tensor<1x2x?x8xf32>, %[[V:[^:]*]]: tensor<1x2x?x6xf32>)
// CHECK:         %[[VN:.*]] = tensor.dim %[[V]], %{{c2.*}} :
// CHECK:         %[[KN:.*]] = tensor.dim %[[K]], %{{c2.*}} :
// CHECK:         ring.require_equal %[[VN]], %[[KN]] "{{.*}}shard-attention-dynamic.mlir:8:14: sequence length of value and key"
// CHECK-NOT:     ring.require_equal
// CHECK:         %[[SQ:.*]] = tensor.dim %[[Q]], %{{c2.*}} :
// CHECK:         %[[SK:.*]] = tensor.dim %[[K]], %{{c2.*}} :
// CHECK:         %[[ENTRIES:.*]] = arith.constant 4 : index
// CHECK:         %[[A:.*]] = tensor.empty(%[[ENTRIES]]) : tensor<?x5xi64>
// CHECK:         %[[B:.*]] = tensor.empty(%[[ENTRIES]]) : tensor<?x5xi64>
// CHECK:         %[[T:.*]]:2 = ring.tables <contiguous> ranks 4 sizes(%[[SQ]], %[[SK]]) mask(<causal, align = bottom_right>) outs(%[[A]], %[[B]])
// CHECK:         %[[QL:.*]] = ring.scatter %[[Q]] by %[[T]]#0 dim 2
// CHECK:         %[[KL:.*]] = ring.scatter %[[K]] by %[[T]]#1 dim 2
// CHECK:         %[[VL:.*]] = ring.scatter %[[V]] by %[[T]]#1 dim 2
// CHECK:         %[[L:.*]]:2 = call @sequence_rank(%[[QL]], %[[KL]], %[[VL]], %[[T]]#0, %[[T]]#1)
// CHECK:         %[[N0:.*]] = tensor.dim %[[Q]], %{{c2.*}} :
// CHECK:         ring.gather %[[L]]#0 by %[[T]]#0 dim 2 sizes(%[[N0]]) on @ring axis 0 : {{.*}} -> tensor<1x4x?x6xf32>
// CHECK:         %[[N1:.*]] = tensor.dim %[[Q]], %{{c2.*}} :
// CHECK:         ring.gather %[[L]]#1 by %[[T]]#0 dim 2 sizes(%[[N1]]) on @ring axis 0 : {{.*}} -> tensor<1x4x?xf32>
// CHECK-LABEL: func.func private @sequence_rank(
// CHECK-SAME:    %[[TQ:[^:]*]]: tensor<?x5xi64>, %[[TK:[^:]*]]: tensor<?x5xi64>) -> (tensor<1x4x?x6xf32>, tensor<1x4x?xf32>)
// CHECK-NOT:     arith.constant dense
// CHECK:         ring.slices at(%{{.*}}, %{{.*}} in %[[TQ]], %[[TK]]) mask(<causal, align = bottom_right>) whole

// -----

// A dynamic batch with static lengths: tables are constants, and the gather has
// the batch of the query.
func.func @batch(%x: tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32> {
  %o = ring.attention %x, %x, %x : (tensor<?x4x8x8xf32>, tensor<?x4x8x8xf32>, tensor<?x4x8x8xf32>) -> tensor<?x4x8x8xf32>
  return %o : tensor<?x4x8x8xf32>
}
// CHECK-LABEL: func.func @batch(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x4x8x8xf32>)
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: batch of key and query"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: batch of value and query"
// CHECK-NOT:     ring.require_equal
// CHECK-NOT:     ring.tables
// CHECK:         %[[T:.*]] = arith.constant dense<{{.*}}> : tensor<4x5xi64>
// CHECK:         %[[B:.*]] = tensor.dim %[[X]], %{{c0.*}} :
// CHECK:         ring.gather %{{.*}} by %[[T]] dim 2 sizes(%[[B]]) on @ring axis 0 : tensor<?x4x?x8xf32>, {{.*}} -> tensor<?x4x8x8xf32>
// CHECK-LABEL: func.func private @batch_rank(
// CHECK:         %[[B:.*]] = tensor.dim %{{.*}}, %{{c0.*}} :
// CHECK:         %[[N:.*]] = tensor.dim %{{.*}}, %{{c2.*}} :
// CHECK:         tensor.empty(%[[B]], %[[N]]) : tensor<?x4x?x8xf32>

// -----

// One dynamic length is enough for both tables to be computed.
func.func @keys(%q: tensor<1x4x8x8xf32>, %k: tensor<1x4x?x8xf32>) -> tensor<1x4x8x8xf32> {
  %o = ring.attention %q, %k, %k : (tensor<1x4x8x8xf32>, tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>) -> tensor<1x4x8x8xf32>
  return %o : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: func.func @keys(
// CHECK:         %[[T:.*]]:2 = ring.tables <contiguous> ranks 4
// CHECK:         ring.gather %{{.*}} by %[[T]]#0 dim 2 on @ring axis 0 : {{.*}} -> tensor<1x4x8x8xf32>

// -----

// Every size that has to agree with another, with what it is called; a static
// size is compared as a constant.
func.func @requirements(%q: tensor<?x4x?x8xf32>, %k: tensor<?x2x?x8xf32>, %v: tensor<2x2x?x6xf32>, %b: tensor<?x?x?x?xf32>,
                        %sq: tensor<?x?xi32>, %sk: tensor<2x12xi32>, %n: tensor<?xi32>, %o: tensor<?xi32>, %s: tensor<?xf32>) -> tensor<2x4x?x6xf32> {
  %r = ring.attention %q, %k, %v bias(%b) segments(%sq, %sk) lengths(%n) offsets(%o) sinks(%s) mask(<causal>)
    : (tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>, tensor<2x2x?x6xf32>, tensor<?x?x?x?xf32>, tensor<?x?xi32>, tensor<2x12xi32>, tensor<?xi32>, tensor<?xi32>, tensor<?xf32>)
    -> tensor<2x4x?x6xf32>
  return %r : tensor<2x4x?x6xf32>
}
// CHECK-LABEL: func.func @requirements(
// CHECK:         %[[KB:.*]] = tensor.dim %arg1, %{{c0.*}} :
// CHECK:         %[[QB:.*]] = tensor.dim %arg0, %{{c0.*}} :
// CHECK:         ring.require_equal %[[KB]], %[[QB]] "{{.*}}: batch of key and query"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: batch of value and query"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: sequence length of value and key"
// CHECK:         %[[BB:.*]] = tensor.dim %arg3, %{{c0.*}} :
// CHECK:         ring.require_equal %[[BB]], %{{.*}} "{{.*}}: batch of bias and query"
// CHECK:         %[[BH:.*]] = tensor.dim %arg3, %{{c1.*}} :
// CHECK:         %[[H:.*]] = arith.constant 4 : index
// CHECK:         ring.require_equal %[[BH]], %[[H]] "{{.*}}: heads of bias and query"
// CHECK:         %[[BR:.*]] = tensor.dim %arg3, %{{c2.*}} :
// CHECK:         %[[SQ:.*]] = tensor.dim %arg0, %{{c2.*}} :
// CHECK:         ring.require_equal %[[BR]], %[[SQ]] "{{.*}}: rows of bias and sequence length of query"
// CHECK:         %[[BC:.*]] = tensor.dim %arg3, %{{c3.*}} :
// CHECK:         %[[SK:.*]] = tensor.dim %arg1, %{{c2.*}} :
// CHECK:         ring.require_equal %[[BC]], %[[SK]] "{{.*}}: columns of bias and sequence length of key"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: batch of segments and query"
// CHECK:         %[[IDS:.*]] = tensor.dim %arg4, %{{c1.*}} :
// CHECK:         ring.require_equal %[[IDS]], %{{.*}} "{{.*}}: segments and sequence length of query"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: batch of segments and query"
// CHECK:         %[[IDS:.*]] = tensor.dim %arg5, %{{c1.*}} :
// CHECK:         %[[SK:.*]] = tensor.dim %arg1, %{{c2.*}} :
// CHECK:         ring.require_equal %[[IDS]], %[[SK]] "{{.*}}: segments and sequence length of key"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: lengths and batch of query"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: offsets and batch of query"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: sinks and heads of query"
// CHECK-NOT:     for a mask without align
// CHECK:         %[[QB:.*]] = tensor.dim %arg0, %{{c0.*}} :
// CHECK:         %[[TWO:.*]] = arith.constant 2 : index
// CHECK:         ring.require_equal %[[QB]], %[[TWO]] "{{.*}}: sizes of query and result"
// CHECK-NOT:     ring.require_equal
// CHECK:         ring.tables <contiguous> ranks 4 sizes(%{{.*}}, %{{.*}}) segments(%arg4, %arg5) lengths(%arg6) offsets(%arg7) mask(<causal>) outs(
// CHECK:         call @requirements_rank(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %arg4, %arg5, %arg6, %arg7, %arg8, %[[T:[^#]*]]#0, %[[T]]#1)

// -----

// A mask that depends on positions and says nothing about align: only for equal
// lengths. A bias whose size is a static 1 is broadcast, and need not agree.
func.func @equal_lengths(%q: tensor<?x4x?x8xf32>, %k: tensor<?x4x?x8xf32>, %b: tensor<1x1x1x?xf32>) -> tensor<?x4x?x8xf32> {
  %o = ring.attention %q, %k, %k bias(%b) mask(<causal>) : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<1x1x1x?xf32>) -> tensor<?x4x?x8xf32>
  return %o : tensor<?x4x?x8xf32>
}
// CHECK-LABEL: func.func @equal_lengths(
// CHECK-SAME:    %{{.*}}, %[[B:[^:]*]]: tensor<1x1x1x?xf32>)
// CHECK-NOT:     "{{.*}}: {{batch|heads|rows}} of bias
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: columns of bias and sequence length of key"
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: sequence lengths of query and key, for a mask without align"
// CHECK:         call @equal_lengths_rank(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[B]], %{{.*}}#0, %{{.*}}#1)

// -----

// Without a mask lengths may differ; chunks depend on positions like the rest.
func.func @no_mask(%q: tensor<1x4x?x8xf32>, %k: tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32> {
  %o = ring.attention %q, %k, %k : (tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32>
  return %o : tensor<1x4x?x8xf32>
}
// CHECK-LABEL: func.func @no_mask(
// CHECK-NOT:     for a mask without align
// CHECK-LABEL: func.func private @no_mask_rank(

// -----

func.func @chunks(%q: tensor<1x4x?x8xf32>, %k: tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32> {
  %o = ring.attention %q, %k, %k mask(<chunk = 4>) : (tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32>
  return %o : tensor<1x4x?x8xf32>
}
// CHECK-LABEL: func.func @chunks(
// CHECK:         ring.require_equal %{{.*}}, %{{.*}} "{{.*}}: sequence lengths of query and key, for a mask without align"

// -----

// The mean of empty_rows(uniform) divides by the keys that there are.
func.func @uniform(%q: tensor<?x4x?x8xf32>, %v: tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32> {
  %o = ring.attention %q, %v, %v empty_rows(uniform) : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>) -> tensor<?x4x?x8xf32>
  return %o : tensor<?x4x?x8xf32>
}
// CHECK-LABEL: func.func @uniform(
// CHECK-SAME:    %[[V:[^:]*]]: tensor<?x4x?x8xf32>)
// CHECK:         sequence length of value and key
// CHECK:         %[[N:.*]] = tensor.dim %[[V]], %{{c2.*}} :
// CHECK:         linalg.generic {{.*}} ins(%[[V]] :
// CHECK:         %[[I:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK:         arith.sitofp %[[I]] : i64 to f64
