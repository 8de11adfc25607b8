//===- WorldTest.cpp - Rings of processes over NCCL -----------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank is this program again, told by the environment which rank it is and
// what it has to do.
//
//===----------------------------------------------------------------------===//

#include "DeviceRing.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace ring;
using namespace ring::test;

extern char **environ;

namespace {

constexpr int kRanks = 3;

class WorldTest : public testing::Test {
protected:
  struct Process {
    pid_t id;
    std::string log;
  };

  WorldTest() {
    char name[] = "/tmp/ring-world-XXXXXX";
    folder = mkdtemp(name);
  }
  ~WorldTest() override {
    std::string command = "rm -r " + folder;
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  /// Starts all ranks; rank 1 does `task`, the others what is usual.
  void start(const std::string &task) {
    static int port = 20000 + getpid() % 20000;
    ++port;
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<std::string> variables = {
          "RANK=" + std::to_string(rank),
          "WORLD_SIZE=" + std::to_string(kRanks),
          "LOCAL_RANK=" + std::to_string(rank ^ 1), // another GPU than else
          "MASTER_ADDR=127.0.0.1",
          "RING_PORT=" + std::to_string(port),
          "RING_FAKE_NCCL=" + folder,
          "RING_VGPU_LIBRARY=" RING_FAKE_DRIVER,
          "RING_WORLD_TASK=" + (rank == 1 ? task : std::string("run")),
          "RING_POISON=1"};
      std::string log = folder + "/log" + std::to_string(rank);
      pid_t id = fork();
      ASSERT_GE(id, 0);
      if (id == 0) {
        std::vector<char *> pointers;
        for (std::string &variable : variables)
          pointers.push_back(variable.data());
        pointers.push_back(nullptr);
        int file = open(log.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
        dup2(file, 1);
        dup2(file, 2);
        const char *arguments[] = {"tests",
                                   "--gtest_filter=WorldRank.DISABLED_Run",
                                   "--gtest_also_run_disabled_tests", nullptr};
        execve("/proc/self/exe", const_cast<char **>(arguments),
               pointers.data());
        _exit(127);
      }
      processes.push_back({id, log});
    }
  }
  /// The exit status of a rank, and what it said.
  int wait(int rank, std::string &text) {
    int status = 0;
    waitpid(processes[rank].id, &status, 0);
    std::stringstream stream;
    stream << std::ifstream(processes[rank].log).rdbuf();
    text = stream.str();
    return status;
  }

  std::string folder;
  std::vector<Process> processes;
};

} // namespace

/// What one process does; run by the tests below.
TEST(WorldRank, DISABLED_Run) {
  std::string task = std::getenv("RING_WORLD_TASK");
  ring_host_options options{};
  options.ranks = kRanks;
  options.threads = 1;
  options.deadline = 3;
  options.devices = "vgpu";
  options.transport = "nccl";
  char error[512];
  if (task == "die early")
    std::_Exit(9);
  ring_host *host = ring_host_create(&options, error, sizeof(error));
  ASSERT_NE(host, nullptr) << error;
  // Destroyed whatever happens: rank 0 stays until all know how a run ended.
  std::unique_ptr<ring_host, void (*)(ring_host *)> owner(host,
                                                          ring_host_destroy);
  EXPECT_EQ(ring_host_ranks(host), kRanks);
  EXPECT_EQ(ring_host_local_ranks(host), 1);
  DeviceProblem problem = DeviceProblem::causalZigzag(kRanks);
  struct Run {
    DeviceProblem &problem;
    const std::string &task;
    int number = 0;
  } run{problem, task};
  for (run.number = 0; run.number < 3; ++run.number) {
    ring_status status = ring_host_run(
        host, kRanks,
        [](ring_context *context, void *environment) -> ring_status {
          Run &run = *static_cast<Run *>(environment);
          EXPECT_EQ(ring_local_index(context), 0);
          bool strikes = run.number == 1;
          if (strikes && run.task == "mismatch") {
            ring_status status =
                ring_begin(context, kRanks, 2, 43, "length 20");
            return ring_end(context, status);
          }
          if (strikes && (run.task == "die" || run.task == "stop")) {
            ring_status status = ring_begin(context, kRanks, 2, 42, nullptr);
            if (status != RING_OK)
              return status;
            std::raise(run.task == "die" ? SIGKILL : SIGSTOP);
          }
          return run.problem.run(context);
        },
        &run);
    ASSERT_EQ(status, RING_OK) << ring_host_error(host);
    for (size_t i = 0; i < problem.lse.size(); ++i)
      if (std::isnan(problem.lse[i]))
        problem.skipped.insert(static_cast<int64_t>(i));
    EXPECT_LT(problem.skipped.size(), problem.lse.size());
    EXPECT_LT(problem.error(), 1e-4) << "run " << run.number;
  }
  int launches = 0;
  for (const FakeCall &call : fakeState().calls) {
    if (call.name != "cuLaunchKernel")
      continue;
    ++launches;
    EXPECT_EQ(call.device, std::atoi(std::getenv("LOCAL_RANK")));
  }
  EXPECT_GT(launches, 0);
}

TEST_F(WorldTest, ARankForEachProcess) {
  start("run");
  for (int rank = 0; rank < kRanks; ++rank) {
    std::string text;
    EXPECT_EQ(wait(rank, text), 0) << text;
  }
}

TEST_F(WorldTest, OtherPrograms) { // case R5
  start("mismatch");
  for (int rank = 0; rank < kRanks; ++rank) {
    std::string text;
    EXPECT_NE(wait(rank, text), 0);
    EXPECT_NE(text.find("run different programs"), std::string::npos) << text;
  }
}

TEST_F(WorldTest, KilledAndStopped) { // case R7
  for (const char *task : {"die", "stop"}) {
    SCOPED_TRACE(task);
    processes.clear();
    start(task);
    for (int rank : {0, 2}) {
      std::string text;
      EXPECT_NE(wait(rank, text), 0);
      EXPECT_TRUE(text.find("rank 1") != std::string::npos ||
                  text.find("ranks 0 and 1 was not") != std::string::npos ||
                  text.find("ranks 1 and 2 was not") != std::string::npos)
          << text;
    }
    kill(processes[1].id, SIGKILL);
    std::string text;
    EXPECT_NE(wait(1, text), 0);
  }
}

TEST_F(WorldTest, RanksThatDoNotCome) {
  start("die early");
  std::string text;
  EXPECT_NE(wait(0, text), 0);
  EXPECT_NE(text.find("1 of 3 ranks did not connect to rank 0 within 3 s"),
            std::string::npos)
      << text;
  EXPECT_NE(wait(2, text), 0);
  EXPECT_NE(wait(1, text), 0);
}

TEST(WorldPlaceTest, Environments) {
  ScopedVariable library("RING_VGPU_LIBRARY", RING_FAKE_DRIVER);
  auto refusal = [](std::vector<std::pair<const char *, const char *>> set) {
    for (auto [name, value] : set)
      setenv(name, value, 1);
    ring_host_options options{};
    options.ranks = 2;
    options.threads = 1;
    options.deadline = 0.1;
    options.devices = "vgpu";
    options.transport = "nccl";
    char error[256] = "";
    ring_host *host = ring_host_create(&options, error, sizeof(error));
    EXPECT_EQ(host == nullptr, *error != '\0');
    ring_host_destroy(host);
    for (auto [name, value] : set)
      unsetenv(name);
    return std::string(error);
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
            "RANK='2' and WORLD_SIZE='2' name no rank of a world");
  EXPECT_EQ(refusal({{"WORLD_SIZE", "2"}}),
            "RANK='' and WORLD_SIZE='2' name no rank of a world");
  EXPECT_EQ(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "WORLD_SIZE='2' without MASTER_ADDR, where rank 0 is");
  EXPECT_EQ(refusal({{"RANK", "0"},
                     {"WORLD_SIZE", "2"},
                     {"MASTER_ADDR", "127.0.0.1"},
                     {"MASTER_PORT", "65535"}}),
            "MASTER_PORT='65535' names no port");
  EXPECT_EQ(
      refusal(
          {{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "127.0.0.1"}}),
      "a ring of 2 ranks in a world of 3 processes");
  EXPECT_EQ(refusal({{"RANK", "0"},
                     {"WORLD_SIZE", "2"},
                     {"LOCAL_RANK", "x"},
                     {"MASTER_ADDR", "127.0.0.1"}}),
            "LOCAL_RANK='x' names no rank");
  EXPECT_EQ(refusal({{"RING_BOOTSTRAP", "env"}}),
            "RANK='' and WORLD_SIZE='' name no rank of a world");
  EXPECT_EQ(refusal({{"RING_BOOTSTRAP", "tcp"}}),
            "RING_BOOTSTRAP='tcp', expected env, mpi or none");
  EXPECT_EQ(refusal({{"RING_BOOTSTRAP", "none"}, {"RANK", "7"}}), "");
  EXPECT_EQ(refusal({{"RANK", "1"},
                     {"WORLD_SIZE", "2"},
                     {"MASTER_ADDR", "127.0.0.1"},
                     {"RING_PORT", "1"}}),
            "no connection to 127.0.0.1:1 within 0.1 s");
  // Started by MPI, whose part of the runtime is not there.
  ScopedVariable mpi("RING_MPI_LIBRARY", "/nowhere/libring_mpi.so");
  for (auto [name, value] :
       {std::pair("OMPI_COMM_WORLD_SIZE", "4"), std::pair("PMI_SIZE", "2"),
        std::pair("PMIX_RANK", "1"), std::pair("RING_BOOTSTRAP", "mpi")}) {
    std::string text = refusal({{name, value}});
    std::string why = std::string(name) + "='" + value + "'";
    EXPECT_EQ(text.find(why + " asks for MPI, but there is no libring_mpi.so "
                              "(/nowhere/libring_mpi.so: "),
              0U)
        << text;
    EXPECT_NE(text.find("): build Ring where CMake finds MPI, or set RANK, "
                        "WORLD_SIZE and MASTER_ADDR, or RING_BOOTSTRAP=none"),
              std::string::npos)
        << text;
    EXPECT_EQ(refusal({{name, value}, {"RANK", "0"}, {"WORLD_SIZE", "1"}}),
              std::string(name) == "RING_BOOTSTRAP" ? text : "");
  }
  EXPECT_EQ(refusal({{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}}), "");
}
