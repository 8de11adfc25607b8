// Images: what the virtual GPU loads, PTX for the target's chip, and errors.

// RUN: ring-opt %s --ring-serialize-kernels=formats=vgpu,ptx | FileCheck %s --implicit-check-not=gpu.module
// RUN: not ring-opt %s --ring-serialize-kernels=formats=fatbin 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not ring-opt %s --ring-serialize-kernels="formats=cubin ptxas=%t.none" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: ring-opt %s --ring-serialize-kernels="formats=cubin,ptx ptxas=%t.none optional" 2>&1 | FileCheck %s --check-prefix=OPTIONAL

// CHECK:      gpu.binary @kernels
// CHECK-SAME:   #gpu.object<#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">, properties = {chip = "sm_80", kind = "vgpu"}, offload = "ML\EFR
// CHECK-SAME:   #gpu.object<#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">, properties = {chip = "sm_80", kind = "ptx"}, assembly = "{{.*}}.target sm_80{{.*}}.entry k(

// FORMAT: error: no image format 'fatbin', expected vgpu, ptx or cubin
// NONE: error: cannot run '{{.*}}.none':
// OPTIONAL: remark: cannot run '{{.*}}.none':{{.*}}; the driver will compile PTX
// OPTIONAL: gpu.binary @kernels
// OPTIONAL-SAME: kind = "ptx"

gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">] {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
