//===- MachineTest.h - Kernels of the tests of the virtual GPU --*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_VIRTUALGPU_MACHINETEST_H
#define RING_UNITTESTS_RUNTIME_VIRTUALGPU_MACHINETEST_H

#include "Machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <mutex>

namespace ring::vgpu::test {

/// Allocations with holes between them.
class Memory : public DeviceMemory {
public:
  uint64_t allocate(size_t bytes) {
    uint64_t address = next;
    next += (bytes + 0x1fff) / 0x1000 * 0x1000;
    blocks[address] = std::vector<std::byte>(bytes);
    return address;
  }
  template <class T> uint64_t copy(const std::vector<T> &values) {
    uint64_t address = allocate(values.size() * sizeof(T));
    std::memcpy(blocks[address].data(), values.data(),
                values.size() * sizeof(T));
    return address;
  }
  template <class T> std::vector<T> read(uint64_t address) const {
    const std::vector<std::byte> &bytes = blocks.at(address);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }

  std::byte *access(uint64_t address, size_t bytes, Access kind,
                    std::string &why) override {
    auto it = blocks.upper_bound(address);
    if (it == blocks.begin() ||
        address - (--it)->first + bytes > it->second.size()) {
      why = "not allocated";
      return nullptr;
    }
    return it->second.data() + (address - it->first);
  }

private:
  uint64_t next = 0x700000001000;
  std::map<uint64_t, std::vector<std::byte>> blocks;
};

/// "gpu.module @kernels {" GLOBALS "llvm.func @f(" PARAMETERS ")" BODY.
std::string kernelText(const std::string &parameters, const std::string &body,
                       const std::string &globals = "");

/// Dynamic shared memory named @dyn.
extern const std::string kDynamic;

/// Loads kernel @f of the text and runs it. The report of a fault, or nothing.
std::string launchText(const std::string &text, LaunchShape shape,
                       const std::vector<const void *> &parameters,
                       Memory &memory);

/// The error of an image that does not load, or nothing.
std::string loadError(const std::string &text);

inline LaunchShape threads(uint32_t count, uint32_t dynamicShared = 0) {
  LaunchShape shape;
  shape.block = {count, 1, 1};
  shape.dynamicSharedBytes = dynamicShared;
  return shape;
}

/// Loads %NAME of a type at index %i from a pointer %pNAME.
std::string loadAt(const std::string &name, const std::string &type);
std::string storeAt(const std::string &value, const std::string &type,
                    const std::string &pointer = "%pr");

/// `body` computes %r of %a, %b, %c, whose elements thread i holds; the
/// results of all threads. `type` and `result` are what stands in the IR.
template <class R, class T>
std::vector<R> apply(const std::string &result, const std::string &type,
                     const std::string &body,
                     const std::vector<std::vector<T>> &inputs) {
  Memory memory;
  std::vector<uint64_t> addresses;
  std::string parameters = "%pr: !llvm.ptr<1>", text;
  text = "%i = nvvm.read.ptx.sreg.tid.x : i32\n";
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name(1, "abc"[i]);
    parameters += ", %p" + name + ": !llvm.ptr<1>";
    text += loadAt(name, type);
    addresses.push_back(memory.copy(inputs[i]));
  }
  uint64_t out = memory.allocate(inputs[0].size() * sizeof(R));
  text += body + "\n" + storeAt("%r", result);
  std::vector<const void *> pointers{&out};
  for (uint64_t &address : addresses)
    pointers.push_back(&address);
  EXPECT_EQ(launchText(kernelText(parameters, text), threads(inputs[0].size()),
                       pointers, memory),
            "")
      << body;
  return memory.read<R>(out);
}

} // namespace ring::vgpu::test

#endif // RING_UNITTESTS_RUNTIME_VIRTUALGPU_MACHINETEST_H
