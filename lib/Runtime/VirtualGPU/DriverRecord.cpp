//===- DriverRecord.cpp - The calls of a program, written to a file -------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverRecord.h"

#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace ring::vgpu;

/// NULL: nothing is recorded. The variable is read at each call, so a program
/// can switch files.
static std::FILE *openFile() {
  static auto *openName = new std::string;
  static std::FILE *file = nullptr;
  const char *name = std::getenv("RING_VGPU_RECORD");
  if (!name)
    name = "";
  if (*openName == name)
    return file;
  if (file)
    std::fclose(file);
  *openName = name;
  file = *name ? std::fopen(name, "w") : nullptr;
  if (*name && !file)
    addReport(std::string("cannot write RING_VGPU_RECORD=") + name);
  return file;
}

/// Threads by the order of their first call.
static int64_t threadNumber() {
  static auto *numbers = new std::map<std::thread::id, int64_t>;
  return numbers->try_emplace(std::this_thread::get_id(), numbers->size())
      .first->second;
}

static std::string quote(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      c = ' ';
    result += c;
  }
  return result + '"';
}

CallRecord::CallRecord(const char *call, const Context *context) {
  if (!openFile())
    return;
  line = "{\"call\":" + quote(call);
  add("device", context ? context->device : -1);
  add("thread", threadNumber());
}

CallRecord::CallRecord(const char *call, const Stream *stream)
    : CallRecord(call, stream ? &stream->context : nullptr) {
  if (!stream)
    return;
  add("stream", stream->number);
  if (!line.empty() && stream->capture)
    line += ",\"captured\":true";
}

CallRecord &CallRecord::add(const char *key, int64_t value) {
  if (!line.empty())
    line += "," + quote(key) + ":" + std::to_string(value);
  return *this;
}

CallRecord &CallRecord::add(const char *key, const std::string &value) {
  if (!line.empty())
    line += "," + quote(key) + ":" + quote(value);
  return *this;
}

CallRecord &CallRecord::add(const char *key,
                            const std::array<uint32_t, 3> &value) {
  if (!line.empty())
    line += "," + quote(key) + ":[" + std::to_string(value[0]) + "," +
            std::to_string(value[1]) + "," + std::to_string(value[2]) + "]";
  return *this;
}

CallRecord::~CallRecord() {
  std::FILE *file = line.empty() ? nullptr : openFile();
  if (!file)
    return;
  std::fprintf(file, "%s}\n", line.c_str());
  std::fflush(file);
}
