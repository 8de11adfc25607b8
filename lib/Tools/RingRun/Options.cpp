//===- Options.cpp - The command line of ring-run -------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Options.h"

#include "ring/Conversion/RingToGPU/Chips.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace ring::tools {

namespace {
/// Made after LLVM's own options have been dropped: some have our names.
struct Flags {
  cl::OptionCategory category{"ring-run options"};

  cl::opt<std::string> file{cl::Positional, cl::desc("FILE"), cl::Required,
                            cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::desc("function to run (default: the only one)"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<int64_t> ranks{
      "ranks", cl::desc("number of ranks (default: the program's, or 1)"),
      cl::value_desc("N"), cl::cat(category)};
  cl::opt<std::string> layout{
      "layout",
      cl::desc("contiguous, zigzag, striped[:G] or balanced (default: the "
               "program's, or zigzag)"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> variant{"variant",
                               cl::desc("auto, pass-kv, pass-q or all-gather"),
                               cl::init("auto"), cl::cat(category)};
  cl::opt<int64_t> blockwiseFfn{
      "blockwise-ffn",
      cl::desc("run feed-forwards in blocks of so many positions of a rank "
               "(default 0: all at once)"),
      cl::value_desc("C"), cl::init(0), cl::cat(category)};
  cl::opt<int64_t> prefetchDistance{
      "prefetch-distance",
      cl::desc("transfers in flight while a round computes (default: 1)"),
      cl::value_desc("D"), cl::init(1), cl::cat(category)};
  cl::opt<std::string> device{
      "device",
      cl::desc("cpu, cuda or vgpu (a GPU's kernels without one); one for all "
               "ranks, or one a rank with commas between; :CHIP says what "
               "kernels are made for (default: sm_80)"),
      cl::value_desc("kind[:CHIP][,...]"), cl::init("cpu"), cl::cat(category)};
  cl::opt<std::string> transport{"transport",
                                 cl::desc("threads or nccl (GPUs)"),
                                 cl::init("threads"), cl::cat(category)};
  cl::opt<bool> graph{
      "graph",
      cl::desc("with --repeat: replay the rounds as one CUDA graph from the "
               "third run on (--transport nccl)"),
      cl::cat(category)};
  cl::opt<int64_t> smMargin{
      "sm-margin",
      cl::desc("multiprocessors of a GPU that are left to the transport where "
               "work is split over all (default: nccl 8, threads 0)"),
      cl::value_desc("N"), cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas",
      cl::desc("NVIDIA's assembler (default: RING_PTXAS, PATH, or the Python "
               "package nvidia-cuda-nvcc)"),
      cl::value_desc("path"), cl::cat(category)};
  cl::opt<int64_t> threads{
      "threads", cl::desc("threads that compute (default: one a core)"),
      cl::value_desc("T"), cl::init(0), cl::cat(category)};
  cl::opt<double> deadline{
      "deadline", cl::desc("seconds that any wait may last (default: 60)"),
      cl::value_desc("seconds"), cl::init(60), cl::cat(category)};
  cl::list<std::string> inputs{"input", cl::desc("argument I, a .npy file"),
                               cl::value_desc("I=FILE"), cl::cat(category)};
  cl::opt<uint64_t> randomSeed{
      "random", cl::desc("normal random numbers for other arguments"),
      cl::value_desc("seed"), cl::cat(category)};
  cl::list<std::string> outputs{"output", cl::desc("where result I goes"),
                                cl::value_desc("I=FILE"), cl::cat(category)};
  cl::opt<bool> check{"check",
                      cl::desc("compare each attention with dense float64"),
                      cl::cat(category)};
  cl::list<std::string> expected{"expect",
                                 cl::desc("compare result I with a .npy file"),
                                 cl::value_desc("I=FILE"), cl::cat(category)};
  cl::opt<double> absolute{"atol", cl::desc("of --expect (default: 1e-5)"),
                           cl::init(1e-5), cl::cat(category)};
  cl::opt<double> relative{"rtol",
                           cl::desc("of --expect, relative (default: 1e-5)"),
                           cl::init(1e-5), cl::cat(category)};
  cl::opt<bool> verifyEach{
      "verify-each",
      cl::desc("run after each pass, name the first whose numbers change"),
      cl::cat(category)};
  cl::opt<int64_t> repeat{"repeat", cl::desc("run K times, report the median"),
                          cl::value_desc("K"), cl::init(1), cl::cat(category)};
  cl::opt<std::string> trace{"trace", cl::desc("write Chrome trace events"),
                             cl::value_desc("file"), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("print one JSON object"),
                     cl::cat(category)};
  cl::opt<std::string> cpu{
      "march", cl::desc("CPU to compile for (default: native)"),
      cl::value_desc("cpu"), cl::init("native"), cl::cat(category)};
  cl::opt<std::string> object{
      "emit-object",
      cl::desc("write FILE.o and FILE.h for linking, run nothing"),
      cl::value_desc("FILE.o"), cl::cat(category)};
};

Error usage(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

Error parseNumbered(StringRef flag, ArrayRef<std::string> values,
                    NumberedFiles &into) {
  for (StringRef value : values) {
    auto [number, path] = value.split('=');
    unsigned index;
    if (number.getAsInteger(10, index) || path.empty())
      return usage("--" + flag + " '" + value + "': expected I=FILE");
    if (!into.try_emplace(index, path.str()).second)
      return usage("--" + flag + " " + Twine(index) + " is given twice");
  }
  return Error::success();
}

Error oneOf(StringRef flag, StringRef value, ArrayRef<StringRef> known) {
  if (is_contained(known, value))
    return Error::success();
  return usage("--" + flag + " '" + value + "': expected " + join(known, ", "));
}
/// A name, or striped:G.
Error checkLayout(StringRef layout) {
  int64_t granularity;
  StringRef rest = layout;
  if (rest.consume_front("striped:") && !rest.getAsInteger(10, granularity) &&
      granularity >= 1)
    return Error::success();
  if (is_contained({"contiguous", "zigzag", "striped", "balanced"}, layout))
    return Error::success();
  return usage("--layout '" + layout +
               "': expected contiguous, zigzag, striped[:G] or balanced");
}

/// kind[:CHIP], one or several. Kernels are made for one chip.
Expected<DeviceOptions> parseDevices(StringRef text) {
  DeviceOptions devices;
  devices.kinds.clear();
  std::optional<StringRef> chip;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [kind, suffix] = part.split(':');
    if (!is_contained({"cpu", "vgpu", "cuda"}, kind) ||
        (part.contains(':') && !suffix.starts_with("sm_")) ||
        (kind == "cpu" && !suffix.empty()))
      return usage(
          "--device '" + part +
          "': expected cpu, cuda[:CHIP] or vgpu[:CHIP], where CHIP is " +
          mlir::ring::kernelChips());
    devices.kinds.push_back(kind.str());
    if (suffix.empty())
      continue;
    if (chip && *chip != suffix)
      return usage("--device '" + text + "': expected one chip");
    chip = suffix;
  }
  if (chip)
    devices.chip = chip->str();
  return devices;
}

/// More than any GPU has.
constexpr int64_t kMaxMargin = 1024;
/// Each rank is a thread of this process; many more would only be a slip.
constexpr int64_t kMaxRanks = 1024;
} // namespace

std::string DeviceOptions::spelling() const { return join(kinds, ","); }

Expected<RunOptions> parseOptions(int argc, char **argv) {
  cl::ResetCommandLineParser();
  Flags flags;
  std::string message;
  raw_string_ostream stream(message);
  if (!cl::ParseCommandLineOptions(
          argc, argv,
          "Runs a function on whole tensors as a ring of ranks.\n\n"
          "Exit codes: 0 right, 1 wrong numbers, 2 usage, 3 refused or invalid "
          "input.\n",
          &stream))
    return usage(StringRef(message).split('\n').first);

  RunOptions options;
  options.file = flags.file;
  options.entry = flags.entry;
  options.variant = flags.variant;
  options.ptxas = flags.ptxas;
  options.graph = flags.graph;
  options.transport = flags.transport;
  options.cpu = flags.cpu;
  options.prefetchDistance = flags.prefetchDistance;
  options.blockwiseFfn = flags.blockwiseFfn;
  options.threads = flags.threads;
  options.deadline = flags.deadline;
  options.check = flags.check;
  options.verifyEach = flags.verifyEach;
  options.json = flags.json;
  options.atol = flags.absolute;
  options.rtol = flags.relative;
  options.repeat = flags.repeat;
  options.trace = flags.trace;
  options.object = flags.object;
  if (flags.ranks.getNumOccurrences())
    options.ranks = flags.ranks;
  if (flags.layout.getNumOccurrences())
    options.layout = flags.layout;
  if (flags.randomSeed.getNumOccurrences())
    options.random = flags.randomSeed;
  if (flags.smMargin.getNumOccurrences())
    options.smMargin = flags.smMargin;

  auto atLeast = [](StringRef flag, int64_t value, int64_t least) -> Error {
    if (value >= least)
      return Error::success();
    return usage("--" + flag + " is " + Twine(value) + ", expected " +
                 Twine(least) + " or more");
  };
  auto atMost = [](StringRef flag, int64_t value, int64_t most) -> Error {
    if (value <= most)
      return Error::success();
    return usage("--" + flag + " is " + Twine(value) + ", expected " +
                 Twine(most) + " or less");
  };
  Error error = Error::success();
  auto also = [&](Error next) {
    if (error)
      consumeError(std::move(next));
    else
      error = std::move(next);
  };
  also(parseNumbered("input", flags.inputs, options.inputs));
  also(parseNumbered("output", flags.outputs, options.outputs));
  also(parseNumbered("expect", flags.expected, options.expected));
  also(oneOf("variant", options.variant,
             {"auto", "pass-kv", "pass-q", "all-gather"}));
  if (Expected<DeviceOptions> devices = parseDevices(flags.device))
    options.devices = std::move(*devices);
  else
    also(devices.takeError());
  also(oneOf("transport", options.transport, {"threads", "mpi", "nccl"}));
  if (options.transport == "nccl" && options.devices.any("cpu"))
    also(usage("--transport nccl needs a GPU for each rank: --device cuda or "
               "vgpu"));
  if (options.transport == "nccl" && options.devices.any("cuda") &&
      options.devices.any("vgpu"))
    also(usage("--transport nccl needs GPUs of one kind: --device cuda or "
               "vgpu"));
  if (options.graph && options.transport != "nccl")
    also(usage("--graph needs --transport nccl"));
  if (options.graph && !options.trace.empty())
    also(usage("--graph and --trace exclude each other: the times of kernels "
               "are not kept in a graph"));
  if (!options.ptxas.empty() && !options.devices.any("cuda"))
    also(usage("--ptxas needs --device cuda"));
  if (options.smMargin) {
    if (!options.devices.anyGPU())
      also(usage("--sm-margin needs --device cuda or vgpu"));
    also(atLeast("sm-margin", *options.smMargin, 0));
    also(atMost("sm-margin", *options.smMargin, kMaxMargin));
  }
  if (options.layout)
    also(checkLayout(*options.layout));
  if (options.ranks)
    also(atLeast("ranks", *options.ranks, 1));
  if (options.ranks)
    also(atMost("ranks", *options.ranks, kMaxRanks));
  also(atLeast("prefetch-distance", options.prefetchDistance, 1));
  also(atLeast("blockwise-ffn", options.blockwiseFfn, 0));
  also(atLeast("threads", options.threads, 0));
  also(atLeast("repeat", options.repeat, 1));
  if (options.deadline <= 0)
    also(usage("--deadline is not positive"));
  if (!options.object.empty() && !StringRef(options.object).ends_with(".o"))
    also(usage("--emit-object '" + options.object +
               "': expected a name that ends in .o"));
  if (error)
    return error;
  return options;
}

} // namespace ring::tools
