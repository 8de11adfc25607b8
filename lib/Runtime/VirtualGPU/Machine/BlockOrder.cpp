//===- BlockOrder.cpp - In which order blocks are laid out ----------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace ring::vgpu;

namespace {
/// Tarjan's strongly connected components of some blocks, without the edges to
/// `header`; in reverse topological order.
class Components {
public:
  Components(ArrayRef<Block *> blocks, Block *header)
      : inside(blocks.begin(), blocks.end()), header(header) {
    visit(header);
  }
  SmallVector<SmallVector<Block *>> found;

private:
  unsigned visit(Block *block) {
    unsigned number = ++last, lowest = number;
    numbers[block] = number;
    stack.push_back(block);
    // The last successor first: it is finished first, and so comes last.
    for (Block *next : llvm::reverse(block->getSuccessors())) {
      if (next == header || !inside.contains(next))
        continue;
      if (!numbers.count(next))
        lowest = std::min(lowest, visit(next));
      else if (!done.contains(next))
        lowest = std::min(lowest, numbers[next]);
    }
    if (lowest != number)
      return lowest;
    SmallVector<Block *> &component = found.emplace_back();
    do {
      component.push_back(stack.pop_back_val());
      done.insert(component.back());
    } while (component.back() != block);
    // The block that was met first leads.
    std::swap(component.front(), component.back());
    return lowest;
  }

  llvm::DenseSet<Block *> inside, done;
  Block *header;
  llvm::DenseMap<Block *, unsigned> numbers;
  SmallVector<Block *> stack;
  unsigned last = 0;
};
} // namespace

/// `blocks` form a loop that is entered at `header`, or are all.
static void order(ArrayRef<Block *> blocks, Block *header,
                  SmallVectorImpl<Block *> &out) {
  Components components(blocks, header);
  for (ArrayRef<Block *> component : llvm::reverse(components.found)) {
    if (component.size() == 1)
      out.push_back(component.front());
    else
      order(component, component.front(), out);
  }
}

SmallVector<Block *> ring::vgpu::orderBlocks(Region &region) {
  SmallVector<Block *> blocks, out;
  for (Block &block : region)
    blocks.push_back(&block);
  order(blocks, blocks.front(), out);
  return out;
}
