//===- CudaDriver.cpp - The CUDA driver, loaded at run time ---------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

using namespace ring::cuda;

std::string ring::cuda::versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

std::string Driver::describe(CUresult code) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(code, &name) != CUDA_SUCCESS || !name)
    return "error " + std::to_string(code);
  std::string message = name;
  if (getErrorString(code, &text) == CUDA_SUCCESS && text)
    message += std::string(" (") + text + ")";
  const char *report = lastReport ? lastReport() : nullptr;
  if (report && *report)
    message += std::string(": ") + report;
  return message;
}

void *ring::cuda::openLibrary(const std::string &name, std::string &error) {
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library)
    return library;
  const char *reason = dlerror();
  error = reason ? reason : name + ": cannot be opened";
  return nullptr;
}

std::string ring::cuda::ownLibrary(const char *variable, const char *name) {
  const char *chosen = std::getenv(variable);
  if (chosen && *chosen)
    return chosen;
  Dl_info self;
  if (!dladdr(reinterpret_cast<void *>(&openLibrary), &self) || !self.dli_fname)
    return name;
  std::string path = self.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

std::string ring::cuda::virtualLibrary() {
  return ownLibrary("RING_VGPU_LIBRARY", "libring_vgpu.so");
}

/// Fills the table and starts the driver. False and a message where it cannot
/// be used.
static bool open(Driver &driver, std::string &error) {
  std::string kind = driver.isVirtual ? "virtual GPU" : "CUDA driver";
  std::string reason;
  void *library = openLibrary(driver.library, reason);
  if (!library) {
    error = "no " + kind + ": " + reason;
    return false;
  }
  const char *missing = nullptr;
  auto find = [&](const char *symbol) {
    void *address = dlsym(library, symbol);
    if (!address && !missing)
      missing = symbol;
    return address;
  };
#define RING_CUDA_LOAD(member, symbol, parameters)                             \
  driver.member = reinterpret_cast<decltype(driver.member)>(find(symbol));
  RING_CUDA_FUNCTIONS(RING_CUDA_LOAD)
#undef RING_CUDA_LOAD
  if (driver.isVirtual)
    driver.lastReport = reinterpret_cast<decltype(driver.lastReport)>(
        dlsym(library, "ring_vgpu_last_report"));
  if (driver.driverGetVersion)
    driver.driverGetVersion(&driver.version);
  std::string text = kind + " " + driver.library + " of " +
                     (driver.version ? "version " + versionText(driver.version)
                                     : "unknown version");
  if (missing) {
    error = text + " has no function " + missing;
    return false;
  }
  CUresult code = driver.init(0);
  if (code == CUDA_SUCCESS)
    code = driver.deviceGetCount(&driver.devices);
  if (code != CUDA_SUCCESS || driver.devices < 1) {
    error =
        text + ": " +
        (code == CUDA_SUCCESS ? "there is no device" : driver.describe(code));
    return false;
  }
  return true;
}

const Driver *ring::cuda::loadDriver(bool isVirtual, std::string &error) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Driver>> drivers;
  std::string name = isVirtual ? virtualLibrary() : "libcuda.so.1";
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Driver> &driver = drivers[name];
  if (driver)
    return driver.get();
  auto fresh = std::make_unique<Driver>();
  fresh->library = name;
  fresh->isVirtual = isVirtual;
  // What failed is tried again by the next host: its message is the same.
  if (open(*fresh, error))
    driver = std::move(fresh);
  return driver.get();
}
