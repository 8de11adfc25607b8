//===- RingIRTest.cpp - The C++ interface of the ring dialect -------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lit tests cannot reach, since assembly cannot spell it or nothing prints
// it.
//
//===----------------------------------------------------------------------===//

#include "ring/Dialect/Ring/IR/RingDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::ring;

namespace {

class RingIRTest : public ::testing::Test {
protected:
  RingIRTest() {
    context.loadDialect<RingDialect, shard::ShardDialect, arith::ArithDialect,
                        func::FuncDialect>();
  }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    return parseSourceString<ModuleOp>(text, &context);
  }

  MLIRContext context;
};

TEST_F(RingIRTest, MaskWithSidesHasAWindow) {
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  std::optional<int64_t> none;
  std::optional<Alignment> noAlignment;
  EXPECT_FALSE(MaskAttr::getChecked(
      emitError, &context, /*causal=*/false, /*left=*/std::optional<int64_t>(3),
      /*right=*/none, /*hasWindow=*/false, /*chunk=*/none, /*prefix=*/none,
      /*align=*/noAlignment));
  EXPECT_EQ(message, "window sides without a window");
}

TEST_F(RingIRTest, MaskIsBoundToSizes) {
  auto bind = [&](StringRef text) {
    auto mask = cast<MaskAttr>(parseAttribute(text, &context));
    return mask.bind(/*queryCount=*/5, /*keyCount=*/2);
  };
  EXPECT_TRUE(bind("#ring.mask<window = [*, *]>").isFull());

  auto mask = bind("#ring.mask<causal, window = [7, 0], chunk = 4, prefix = 1, "
                   "align = bottom_right>");
  EXPECT_TRUE(mask.causal);
  EXPECT_EQ(mask.left, 7);
  EXPECT_EQ(mask.right, 0);
  EXPECT_EQ(mask.chunk, 4);
  EXPECT_EQ(mask.prefix, 1);
  EXPECT_EQ(mask.shift, -3);

  EXPECT_EQ(bind("#ring.mask<causal, align = top_left>").shift, 0);
  EXPECT_EQ(bind("#ring.mask<window = [*, 3]>").left,
            ::ring::PositionalMask::kUnbounded);
}

TEST_F(RingIRTest, LayoutSpellings) {
  for (StringRef spelling :
       {"contiguous", "zigzag", "striped", "striped:16", "balanced"}) {
    LayoutAttr layout = LayoutAttr::fromSpelling(&context, spelling);
    ASSERT_TRUE(layout) << spelling.str();
    EXPECT_EQ(layout.spelling(), spelling);
  }
  for (StringRef spelling :
       {"", "zig", "zigzag:2", "zigzag:", "striped:", "striped:0", "striped:-1",
        "striped:x", "striped:4:4", "striped:99999999999999999999"})
    EXPECT_FALSE(LayoutAttr::fromSpelling(&context, spelling))
        << spelling.str();
}

TEST_F(RingIRTest, LayoutMakesTables) {
  ::ring::LayoutPair tables = LayoutAttr::fromSpelling(&context, "contiguous")
                                  .tables(/*ranks=*/2, /*queryCount=*/4,
                                          /*keyCount=*/6, {});
  auto end = [](const std::vector<::ring::LayoutEntry> &table) {
    return table.back().begin + table.back().block * table.back().count;
  };
  EXPECT_EQ(end(tables.queries), 4);
  EXPECT_EQ(end(tables.keys), 6);
}

TEST_F(RingIRTest, TablesBecomeConstantsAndBack) {
  std::vector<::ring::LayoutEntry> entries = {{0, 0, 3, 6, 2}, {1, 3, 3, 6, 1}};
  OwningOpRef<ModuleOp> module = parse("");
  auto builder = OpBuilder::atBlockBegin(module->getBody());
  auto constant = arith::ConstantOp::create(builder, module->getLoc(),
                                            tableAttr(&context, entries));
  auto parsed = parseTable(constant);
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), entries.size());
  for (auto [got, expected] : llvm::zip_equal(*parsed, entries)) {
    EXPECT_EQ(got.owner, expected.owner);
    EXPECT_EQ(got.begin, expected.begin);
    EXPECT_EQ(got.block, expected.block);
    EXPECT_EQ(got.stride, expected.stride);
    EXPECT_EQ(got.count, expected.count);
  }
}

TEST_F(RingIRTest, OtherValuesAreNoTable) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    func.func @f(%argument: tensor<4x5xi64>) {
      %columns = arith.constant dense<0> : tensor<5x4xi64>
      %bits = arith.constant dense<0> : tensor<4x5xi32>
      %rank = arith.constant dense<0> : tensor<5xi64>
      return
    }
  )mlir");
  auto function = *module->getOps<func::FuncOp>().begin();
  EXPECT_FALSE(parseTable(function.getArgument(0)));
  for (auto constant : function.getOps<arith::ConstantOp>())
    EXPECT_FALSE(parseTable(constant));
}

TEST_F(RingIRTest, OrderOfEachAxis) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    shard.grid @ordered(shape = 4x2) {ring.order = [0, 2, 3, 1]}
    shard.grid @plain(shape = 3)
  )mlir");
  auto order = [&](StringRef grid, int64_t axis) {
    return getRingOrder(module->lookupSymbol<shard::GridOp>(grid), axis);
  };
  // The rank at the next place.
  EXPECT_EQ(order("ordered", 0).owner(/*rank=*/2, /*round=*/1), 0);
  EXPECT_EQ(order("ordered", 0).owner(/*rank=*/0, /*round=*/1), 1);
  // An order of four ranks says nothing about two.
  EXPECT_EQ(order("ordered", 1).owner(/*rank=*/0, /*round=*/1), 1);
  EXPECT_EQ(order("plain", 0).owner(/*rank=*/0, /*round=*/1), 2);
}

TEST_F(RingIRTest, EffectiveScaleAndMask) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    func.func @f(%q: tensor<1x1x4x64xf32>) {
      %a = ring.attention %q, %q, %q
        : (tensor<1x1x4x64xf32>, tensor<1x1x4x64xf32>, tensor<1x1x4x64xf32>) -> tensor<1x1x4x64xf32>
      %b = ring.attention %q, %q, %q mask(<causal>) scale(3.0)
        : (tensor<1x1x4x64xf32>, tensor<1x1x4x64xf32>, tensor<1x1x4x64xf32>) -> tensor<1x1x4x64xf32>
      return
    }
  )mlir");
  auto function = *module->getOps<func::FuncOp>().begin();
  auto attentions = llvm::to_vector(function.getOps<AttentionOp>());
  EXPECT_EQ(attentions[0].getEffectiveScale(), 0.125f);
  EXPECT_FALSE(attentions[0].getEffectiveMask().dependsOnPositions());
  EXPECT_EQ(attentions[1].getEffectiveScale(), 3.0f);
  EXPECT_TRUE(attentions[1].getEffectiveMask().getCausal());
}

} // namespace
