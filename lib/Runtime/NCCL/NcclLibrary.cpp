//===- NcclLibrary.cpp - NCCL, loaded at run time -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclLibrary.h"

#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

using namespace ring::nccl;

/// The first with all that ncclConfig_t holds.
constexpr int kOldestVersion = 21800;

/// "2.28.9" of 22809. Until 2.8 a major version was 1000.
static std::string versionText(int version) {
  if (version < 10000)
    return std::to_string(version / 1000) + "." +
           std::to_string(version / 100 % 10) + "." +
           std::to_string(version % 100);
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

static bool open(Library &nccl, std::string &error) {
  std::string reason;
  void *library = ring::cuda::openLibrary(nccl.name, reason);
  if (!library) {
    error = "no NCCL: " + reason;
    return false;
  }
  const char *missing = nullptr;
  auto find = [&](const char *symbol) {
    void *address = dlsym(library, symbol);
    if (!address && !missing)
      missing = symbol;
    return address;
  };
#define RING_NCCL_LOAD(member, symbol, parameters)                             \
  nccl.member = reinterpret_cast<decltype(nccl.member)>(find(symbol));
  RING_NCCL_FUNCTIONS(RING_NCCL_LOAD)
#undef RING_NCCL_LOAD
  nccl.getErrorString = reinterpret_cast<decltype(nccl.getErrorString)>(
      find("ncclGetErrorString"));
  nccl.getLastError =
      reinterpret_cast<decltype(nccl.getLastError)>(find("ncclGetLastError"));
  if (nccl.getVersion)
    nccl.getVersion(&nccl.version);
  std::string text = "NCCL " + nccl.name + " of " +
                     (nccl.version ? "version " + versionText(nccl.version)
                                   : "unknown version");
  if (missing)
    error = text + " has no function " + missing;
  else if (nccl.version < kOldestVersion)
    error = text + " is too old, expected " + versionText(kOldestVersion) +
            " or later";
  return error.empty();
}

const Library *ring::nccl::loadLibrary(bool isVirtual, std::string &error) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Library>> libraries;
  std::string name = isVirtual ? cuda::virtualLibrary() : "libnccl.so.2";
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Library> &library = libraries[name];
  if (library)
    return library.get();
  auto fresh = std::make_unique<Library>();
  fresh->name = name;
  if (open(*fresh, error))
    library = std::move(fresh);
  return library.get();
}
