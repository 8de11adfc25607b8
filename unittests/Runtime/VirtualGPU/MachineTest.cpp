//===- MachineTest.cpp - Kernels of the tests of the virtual GPU ----------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineTest.h"

using namespace ring::vgpu;

const std::string test::kDynamic =
    "llvm.mlir.global external @dyn() {addr_space = 3 : i32, alignment = 16 : "
    "i64} : !llvm.array<0 x i8>\n";

std::string test::kernelText(const std::string &parameters,
                             const std::string &body,
                             const std::string &globals) {
  return "gpu.module @kernels {\n" + globals + "llvm.func @f(" + parameters +
         ") attributes {gpu.kernel, nvvm.kernel} {\n" + body +
         "\nllvm.return\n}\n}\n";
}

std::string test::launchText(const std::string &text, LaunchShape shape,
                             const std::vector<const void *> &parameters,
                             Memory &memory) {
  std::string error;
  std::unique_ptr<KernelModule> module = KernelModule::load(text, error);
  if (!module)
    return "load: " + error;
  const Kernel *kernel = module->find("f");
  if (!kernel)
    return "no kernel";
  EXPECT_EQ(KernelModule::parameterBytes(*kernel).size(), parameters.size());
  std::optional<Fault> fault =
      launch(*kernel, shape, parameters.data(), memory);
  return fault ? fault->text() : "";
}

std::string test::loadError(const std::string &text) {
  std::string error;
  return KernelModule::load(text, error) ? "" : error;
}

std::string test::loadAt(const std::string &name, const std::string &type) {
  return "%at" + name + " = llvm.getelementptr %p" + name +
         "[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, " + type + "\n%" + name +
         " = llvm.load %at" + name + " : !llvm.ptr<1> -> " + type + "\n";
}

std::string test::storeAt(const std::string &value, const std::string &type,
                          const std::string &pointer) {
  return "%atr = llvm.getelementptr " + pointer +
         "[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, " + type +
         "\nllvm.store " + value + ", %atr : " + type + ", !llvm.ptr<1>\n";
}
