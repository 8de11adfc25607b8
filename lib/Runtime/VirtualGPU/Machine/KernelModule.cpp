//===- KernelModule.cpp - Images of kernels -------------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Machine.h"
#include "Block.h"
#include "Decoder.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <map>
#include <mutex>

using namespace mlir;
using namespace ring::vgpu;

namespace ring::vgpu {
class Kernel {
public:
  Program program;
};
const Program &programOf(const Kernel &kernel) { return kernel.program; }
} // namespace ring::vgpu

/// "file:line:column", where the location has that.
static void printPlace(llvm::raw_ostream &os, Location location) {
  if (auto place = location->findInstanceOf<FileLineColLoc>())
    os << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn();
  else
    os << location;
}

struct KernelModule::Content {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module; ///< reports print its ops
  std::map<std::string, Kernel, std::less<>> kernels;
};

KernelModule::KernelModule() : content(std::make_unique<Content>()) {}
KernelModule::~KernelModule() = default;

std::unique_ptr<KernelModule> KernelModule::load(std::string_view image,
                                                 std::string &error) {
  std::unique_ptr<KernelModule> result(new KernelModule);
  Content &content = *result->content;
  MLIRContext &context = content.context;
  context.loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, gpu::GPUDialect,
                      DLTIDialect>();
  error.clear();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    llvm::raw_string_ostream os(error);
    os << (error.empty() ? "" : "\n");
    printPlace(os, diagnostic.getLocation());
    os << ": " << diagnostic.str();
    return success();
  });
  // Bytecode has to be aligned.
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
      StringRef(image.data(), image.size()), "kernels");
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  content.module = parseSourceFile<ModuleOp>(sources, &context);
  if (!content.module) {
    if (error.empty())
      error = "the image is no module";
    return nullptr;
  }
  WalkResult walk = content.module->walk([&](LLVM::LLVMFuncOp function) {
    if (!isa<gpu::GPUModuleOp>(function->getParentOp()) ||
        function.isExternal() ||
        !(function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
          function->hasAttr(gpu::GPUDialect::getKernelFuncAttrName())))
      return WalkResult::advance();
    std::string name = function.getSymName().str();
    if (content.kernels.count(name)) {
      function.emitError("two kernels of this name: '") << name << "'";
      return WalkResult::interrupt();
    }
    Kernel &kernel = content.kernels[name];
    return failed(Decoder(function, kernel.program).run())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return nullptr;
  return result;
}

const Kernel *KernelModule::find(std::string_view name) const {
  auto it = content->kernels.find(name);
  return it == content->kernels.end() ? nullptr : &it->second;
}

std::vector<std::string> KernelModule::kernels() const {
  std::vector<std::string> names;
  for (const auto &entry : content->kernels)
    names.push_back(entry.first);
  return names;
}

const std::vector<size_t> &KernelModule::parameterBytes(const Kernel &kernel) {
  return kernel.program.parameterBytes;
}

KernelLimits KernelModule::limits(const Kernel &kernel) {
  const Program &program = kernel.program;
  return {program.requiredBlock, program.maxThreads, program.staticSharedBytes};
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string Fault::text() const {
  std::string result =
      "kernel '" + kernel + "', block (" + std::to_string(block[0]) + ", " +
      std::to_string(block[1]) + ", " + std::to_string(block[2]) + ")";
  if (thread >= 0)
    result += ", thread " + std::to_string(thread);
  result += ": " + message;
  if (!op.empty())
    result += ", at " + op;
  return result;
}

std::string ring::vgpu::Block::describe(const Inst &inst) const {
  // Names of values are numbered while printing, for one thread at a time.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  auto *op = const_cast<Operation *>(
      static_cast<const Operation *>(program.sources[inst.source]));
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().skipRegions());
  os << " (";
  printPlace(os, op->getLoc());
  os << ")";
  return text;
}

void ring::vgpu::Block::fault(const Warp &warp, const Inst &inst, int lane,
                              std::string message) {
  if (!found)
    found = Fault{program.name, id, lane < 0 ? -1 : warp.thread(lane),
                  describe(inst), std::move(message)};
}
