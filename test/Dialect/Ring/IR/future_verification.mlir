// RUN: ring-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected '<'}}
func.func private @no_payload(!ring.future)

// -----

// expected-error @+1 {{future of (), expected ranked tensors or memrefs}}
func.func private @empty_payload(!ring.future<>)

// -----

// expected-error @+1 {{future of ('tensor<4xf32>', 'f32'), expected ranked tensors or memrefs}}
func.func private @scalar(!ring.future<tensor<4xf32>, f32>)

// -----

// expected-error @+1 {{future of ('tensor<*xf32>'), expected ranked tensors or memrefs}}
func.func private @unranked(!ring.future<tensor<*xf32>>)

// -----

// expected-error @+1 {{future of ('tensor<4xf32>', 'memref<4xf32>'), expected ranked tensors or memrefs}}
func.func private @tensor_and_memref(!ring.future<tensor<4xf32>, memref<4xf32>>)

// -----

// expected-error @+1 {{expected '>'}}
func.func private @no_comma(!ring.future<tensor<4xf32> tensor<4xf32>>)

// -----

// expected-error @+1 {{unknown  type `promise` in dialect `ring`}}
func.func private @unknown_type(!ring.promise<tensor<4xf32>>)
