// RUN: split-file %s %t
// DEFINE: %{layout} = ring-opt --ring-apply-layout
// DEFINE: %{check} = FileCheck %s --check-prefix

// Attentions that a local function calls have one table for each sequence: what
// a rank has of one it gives to the next. Here a window, causal attention and
// one with keys of another sequence.

//===----------------------------------------------------------------------===//
// Every layout
//===----------------------------------------------------------------------===//

// RUN: %{layout}=layout=zigzag %t/local.mlir | %{check} ZIGZAG
// ZIGZAG-LABEL: func.func @f(
// ZIGZAG-DAG:     %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 3, 3, 1], [0, 9, 3, 3, 1], [1, 3, 6, 6, 1]]>
// ZIGZAG-DAG:     %[[Y:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 2, 1], [0, 6, 2, 2, 1], [1, 2, 4, 4, 1]]>
// ZIGZAG-NOT:     arith.constant
// ZIGZAG:         ring.scatter %arg0 by %[[X]] dim 2
// ZIGZAG:         ring.scatter %arg1 by %[[Y]] dim 2
// ZIGZAG:         ring.gather %{{.*}}#0 by %[[X]] dim 2
// ZIGZAG:         ring.gather %{{.*}}#1 by %[[X]] dim 2
// ZIGZAG-LABEL: func.func private @window(
// ZIGZAG-SAME:    ring.layout = #ring.layout<zigzag>
// ZIGZAG:         %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 3, 3, 1], [0, 9, 3, 3, 1], [1, 3, 6, 6, 1]]>
// ZIGZAG-NOT:     arith.constant dense
// ZIGZAG:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[X]])
// ZIGZAG-LABEL: func.func private @causal(
// ZIGZAG-SAME:    ring.layout = #ring.layout<zigzag>
// ZIGZAG:         %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 3, 3, 1], [0, 9, 3, 3, 1], [1, 3, 6, 6, 1]]>
// ZIGZAG:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[X]])
// ZIGZAG-LABEL: func.func private @cross(
// ZIGZAG-SAME:    ring.layout = #ring.layout<zigzag>
// ZIGZAG-DAG:     %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 3, 3, 1], [0, 9, 3, 3, 1], [1, 3, 6, 6, 1]]>
// ZIGZAG-DAG:     %[[Y:.*]] = arith.constant dense<{{\[\[}}0, 0, 2, 2, 1], [0, 6, 2, 2, 1], [1, 2, 4, 4, 1]]>
// ZIGZAG:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[Y]])

// RUN: %{layout}=layout=striped %t/local.mlir | %{check} STRIPED
// STRIPED-LABEL: func.func @f(
// STRIPED-DAG:     %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 1, 2, 6], [1, 1, 1, 2, 6]]>
// STRIPED-DAG:     %[[Y:.*]] = arith.constant dense<{{\[\[}}0, 0, 1, 2, 4], [1, 1, 1, 2, 4]]>
// STRIPED-NOT:     arith.constant
// STRIPED:         ring.scatter %arg0 by %[[X]] dim 2
// STRIPED:         ring.scatter %arg1 by %[[Y]] dim 2
// STRIPED:         ring.gather %{{.*}}#0 by %[[X]] dim 2
// STRIPED:         ring.gather %{{.*}}#1 by %[[X]] dim 2
// STRIPED-LABEL: func.func private @window(
// STRIPED-SAME:    ring.layout = #ring.layout<striped>
// STRIPED:         %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 1, 2, 6], [1, 1, 1, 2, 6]]>
// STRIPED-NOT:     arith.constant dense
// STRIPED:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[X]])
// STRIPED-LABEL: func.func private @causal(
// STRIPED-SAME:    ring.layout = #ring.layout<striped>
// STRIPED:         %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 1, 2, 6], [1, 1, 1, 2, 6]]>
// STRIPED:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[X]])
// STRIPED-LABEL: func.func private @cross(
// STRIPED-SAME:    ring.layout = #ring.layout<striped>
// STRIPED-DAG:     %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 1, 2, 6], [1, 1, 1, 2, 6]]>
// STRIPED-DAG:     %[[Y:.*]] = arith.constant dense<{{\[\[}}0, 0, 1, 2, 4], [1, 1, 1, 2, 4]]>
// STRIPED:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[Y]])

// RUN: %{layout}=layout=striped:4 %t/local.mlir | %{check} STRIPED4
// STRIPED4-LABEL: func.func @f(
// STRIPED4-DAG:     %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 4, 8, 2], [1, 4, 4, 4, 1]]>
// STRIPED4-DAG:     %[[Y:.*]] = arith.constant dense<{{\[\[}}0, 0, 4, 4, 1], [1, 4, 4, 4, 1]]>
// STRIPED4-NOT:     arith.constant
// STRIPED4:         ring.scatter %arg0 by %[[X]] dim 2
// STRIPED4:         ring.scatter %arg1 by %[[Y]] dim 2
// STRIPED4:         ring.gather %{{.*}}#0 by %[[X]] dim 2
// STRIPED4:         ring.gather %{{.*}}#1 by %[[X]] dim 2
// STRIPED4-LABEL: func.func private @window(
// STRIPED4-SAME:    ring.layout = #ring.layout<striped, 4>
// STRIPED4:         %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 4, 8, 2], [1, 4, 4, 4, 1]]>
// STRIPED4-NOT:     arith.constant dense
// STRIPED4:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[X]])
// STRIPED4-LABEL: func.func private @causal(
// STRIPED4-SAME:    ring.layout = #ring.layout<striped, 4>
// STRIPED4:         %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 4, 8, 2], [1, 4, 4, 4, 1]]>
// STRIPED4:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[X]])
// STRIPED4-LABEL: func.func private @cross(
// STRIPED4-SAME:    ring.layout = #ring.layout<striped, 4>
// STRIPED4-DAG:     %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 4, 8, 2], [1, 4, 4, 4, 1]]>
// STRIPED4-DAG:     %[[Y:.*]] = arith.constant dense<{{\[\[}}0, 0, 4, 4, 1], [1, 4, 4, 4, 1]]>
// STRIPED4:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[Y]])

// They are right, there is nothing to do twice, and any layout becomes any other.
// RUN: ring-opt %t/model.mlir --ring-shard-attention=ranks=2 --ring-shard-function -o %t.form1
// RUN: grep -c 'ring.local' %t.form1 | %{check} MODEL
// MODEL: {{^}}1{{$}}
// RUN: %{layout}=layout=zigzag %t.form1 -o %t.zigzag
// RUN: ring-opt --ring-verify-schedule %t.zigzag -o /dev/null
// RUN: %{layout}=layout=zigzag %t.zigzag | diff %t.zigzag -
// RUN: %{layout}=layout=balanced %t.zigzag -o %t.balanced
// RUN: ring-opt --ring-verify-schedule %t.balanced -o /dev/null
// RUN: %{layout}=layout=zigzag %t.balanced | diff %t.zigzag -
// One of the attentions may be laid out so already.
// RUN: sed 's/@window(\(.*\)layout<contiguous>/@window(\1layout<zigzag>/' %t/local.mlir | %{layout}=layout=zigzag | %{check} ZIGZAG

//===----------------------------------------------------------------------===//
// Who decides
//===----------------------------------------------------------------------===//

// Under `balanced` the one with most visible pairs, of those whose mask hides
// any: neither the window, nor what sees everything, which is even in any
// layout. Were it the window, queries would be dealt out in runs.
// RUN: %{layout}=layout=balanced --remarks-filter=ring-apply-layout %t/decide.mlir -o /dev/null 2>&1 | %{check} EVEN
// EVEN-DAG: Function=causal | balance=1.000000e+00, layout=balanced
// EVEN-DAG: Function=window | balance=1.
// EVEN-DAG: Function=full | balance=1.000000e+00, layout=balanced

//===----------------------------------------------------------------------===//
// What else there is in the module
//===----------------------------------------------------------------------===//

// What another call is given too keeps its table for that one.
// RUN: sed 's,// ALSO: ,,' %t/local.mlir | %{layout} | %{check} ALSO-USED
// ALSO-USED-LABEL: func.func @f(
// ALSO-USED-DAG:     %[[OLD:.*]] = arith.constant dense<{{\[\[}}0, 0, 6, 6, 1], [1, 6, 6, 6, 1]]>
// ALSO-USED-DAG:     %[[NEW:.*]] = arith.constant dense<{{\[\[}}0, 0, 3, 3, 1], [0, 9, 3, 3, 1], [1, 3, 6, 6, 1]]>
// ALSO-USED:         %[[KEPT:.*]] = ring.scatter %arg0 by %[[OLD]]
// ALSO-USED:         %[[OWN:.*]] = ring.scatter %arg0 by %[[NEW]]
// ALSO-USED:         call @local(%[[OWN]],
// ALSO-USED:         call @use(%[[KEPT]])

// A local function that calls one attention twice.
// RUN: sed 's/call @causal/call @window/' %t/local.mlir | %{layout} | %{check} TWICE
// TWICE-LABEL: func.func private @window(
// TWICE-SAME:    ring.layout = #ring.layout<zigzag>
// TWICE:         %[[X:.*]] = arith.constant dense<{{\[\[}}0, 0, 3, 3, 1], [0, 9, 3, 3, 1], [1, 3, 6, 6, 1]]>
// TWICE:         ring.slices at(%{{.*}}, %{{.*}} in %[[X]], %[[X]])

//===----------------------------------------------------------------------===//
// What cannot change
//===----------------------------------------------------------------------===//

// RUN: sed 's,// RETURNED: ,,' %t/local.mlir | not %{layout} -o /dev/null 2>&1 | %{check} UNGATHERED
// UNGATHERED: error: uses a local tensor outside ring.gather
// A table of the host that no attention has.
// RUN: sed -e 's/\[0, 0, 4, 4, 1\], \[1, 4, 4, 4, 1\]/[0, 0, 2, 2, 1], [1, 2, 6, 6, 1]/;t end' -e 'b' -e ':end;n;b end' %t/local.mlir | not %{layout} -o /dev/null 2>&1 | %{check} FOREIGN
// FOREIGN: error: layout table is none of those that the attentions compute with
// RUN: sed 's,// PARTLY: ,,' %t/local.mlir | not %{layout} -o /dev/null 2>&1 | %{check} PARTLY-LOCAL
// PARTLY-LOCAL: error: calls @window, which another function calls too, one of them a local one: they share no layout
// PARTLY-LOCAL: note: the other call is here
// RUN: sed 's/ whole :/ :/' %t/local.mlir | not %{layout} -o /dev/null 2>&1 | %{check} CLASSIFIED
// CLASSIFIED: error: the layout of a program whose blocks have been classified cannot change
// RUN: ring-opt %t.form1 --ring-expand-host | not %{layout} -o /dev/null 2>&1 | %{check} EXPANDED
// EXPANDED: error: the layout of a program whose calls have been expanded cannot change
// The same of a program without a local function.
// RUN: ring-opt %t/model.mlir --ring-shard-attention=ranks=2 --ring-expand-host | not %{layout} -o /dev/null 2>&1 | %{check} EXPANDED
// RUN: not %{layout} %t/argument.mlir -o /dev/null 2>&1 | %{check} ARGUMENT
// ARGUMENT: error: layout tables among local ops are not constant

//--- local.mlir
!x = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func private @use(!x)
func.func @f(%arg0: tensor<1x1x12x4xf32>, %arg1: tensor<1x1x8x4xf32>) -> (tensor<1x1x12x4xf32>, tensor<1x1x12x4xf32>) {
  %t4 = arith.constant dense<[[0, 0, 4, 4, 1], [1, 4, 4, 4, 1]]> : tensor<2x5xi64>
  %t6 = arith.constant dense<[[0, 0, 6, 6, 1], [1, 6, 6, 6, 1]]> : tensor<2x5xi64>
  %0 = ring.scatter %arg0 by %t6 dim 2 on @ring axis 0 : tensor<1x1x12x4xf32>, tensor<2x5xi64> -> !x
  %1 = ring.scatter %arg1 by %t4 dim 2 on @ring axis 0 : tensor<1x1x8x4xf32>, tensor<2x5xi64> -> !x
  %2:2 = call @local(%0, %1) : (!x, !x) -> (!x, !x)
  %3 = ring.gather %2#0 by %t6 dim 2 on @ring axis 0 : !x, tensor<2x5xi64> -> tensor<1x1x12x4xf32>
  %4 = ring.gather %2#1 by %t6 dim 2 on @ring axis 0 : !x, tensor<2x5xi64> -> tensor<1x1x12x4xf32>
  // ALSO: call @use(%0) : (!x) -> ()
  // RETURNED: call @use(%2#1) : (!x) -> ()
  // PARTLY: %5 = call @window(%0, %0, %0) : (!x, !x, !x) -> !x
  return %3, %4 : tensor<1x1x12x4xf32>, tensor<1x1x12x4xf32>
}
func.func private @local(%0: !x, %1: !x) -> (!x, !x) attributes {ring.local, ring.rank_of = @f} {
  %2 = arith.negf %0 : !x
  %3 = call @window(%0, %2, %2) : (!x, !x, !x) -> !x
  %4 = call @causal(%3, %3, %3) : (!x, !x, !x) -> !x
  %5 = call @cross(%4, %1, %1) : (!x, !x, !x) -> !x
  return %4, %5 : !x, !x
}
func.func private @window(%q: !x, %k: !x, %v: !x) -> !x attributes {ring.layout = #ring.layout<contiguous>, ring.rank_of = @f} {
  %tq = arith.constant dense<[[0, 0, 6, 6, 1], [1, 6, 6, 6, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %tq, %tq) mask(<window = [1, 0]>) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !x
}
func.func private @causal(%q: !x, %k: !x, %v: !x) -> !x attributes {ring.layout = #ring.layout<contiguous>, ring.rank_of = @f} {
  %tq = arith.constant dense<[[0, 0, 6, 6, 1], [1, 6, 6, 6, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %tq, %tq) mask(<causal>) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !x
}
func.func private @cross(%q: !x, %k: !x, %v: !x) -> !x attributes {ring.layout = #ring.layout<contiguous>, ring.rank_of = @f} {
  %tq = arith.constant dense<[[0, 0, 6, 6, 1], [1, 6, 6, 6, 1]]> : tensor<2x5xi64>
  %tk = arith.constant dense<[[0, 0, 4, 4, 1], [1, 4, 4, 4, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %tq, %tk) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !x
}

//--- model.mlir
!x = tensor<1x2x12x4xf32>
!y = tensor<1x2x8x4xf32>
func.func @f(%x: !x, %y: !y) -> !x {
  %n = arith.negf %x : !x
  %o = ring.attention %n, %n, %x mask(<window = [1, 0]>) : (!x, !x, !x) -> !x
  %p = ring.attention %o, %o, %o mask(<causal>) : (!x, !x, !x) -> !x
  %c = ring.attention %p, %y, %y : (!x, !y, !y) -> !x
  %z = arith.addf %x, %c : !x
  return %z : !x
}

//--- decide.mlir
!x = tensor<1x1x?x4xf32>
shard.grid @ring(shape = 2)
func.func @f(%arg0: tensor<1x1x256x4xf32>) -> tensor<1x1x256x4xf32> {
  %t = arith.constant dense<[[0, 0, 128, 128, 1], [1, 128, 128, 128, 1]]> : tensor<2x5xi64>
  %0 = ring.scatter %arg0 by %t dim 2 on @ring axis 0 : tensor<1x1x256x4xf32>, tensor<2x5xi64> -> !x
  %1 = call @local(%0) : (!x) -> !x
  %2 = ring.gather %1 by %t dim 2 on @ring axis 0 : !x, tensor<2x5xi64> -> tensor<1x1x256x4xf32>
  return %2 : tensor<1x1x256x4xf32>
}
func.func private @local(%0: !x) -> !x attributes {ring.local, ring.rank_of = @f} {
  %1 = arith.negf %0 : !x
  %2 = call @window(%1, %1, %1) : (!x, !x, !x) -> !x
  %3 = call @full(%2, %2, %2) : (!x, !x, !x) -> !x
  %4 = call @causal(%3, %3, %3) : (!x, !x, !x) -> !x
  return %4 : !x
}
func.func private @window(%q: !x, %k: !x, %v: !x) -> !x attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 128, 128, 1], [1, 128, 128, 128, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) mask(<window = [3, 0]>) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !x
}
func.func private @full(%q: !x, %k: !x, %v: !x) -> !x attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 128, 128, 1], [1, 128, 128, 128, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !x
}
func.func private @causal(%q: !x, %k: !x, %v: !x) -> !x attributes {ring.rank_of = @f} {
  %t = arith.constant dense<[[0, 0, 128, 128, 1], [1, 128, 128, 128, 1]]> : tensor<2x5xi64>
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) whole : tensor<2x5xi64>, tensor<2x5xi64>
  return %q : !x
}

//--- argument.mlir
!x = tensor<1x1x?x4xf32>
!t = tensor<?x5xi64>
shard.grid @ring(shape = 2)
func.func private @local(%0: !x, %t: !t) -> !x attributes {ring.local, ring.rank_of = @f} {
  %1 = arith.negf %0 : !x
  %2 = call @causal(%1, %1, %1, %t) : (!x, !x, !x, !t) -> !x
  return %2 : !x
}
func.func private @f()
func.func private @causal(%q: !x, %k: !x, %v: !x, %t: !t) -> !x attributes {ring.rank_of = @f} {
  %c0 = arith.constant 0 : index
  %rank = shard.process_linear_index on @ring : index
  %owner = ring.owner %c0 on @ring axis 0
  %s = ring.slices at(%rank, %owner in %t, %t) mask(<causal>) whole : !t, !t
  return %q : !x
}
