//===- DeviceChoice.cpp - What each rank computes on ----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceChoice.h"

#include <sstream>

using namespace ring::runtime;

/// False where `text` is none of "cpu", "cuda[:INDEX]", "vgpu[:INDEX]".
static bool parse(const std::string &text, DeviceChoice &choice) {
  using Kind = DeviceChoice::Kind;
  size_t colon = text.find(':');
  std::string kind = text.substr(0, colon);
  if (kind == "cpu")
    choice.kind = Kind::Cpu;
  else if (kind == "cuda")
    choice.kind = Kind::Cuda;
  else if (kind == "vgpu")
    choice.kind = Kind::Virtual;
  else
    return false;
  if (colon == std::string::npos)
    return true;
  std::string digits = text.substr(colon + 1);
  if (!choice.isGpu() || digits.empty() || digits.size() > 4 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return false;
  choice.index = std::stoi(digits);
  return true;
}

Result ring::runtime::parseDevices(const char *text, int32_t ranks,
                                   std::vector<DeviceChoice> &choices) {
  choices.clear();
  // With a comma behind the last one as well, no field is lost.
  std::istringstream stream(std::string(text ? text : "cpu") + ",");
  std::string field;
  while (std::getline(stream, field, ',')) {
    DeviceChoice choice;
    if (!parse(field, choice))
      return {RING_ERROR_USAGE,
              "'" + field +
                  "' is no device, expected cpu, cuda[:INDEX] or vgpu[:INDEX]"};
    choices.push_back(choice);
  }
  if (choices.size() == 1)
    choices.resize(ranks, choices.front());
  if (choices.size() != static_cast<size_t>(ranks))
    return {RING_ERROR_USAGE, std::to_string(choices.size()) + " devices for " +
                                  std::to_string(ranks) +
                                  " ranks, expected 1 or as many as ranks"};
  return {};
}
