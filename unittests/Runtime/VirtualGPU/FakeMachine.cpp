//===- FakeMachine.cpp - Kernels that are C++ functions -------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeMachine.h"

#include <cstring>
#include <map>
#include <mutex>
#include <sstream>

using namespace ring::vgpu;
using namespace ring::test;

namespace {
struct Definition {
  size_t parameters = 0;
  FakeKernel body;
};
std::mutex mutex;
std::map<std::string, Definition> definitions;
} // namespace

void ring::test::defineKernel(const std::string &name, size_t parameters,
                              FakeKernel body) {
  std::lock_guard<std::mutex> lock(mutex);
  definitions[name] = {parameters, std::move(body)};
}

namespace ring::vgpu {

class Kernel {
public:
  std::string name;
  Definition definition;
  std::vector<size_t> bytes;
};

struct KernelModule::Content {
  std::map<std::string, Kernel> kernels;
};

KernelModule::KernelModule() : content(std::make_unique<Content>()) {}
KernelModule::~KernelModule() = default;

std::unique_ptr<KernelModule> KernelModule::load(std::string_view image,
                                                 std::string &error) {
  std::istringstream words{std::string(image)};
  std::string word;
  words >> word;
  if (word != "fake:") {
    error = "not a fake image";
    return nullptr;
  }
  std::unique_ptr<KernelModule> result(new KernelModule);
  std::lock_guard<std::mutex> lock(mutex);
  while (words >> word) {
    Definition definition = definitions.at(word);
    std::vector<size_t> bytes(definition.parameters, 8);
    result->content->kernels.emplace(word, Kernel{word, definition, bytes});
  }
  return result;
}

const Kernel *KernelModule::find(std::string_view name) const {
  auto it = content->kernels.find(std::string(name));
  return it == content->kernels.end() ? nullptr : &it->second;
}

const std::vector<size_t> &KernelModule::parameterBytes(const Kernel &kernel) {
  return kernel.bytes;
}

std::string Fault::text() const {
  return "kernel '" + kernel + "': " + message;
}

std::optional<Fault> launch(const Kernel &kernel, const LaunchShape &shape,
                            const void *const *parameters,
                            DeviceMemory &memory) {
  std::vector<uint64_t> values(kernel.bytes.size());
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], parameters[i], sizeof(uint64_t));
  std::string message = kernel.definition.body(values, memory);
  if (message.empty())
    return std::nullopt;
  Fault fault;
  fault.kernel = kernel.name;
  fault.message = message;
  return fault;
}

} // namespace ring::vgpu
