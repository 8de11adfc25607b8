// RUN: split-file %s %t
// DEFINE: %{check} = FileCheck %s --implicit-check-not="= ring." --implicit-check-not=shard. --check-prefix

// Where the ring follows the ranks, neighbours are arithmetic: from the one
// before, to the one after, that is N - 1 before.
// RUN: ring-opt %t/plain.mlir --convert-ring-to-llvm | %{check} PLAIN --implicit-check-not=@ring_order
// PLAIN:      %[[OWNER:.*]] = arith.remui %{{.*}}, %{{.*}} : i64
// PLAIN:      %[[ONE:.*]] = arith.constant 1 : i64
// PLAIN:      arith.subi %{{.*}}, %[[ONE]] : i64
// PLAIN:      %[[FROM64:.*]] = arith.remui
// PLAIN:      %[[FROM:.*]] = arith.trunci %[[FROM64]] : i64 to i32
// PLAIN:      %[[THREE:.*]] = arith.constant 3 : i64
// PLAIN:      arith.subi %{{.*}}, %[[THREE]] : i64
// PLAIN:      %[[TO64:.*]] = arith.remui
// PLAIN:      %[[TO:.*]] = arith.trunci %[[TO64]] : i64 to i32
// PLAIN:      call @ring_permute_start(%{{.*}}, %[[TO]], %[[FROM]],

// In another order: the place of each rank, then the rank at each place, from
// rank 0 on (3, 1, 0, 2 is the ring 0, 2, 3, 1).
// RUN: sed -e 's/(shape = 4)/(shape = 4) {ring.order = [3, 1, 0, 2]}/' %t/plain.mlir | ring-opt --convert-ring-to-llvm | %{check} ORDER
// ORDER:      llvm.mlir.global internal constant @ring_order_ring_0(dense<[0, 3, 1, 2, 0, 2, 3, 1]> : tensor<8xi64>)
// ORDER-NOT:  @ring_order
// ORDER:      llvm.mlir.addressof @ring_order_ring_0
// ORDER:      call @ring_permute_start

// The identity, spelt out, is none.
// RUN: sed -e 's/(shape = 4)/(shape = 4) {ring.order = [0, 1, 2, 3]}/' %t/plain.mlir | ring-opt --convert-ring-to-llvm | %{check} PLAIN --implicit-check-not=@ring_order

//--- plain.mlir
!k = memref<1x1x?x4xf32, strided<[?, ?, ?, ?], offset: ?>>
shard.grid @ring(shape = 4)
func.func private @r(%k: !k, %round: index, %x: memref<?xindex>) attributes {ring.rank_of = @f} {
  %owner = ring.owner %round on @ring axis 0
  memref.store %owner, %x[%round] : memref<?xindex>
  %f = ring.permute_start %k on @ring axis 0 : !k
  %k1 = ring.permute_wait %f : !ring.future<!k>
  return
}
