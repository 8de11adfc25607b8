// RUN: ring-opt %s | ring-opt | FileCheck %s
// RUN: ring-opt %s --mlir-print-op-generic | ring-opt | FileCheck %s
// RUN: ring-opt %s --emit-bytecode | ring-opt | FileCheck %s

// CHECK: shard.grid @ring(shape = 4x2) {ring.order = [0, 2, 3, 1]}
shard.grid @ring(shape = 4x2) {ring.order = [0, 2, 3, 1]}

// CHECK-LABEL: @owner
func.func @owner(%round: index) {
  // CHECK: ring.owner %{{.*}} on @ring axis 0
  %first = ring.owner %round on @ring axis 0
  // CHECK: ring.owner %{{.*}} on @ring axis 1 {note = "kept"}
  %second = ring.owner %round on @ring axis 1 {note = "kept"}
  return
}
