// RUN: ring-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @what_is_equal_goes
func.func @what_is_equal_goes(%a: index) {
  %c4 = arith.constant 4 : index
  %other = arith.constant 4 : index
  // CHECK-NEXT: return
  ring.require_equal %a, %a "the same value"
  ring.require_equal %c4, %other "equal constants"
  return
}

// CHECK-LABEL: @what_may_differ_stays
// CHECK-SAME:    %[[A:[^:]*]]: index, %[[B:[^:]*]]: index)
func.func @what_may_differ_stays(%a: index, %b: index) {
  // CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
  // CHECK-DAG: %[[C5:.*]] = arith.constant 5 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  // CHECK:      ring.require_equal %[[A]], %[[B]] "two values"
  // CHECK-NEXT: ring.require_equal %[[A]], %[[C4]] "a value and a constant"
  // CHECK-NEXT: ring.require_equal %[[C4]], %[[C5]] "constants that differ"
  ring.require_equal %a, %b "two values"
  ring.require_equal %a, %c4 "a value and a constant"
  ring.require_equal %c4, %c5 "constants that differ"
  // CHECK-NEXT: return
  return
}
