//===- MpiTest.cpp - Rings of processes that MPI started ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A real launcher starts this program again, as many times as there are ranks.
//
//===----------------------------------------------------------------------===//

#include "DeviceRing.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace ring;
using namespace ring::test;

namespace {
/// What a launcher's run ended with.
struct Launched {
  int status = 0;
  double seconds = 0;
  std::string text; ///< of all processes

  int count(const std::string &what) const {
    int found = 0;
    for (size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + 1))
      ++found;
    return found;
  }
};

class MpiTest : public testing::Test {
protected:
  void SetUp() override {
#ifndef RING_MPI_LAUNCHER
    GTEST_SKIP() << "no MPI was found, or a sanitizer watches: no launcher";
#endif
  }

  /// Runs `task` in so many processes, as `prefix` starts them.
  static Launched start(const std::string &prefix, const std::string &task,
                        int ringRanks) {
    Launched result;
    char folder[] = "/tmp/ring-mpi-XXXXXX", self[4096] = "";
    if (!mkdtemp(folder) || readlink("/proc/self/exe", self, 4095) < 0)
      return result;
    std::string command =
        "RING_MPI_TASK='" + task +
        "' RING_MPI_RANKS=" + std::to_string(ringRanks) +
        " RING_FAKE_NCCL=" + folder +
        " RING_VGPU_LIBRARY='" RING_FAKE_DRIVER "' RING_POISON=1"
        // Open MPI asks to be told that it may do what it is to do here.
        " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
        " OMPI_MCA_rmaps_base_oversubscribe=1 " +
        prefix + " '" + self +
        "' --gtest_filter=MpiRank.DISABLED_Run "
        "--gtest_also_run_disabled_tests 2>&1";
    auto begin = std::chrono::steady_clock::now();
    FILE *pipe = popen(command.c_str(), "r");
    char buffer[4096];
    while (size_t count = fread(buffer, 1, sizeof(buffer), pipe))
      result.text.append(buffer, count);
    result.status = pclose(pipe);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    EXPECT_EQ(std::system((std::string("rm -r ") + folder).c_str()), 0);
    return result;
  }
#ifdef RING_MPI_LAUNCHER
  static Launched launch(int processes, const std::string &task,
                         int ringRanks = 0) {
    return start("RING_MPI_LIBRARY='" RING_MPI_LIBRARY
                 "' timeout 120 '" RING_MPI_LAUNCHER "' -n " +
                     std::to_string(processes),
                 task, ringRanks ? ringRanks : processes);
  }
#else
  static Launched launch(int, const std::string &, int = 0) { return {}; }
#endif
};

/// A function of the MPI that the runtime uses; this program links none.
template <typename Function> Function *ofMpi(const char *name) {
  void *library = dlopen(std::getenv("RING_MPI_LIBRARY"), RTLD_NOW);
  return reinterpret_cast<Function *>(library ? dlsym(library, name) : nullptr);
}
} // namespace

/// The rank as the launcher tells it, without MPI.
static int rankOfLauncher() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char *text = std::getenv(name))
      return std::atoi(text);
  return -1;
}

/// A host for this rank, and three runs on it; true iff the host was there.
static bool runRank(int ranks) {
  ring_host_options options{};
  options.ranks = ranks;
  options.threads = 1;
  options.deadline = 3;
  options.devices = "vgpu";
  options.transport = "nccl";
  char error[512];
  std::unique_ptr<ring_host, void (*)(ring_host *)> host(
      ring_host_create(&options, error, sizeof(error)), ring_host_destroy);
  EXPECT_NE(host, nullptr) << "refused: " << error;
  if (!host)
    return false;
  EXPECT_EQ(ring_host_ranks(host.get()), ranks);
  EXPECT_EQ(ring_host_local_ranks(host.get()), 1);
  EXPECT_EQ(ring_host_first_rank(host.get()), rankOfLauncher());
  DeviceProblem problem = DeviceProblem::causalZigzag(ranks);
  for (int run = 0; run < 3; ++run) {
    ring_status status = ring_host_run(
        host.get(), ranks,
        [](ring_context *context, void *problem) {
          return static_cast<DeviceProblem *>(problem)->run(context);
        },
        &problem);
    EXPECT_EQ(status, RING_OK) << ring_host_error(host.get());
    for (size_t i = 0; i < problem.lse.size(); ++i)
      if (std::isnan(problem.lse[i]))
        problem.skipped.insert(static_cast<int64_t>(i));
    EXPECT_LT(problem.skipped.size(), problem.lse.size());
    EXPECT_LT(problem.error(), 1e-4) << "run " << run;
  }
  // All are on one machine.
  for (const FakeCall &call : fakeState().calls)
    if (call.name == "cuLaunchKernel")
      EXPECT_EQ(call.device, rankOfLauncher());
  std::printf("rank %d ran\n", rankOfLauncher());
  return true;
}

/// What one process does; started by the tests below.
TEST(MpiRank, DISABLED_Run) {
  std::string task = std::getenv("RING_MPI_TASK");
  int ranks = std::atoi(std::getenv("RING_MPI_RANKS"));
  if (task == "die early" && rankOfLauncher() == 1)
    std::raise(SIGKILL);
  bool initialises =
      task == "initialised" || task == "finalised" || task == "other thread";
  if (initialises) {
    ASSERT_EQ(ofMpi<int(int *, char ***)>("MPI_Init")(nullptr, nullptr), 0);
  }
  if (task == "finalised") {
    ASSERT_EQ(ofMpi<int()>("MPI_Finalize")(), 0);
  }
  if (task == "other thread")
    std::thread([ranks] { runRank(ranks); }).join();
  else if (runRank(ranks) && task != "run" && !initialises) {
    if (task == "stay away" && rankOfLauncher() == 1)
      std::this_thread::sleep_for(std::chrono::seconds(60));
    runRank(ranks);
  }
  if (!initialises || task == "finalised")
    return;
  int isFinal = 1;
  ofMpi<int(int *)>("MPI_Finalized")(&isFinal);
  EXPECT_FALSE(isFinal);
  EXPECT_EQ(ofMpi<int()>("MPI_Finalize")(), 0);
}

TEST_F(MpiTest, ARankForEachProcess) {
  for (int ranks : {2, 3, 4}) {
    Launched run = launch(ranks, "run");
    EXPECT_EQ(run.status, 0) << run.text;
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(run.count("rank " + std::to_string(rank) + " ran"), 1)
          << run.text;
  }
}

TEST_F(MpiTest, OneProcessHasAllRanks) {
  Launched run = launch(1, "run", 1);
  EXPECT_EQ(run.status, 0) << run.text;
}

TEST_F(MpiTest, OneHostAfterTheOther) {
  Launched run = launch(2, "twice");
  EXPECT_EQ(run.status, 0) << run.text;
  EXPECT_EQ(run.count("rank 1 ran"), 2) << run.text;
}

TEST_F(MpiTest, TheProgramHasInitialisedMpi) {
  Launched run = launch(2, "initialised");
  EXPECT_EQ(run.status, 0) << run.text;
  EXPECT_EQ(run.count("ran\n"), 2) << run.text;
}

TEST_F(MpiTest, TheProgramHasFinalisedMpi) {
  Launched run = launch(2, "finalised");
  EXPECT_NE(run.status, 0);
  EXPECT_GE(run.count("refused: the program has finalised MPI before"), 1)
      << run.text;
}

TEST_F(MpiTest, AThreadThatMayNotCallMpi) {
  Launched run = launch(2, "other thread");
  EXPECT_NE(run.status, 0);
  EXPECT_GE(run.count("refused: a host has to be created by the thread that "
                      "initialised MPI"),
            1)
      << run.text;
}

TEST_F(MpiTest, AnotherSizeThanTheRings) {
  Launched run = launch(2, "run", 3);
  EXPECT_NE(run.status, 0);
  EXPECT_GE(run.count("refused: a ring of 3 ranks in a world of 2 processes"),
            1)
      << run.text;
}

TEST_F(MpiTest, KilledBeforeTheMeeting) {
  Launched run = launch(3, "die early");
  EXPECT_NE(run.status, 0);
  EXPECT_EQ(run.count("ran\n"), 0) << run.text;
  EXPECT_LT(run.seconds, 30);
}

// (That all of them initialise MPI, MPI_Init itself waits for.)
TEST_F(MpiTest, AProcessThatCreatesNoHost) {
  Launched run = launch(3, "stay away");
  EXPECT_NE(run.status, 0);
  EXPECT_GE(run.count("refused: not all of the 3 processes that MPI started "
                      "created a host within 3 s"),
            1)
      << run.text;
  EXPECT_LT(run.seconds, 30);
}

// A launcher's variables with an MPI that nobody has started.
TEST_F(MpiTest, TheMpiOfAnotherLauncher) {
#ifdef RING_MPI_LAUNCHER
  Launched run =
      start("PMI_RANK=0 PMI_SIZE=4 RING_MPI_LIBRARY='" RING_MPI_LIBRARY "'",
            "run", 4);
  EXPECT_NE(run.status, 0);
  EXPECT_EQ(run.count("refused: PMI_SIZE='4', but "), 1) << run.text;
  EXPECT_EQ(run.count(" knows of 1 processes: was libring_mpi.so built for "
                      "another MPI than the launcher's?"),
            1)
      << run.text;
#endif
}
