//===- Ptxas.cpp - NVIDIA's assembler -------------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptxas.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <vector>

using namespace llvm;
using namespace mlir::ring;

static Error ptxasError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// A file that is removed with this object.
namespace {
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix) {
    code = sys::fs::createTemporaryFile("ring", suffix, path);
    if (!code)
      remover.setFile(path);
  }
  std::error_code code;
  SmallString<128> path;

private:
  FileRemover remover;
};
} // namespace

/// Runs the program; what it printed, or an error.
static Expected<std::string> run(StringRef program, ArrayRef<StringRef> flags,
                                 int &status) {
  TemporaryFile output("out");
  if (output.code)
    return ptxasError("cannot make a temporary file: " + output.code.message());
  SmallVector<StringRef> arguments = {program};
  llvm::append_range(arguments, flags);
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(output.path),
                                          StringRef(output.path)};
  std::string message;
  constexpr unsigned kSeconds = 120;
  status =
      sys::ExecuteAndWait(program, arguments, /*Env=*/std::nullopt, redirects,
                          kSeconds, /*MemoryLimit=*/0, &message);
  // -1: not started; -2: a signal or the time limit ended it.
  if (status == -1)
    return ptxasError("cannot run '" + program + "': " + message);
  if (status < 0)
    return ptxasError("'" + program + "' has failed: " + message);
  auto buffer = MemoryBuffer::getFile(output.path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// The line that says what is wrong: notes and warnings may stand before it.
static std::string complaint(StringRef text, int status) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line.contains("fatal") || line.contains("error"))
      return line.trim().str();
  return lines.empty() ? "exit code " + std::to_string(status)
                       : lines.front().trim().str();
}

/// ptxas of the Python package in a virtual environment; empty if it has none.
static std::string inEnvironment(StringRef environment) {
  SmallString<256> library(environment);
  sys::path::append(library, "lib");
  std::error_code code;
  for (sys::fs::directory_iterator it(library, code), end; it != end && !code;
       it.increment(code)) {
    for (StringRef folder : {"cu13", "cuda_nvcc"}) {
      SmallString<256> path(it->path());
      sys::path::append(path, "site-packages", "nvidia", folder);
      sys::path::append(path, "bin", "ptxas");
      if (sys::fs::can_execute(path))
        return path.str().str();
    }
  }
  return "";
}

/// The virtual environment that ./dev keeps beside the build tree.
static std::string projectEnvironment() {
  std::string program = sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&projectEnvironment));
  // build/bin/ring-opt
  SmallString<256> path(program);
  for (int level = 0; level < 3; ++level)
    sys::path::remove_filename(path);
  sys::path::append(path, ".venv");
  return path.str().str();
}

static std::string locate() {
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  if (auto environment = sys::Process::GetEnv("VIRTUAL_ENV"))
    if (std::string path = inEnvironment(*environment); !path.empty())
      return path;
  return inEnvironment(projectEnvironment());
}

Expected<Ptxas> Ptxas::find(StringRef option) {
  Ptxas ptxas;
  ptxas.path = option.str();
  if (ptxas.path.empty())
    ptxas.path = sys::Process::GetEnv("RING_PTXAS").value_or("");
  if (ptxas.path.empty())
    ptxas.path = locate();
  if (ptxas.path.empty())
    return ptxasError("no ptxas: not in PATH, RING_PTXAS is not set, and no "
                      "Python package nvidia-cuda-nvcc in the virtual "
                      "environment");
  int status;
  Expected<std::string> text = run(ptxas.path, {"--version"}, status);
  if (!text)
    return text.takeError();
  // "Cuda compilation tools, release 13.0, V13.0.88"
  StringRef release = StringRef(*text).split("release ").second;
  ptxas.version = release.split(',').first.str();
  if (status != 0 || ptxas.version.empty() || ptxas.version.size() > 16)
    return ptxasError("'" + ptxas.path +
                      "' is no ptxas: --version says nothing "
                      "of a release");
  return ptxas;
}

Expected<Ptxas::Output> Ptxas::assemble(StringRef ptx, StringRef chip) const {
  TemporaryFile source("ptx"), target("cubin");
  if (source.code || target.code)
    return ptxasError("cannot make a temporary file");
  {
    std::error_code code;
    raw_fd_ostream os(source.path, code);
    os << ptx;
    os.close();
    if (code || os.has_error())
      return ptxasError("cannot write '" + source.path + "'");
  }
  int status;
  std::string flag = ("-arch=" + chip).str();
  Expected<std::string> text =
      run(path, {flag, "-O3", source.path, "-o", target.path}, status);
  if (!text)
    return ptxasError("ptxas " + version + ": " + toString(text.takeError()));
  std::string name = "ptxas " + version + " ('" + path + "')";
  if (status != 0)
    return ptxasError(name + " refuses the kernels for " + chip + ": " +
                      complaint(*text, status));
  Output output;
  auto buffer = MemoryBuffer::getFile(target.path);
  // The file is there from the start, as a name that nobody else takes.
  if (!buffer || (*buffer)->getBufferSize() == 0)
    return ptxasError(name + " has written no cubin");
  output.cubin = (*buffer)->getBuffer().str();
  SmallVector<StringRef> lines;
  StringRef(*text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line.contains("arning"))
      output.messages += (line.trim() + "\n").str();
  return output;
}
