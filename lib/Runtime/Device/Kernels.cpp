//===- Kernels.cpp - Kernels of compiled programs on a device -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include <cstdlib>
#include <cstring>

using namespace ring::runtime;
using namespace ring::cuda;

bool ring::runtime::runsOn(const ring_device_image &image, int capability,
                           bool isVirtual) {
  std::string chip = image.chip, kind = image.kind;
  if (chip.rfind("sm_", 0) != 0)
    return false;
  char *end = nullptr;
  long made = std::strtol(chip.c_str() + 3, &end, 10);
  bool fits = *end ? made == capability : made <= capability;
  if (isVirtual)
    return kind == "vgpu" && fits;
  if (kind == "cubin")
    return fits && made / 10 == capability / 10;
  return kind == "ptx" && fits;
}

/// "cubin for sm_80, ptx for sm_80"
static std::string imagesText(const ring_attention_kernel &kernel) {
  std::string text;
  for (int32_t i = 0; i < kernel.image_count; ++i)
    text += std::string(i ? ", " : "") + kernel.images[i].kind + " for " +
            kernel.images[i].chip;
  return text.empty() ? "none" : text;
}

Result Kernels::load(const ring_device_image &image, CUmodule &module) {
  for (const Loaded &each : loaded)
    if (each.image.size() == static_cast<size_t>(image.bytes) &&
        std::memcmp(each.image.data(), image.data, image.bytes) == 0) {
      module = each.module;
      return {};
    }
  // The driver reads text up to a 0 byte, which the copy has in any case.
  std::string copy(static_cast<const char *>(image.data), image.bytes);
  char log[1024] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CUresult code =
      device.driver.moduleLoadDataEx(&module, copy.data(), 2, options, values);
  if (code != CUDA_SUCCESS) {
    std::string message = device.text() + " does not load " + image.kind +
                          " for " + image.chip + " (driver " +
                          versionText(device.driver.version) +
                          "): " + device.driver.describe(code);
    std::string reason(log, std::strcspn(log, "\n"));
    if (!reason.empty())
      message += ": " + reason;
    return {RING_ERROR_DEVICE, message};
  }
  loaded.push_back({std::move(copy), module});
  return {};
}

Result Kernels::find(const ring_attention_kernel &kernel,
                     CUfunction &function) {
  const ring_device_image *image = nullptr;
  for (const char *kind : {"cubin", "ptx", "vgpu"})
    for (int32_t i = 0; i < kernel.image_count && !image; ++i)
      if (kernel.images[i].kind == std::string(kind) &&
          runsOn(kernel.images[i], device.capability, device.driver.isVirtual))
        image = &kernel.images[i];
  if (!image)
    return {RING_ERROR_USAGE,
            device.text() + " of sm_" + std::to_string(device.capability) +
                " runs none of the kernel's images: " + imagesText(kernel)};
  CUmodule module = nullptr;
  Result result = load(*image, module);
  std::string name = std::string("kernel '") + kernel.name + "'";
  if (!result.failed())
    result = device.check(
        device.driver.moduleGetFunction(&function, module, kernel.name),
        name.c_str());
  if (!result.failed())
    result = device.check(
        device.driver.funcSetAttribute(
            function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            kernel.shared_bytes),
        (name + " with " + std::to_string(kernel.shared_bytes) +
         " bytes of shared memory")
            .c_str());
  return result;
}

void Kernels::clear() {
  if (loaded.empty())
    return;
  ContextScope scope(device.driver, device.context);
  for (const Loaded &each : loaded)
    device.driver.moduleUnload(each.module);
  loaded.clear();
}
