//===- DriverRecordTest.cpp - The recorded calls --------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverTest.h"

#include <cstdio>
#include <fstream>

using namespace ring::test;

namespace {
class DriverRecord : public DriverTest {};
} // namespace

TEST_F(DriverRecord, CallsThatEnqueueOrSynchronise) {
  std::string path = testing::TempDir() + "vgpu-record.jsonl";
  use(1);
  CUstream s = stream(), other = stream();
  CUevent e = event();
  CUdeviceptr data = floats(4);
  float *host = pinnedFloats(4);
  CUfunction f = function("fill");
  setenv("RING_VGPU_RECORD", path.c_str(), 1);
  EXPECT_OK(cuMemcpyHtoDAsync_v2(data, host, 16, other));
  EXPECT_OK(cuEventRecord(e, other));
  EXPECT_OK(cuStreamWaitEvent(s, e, 0));
  uint64_t values[] = {data, 4, 0};
  void *parameters[] = {&values[0], &values[1], &values[2]};
  EXPECT_OK(cuLaunchKernel(f, 2, 3, 1, 32, 1, 1, 64, s, parameters, nullptr));
  EXPECT_OK(cuStreamSynchronize(s));
  EXPECT_OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_OK(cuMemsetD8Async(data, 0, 16, s));
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  EXPECT_OK(cuStreamEndCapture(s, &graph));
  EXPECT_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  EXPECT_OK(cuGraphLaunch(exec, s));
  float pageable[4];
  EXPECT_OK(cuMemcpyDtoHAsync_v2(pageable, data, 16, s));
  unsetenv("RING_VGPU_RECORD");
  EXPECT_OK(cuCtxSynchronize()); // Not recorded, and closes the file.

  std::ifstream file(path);
  std::string thread, line, text;
  while (std::getline(file, line)) {
    size_t at = line.find(",\"thread\":");
    ASSERT_NE(at, std::string::npos) << line;
    size_t end = line.find_first_of(",}", at + 1);
    std::string own = line.substr(at, end - at);
    EXPECT_TRUE(thread.empty() || thread == own);
    thread = own;
    text += line.erase(at, end - at) + "\n";
  }
  EXPECT_EQ(
      text,
      R"({"call":"cuMemcpyHtoDAsync","device":1,"stream":2,"kind":"copy from host","bytes":16}
{"call":"cuEventRecord","device":1,"stream":2,"event":0}
{"call":"cuStreamWaitEvent","device":1,"stream":1,"event":0,"event_device":1}
{"call":"cuLaunchKernel","device":1,"stream":1,"kernel":"fill","grid":[2,3,1],"block":[32,1,1],"shared":64}
{"call":"cuStreamSynchronize","device":1,"stream":1}
{"call":"cuStreamBeginCapture","device":1,"stream":1}
{"call":"cuMemsetD8Async","device":1,"stream":1,"captured":true,"bytes":16}
{"call":"cuStreamEndCapture","device":1,"stream":1,"captured":true}
{"call":"cuGraphLaunch","device":1,"stream":1}
{"call":"cuMemcpyDtoHAsync","device":1,"stream":1,"kind":"copy to host","bytes":16,"blocking":1}
)");
  std::remove(path.c_str());
}
