"""The code of the GPU's kernels: lib/Conversion/RingToGPU. What is broken is how they
are generated; the virtual GPU reports it, or the numbers are wrong. Then plans of tiles,
and how a GPU is asked for."""

from .mutation import Mutation, gtest, lit

KERNEL = "lib/Conversion/RingToGPU/AttentionKernel.cpp"
KERNEL_HEADER = "lib/Conversion/RingToGPU/AttentionKernelBuilder.h"
ITEM = "lib/Conversion/RingToGPU/AttentionItem.cpp"
TILES = "lib/Conversion/RingToGPU/AttentionTiles.cpp"
PRODUCTS = "lib/Conversion/RingToGPU/AttentionProducts.cpp"
SOFTMAX = "lib/Conversion/RingToGPU/AttentionSoftmax.cpp"
NON_FINITE_VALUES = "lib/Conversion/RingToGPU/AttentionNonFinite.cpp"
BUILDER = "lib/Conversion/RingToGPU/DeviceBuilder.cpp"
PASS = "lib/Conversion/RingToGPU/RingToGPU.cpp"

CASES = lit("Integration/gpu/cases.test")
NON_FINITE = lit("Integration/gpu/non_finite_values.py")
ROUNDS = lit("Conversion/RingToGPU/rounds.mlir")
REFUSED = lit("Conversion/RingToGPU/refused.mlir")
PLAN = "lib/Conversion/RingToGPU/TilePlan.cpp"
PLAN_HEADER = "lib/Conversion/RingToGPU/TilePlan.h"
PLANS = gtest("RingToGPUTests", "*TilePlan*")
MISSING = lit("Integration/gpu/missing_tools.py")
FLAGS = lit("tools/ring-run/device_flags.py")


def kernel(name, what, original, broken, file=KERNEL, test=CASES):
    return Mutation(f"gpu-{name}", what, file, original, broken, test)


MUTATIONS = [
    kernel(
        "wait-keys",
        "a tile of K is not waited for",
        "  b.waitForCopies(openCopies());\n  b.barrier(); // K is there",
        "  b.barrier(); // K is there",
    ),
    kernel(
        "wait-values",
        "a tile of V is not waited for",
        "  b.waitForCopies(openCopies());\n  b.branch(needsFiniteValues",
        "  b.branch(needsFiniteValues",
    ),
    kernel(
        "wait-too-little",
        "a wait leaves one group of copies more",
        "return 2 * (plan.stages - 1);",
        "return 2 * (plan.stages - 1) + 1;",
        file=KERNEL_HEADER,
    ),
    kernel(
        "barrier-keys",
        "no barrier before K is read, and before V is overwritten",
        "  b.barrier(); // K is there",
        "  // K is there",
    ),
    kernel(
        "barrier-values",
        "no barrier before V is read, and before K is overwritten",
        "  b.barrier(); // V and",
        "  // V and",
    ),
    kernel(
        "fence-warp",
        "lanes read what others wrote in shared memory without a fence of the warp",
        "b.store(b.i32(0), warpInfo(kFinding));\n  b.syncWarp();",
        "b.store(b.i32(0), warpInfo(kFinding));",
        file=ITEM,
    ),
    kernel(
        "swizzle-copy",
        "tiles are copied without the permutation",
        "Value permuted = b.bxor(b.urem(chunk, width), number);",
        "Value permuted = b.urem(chunk, width);",
        file=TILES,
    ),
    kernel(
        "swizzle-matrices",
        "operands are read without the permutation",
        "b.bxor(b.bxor(place.bit, number), chunk % width);",
        "b.bxor(place.bit, chunk % width);",
        file=TILES,
    ),
    kernel(
        "fragment-weights",
        "two registers of P change places",
        "return {b.bits(p[at]), b.bits(p[at + 2]), b.bits(p[at + 1]),",
        "return {b.bits(p[at]), b.bits(p[at + 1]), b.bits(p[at + 2]),",
        file=PRODUCTS,
    ),
    kernel(
        "fragment-halves",
        "the halves of a register of P change places",
        "b.pack(productKind(), p[at + half], p[at + half + 1])",
        "b.pack(productKind(), p[at + half + 1], p[at + half])",
        file=PRODUCTS,
    ),
    kernel(
        "values-untransposed",
        "V is loaded as K is",
        "/*transposed=*/true);\n  Values registers;\n  for (int64_t tile : {2 * pair",
        "/*transposed=*/false);\n  Values registers;\n  for (int64_t tile : {2 * pair",
        file=PRODUCTS,
    ),
    kernel(
        "tf32-low-part",
        "the low parts of f32 are left out",
        "    sum = b.mma(productKind(), a.low, other.high, sum);\n    sum = b.mma(productKind(), a.high, other.low, sum);\n",
        "",
        file=PRODUCTS,
    ),
    kernel(
        "state-decay",
        "the sum is not rescaled to a new maximum",
        "sum = b.fmul(sum, factor);",
        "",
        file=SOFTMAX,
    ),
    kernel(
        "empty-maximum",
        "-inf is subtracted from itself",
        "return b.select(empty, b.f32(0), max);",
        "return max;",
        file=SOFTMAX,
    ),
    kernel(
        "fused-always",
        "log2 e is multiplied into scores of any size",
        "b.voteAll(areSmall),",
        "b.truth(true),",
        file=SOFTMAX,
    ),
    kernel(
        "hidden-values",
        "what is not finite in V is multiplied by 0",
        "[&]() -> Values { return {foundNonFinite(tile)}; },",
        "[&]() -> Values { return {b.truth(false)}; },",
        test=NON_FINITE,
    ),
    kernel(
        "one-warp-finds",
        "what other warps found in V is not read",
        "for (int64_t w = 0; w < plan.warps; ++w)",
        "for (int64_t w = 0; w < 1; ++w)",
        file=NON_FINITE_VALUES,
        test=NON_FINITE,
    ),
    kernel(
        "found-in-any-tile",
        "a tile of V is taken for one in which something was found before",
        "Value any = b.truth(false), found = b.add(tile.begin, 1);",
        "Value any = b.truth(false), found = b.i32(1);",
        file=NON_FINITE_VALUES,
        test=NON_FINITE,
    ),
    kernel(
        "full-tile-masked",
        "a full tile, whose keys have no positions, is masked where V is not finite",
        "visible = b.choose(isPartial(keys), masked, [&] { return all; });",
        "visible = masked();",
        file=NON_FINITE_VALUES,
        test=NON_FINITE,
    ),
    kernel(
        "scores-unguarded",
        "an infinity in Q or K makes NaN of its scores, in f32",
        "b.voteAll(finite), [&] { return fast; },",
        "b.truth(true), [&] { return fast; },",
        file=PRODUCTS,
        test=NON_FINITE,
    ),
    kernel(
        "overflow-with-low",
        "where a product of high parts overflows, the low parts count, in f32",
        "x = b.select(isMember, b.f32(each.value), x);",
        "x = b.select(b.band(isMember, b.truth(std::isnan(each.value))), b.f32(each.value), x);",
        file=PRODUCTS,
        test=NON_FINITE,
    ),
    kernel(
        "payload-cut",
        "a NaN loses its payload and becomes an infinity, in f32",
        "high = b.select(b.compare(arith::CmpFPredicate::ORD, x, x), high,",
        "high = b.select(b.truth(true), high,",
        file=PRODUCTS,
        test=NON_FINITE,
    ),
    kernel(
        "largest-rounds-up",
        "the largest numbers become infinities in V, in f32",
        "return accumulate(p, withEffects, stage, Guard::Largest);",
        "return accumulate(p, withEffects, stage, Guard::None);",
        test=NON_FINITE,
    ),
    kernel(
        "copy-permutation",
        "the rows that a thread copies next are permuted as its first one is",
        "Value permuted = b.bxor(inTile, number * SharedTile::kChunkBytes);",
        "Value permuted = inTile;",
        file=TILES,
    ),
    kernel(
        "weights-in-place",
        "all steps of P V take the weights of the first, in f32",
        "acc.append(Values(weights.drop_front(ofStep)));",
        "acc.append(Values(weights.drop_back(ofStep)));",
        file=PRODUCTS,
    ),
    kernel(
        "pack-order",
        "two values change places in a register",
        "VectorType::get({2}, getBF16Type()), upper, lower,",
        "VectorType::get({2}, getBF16Type()), lower, upper,",
        file=BUILDER,
    ),
    kernel(
        "never-last",
        "no round writes the results",
        "return constant(true);",
        "return constant(false);",
        file=PASS,
        test=ROUNDS,
    ),
    kernel(
        "travel-on-host",
        "blocks of the host's memory travel",
        "      import(first, function.getArgument(argument));",
        "      (void)first;",
        file=PASS,
        test=ROUNDS,
    ),
    kernel(
        "rounds-that-differ",
        "the first round speaks for others that differ",
        "if (!areAlike(first, op)) {",
        "if (false) {",
        file=PASS,
        test=REFUSED,
    ),
    kernel(
        "plan-overlap",
        "the second stage of keys lies where values do",
        "keysOffset() + stages * keys().bytes();",
        "keysOffset() + keys().bytes();",
        file=PLAN_HEADER,
        test=PLANS,
    ),
    kernel(
        "plan-too-short",
        "half of what is known of keys lies behind the shared memory",
        "keyInfoOffset() + 8 * keyTile;",
        "keyInfoOffset() + 4 * keyTile;",
        file=PLAN_HEADER,
        test=PLANS,
    ),
    kernel(
        "plan-empty-rows",
        "a quarter of a tile may be empty",
        ">= rows - rows / 8)",
        ">= rows - rows / 4)",
        file=PLAN,
        test=PLANS,
    ),
    kernel(
        "plan-any-memory",
        "a plan may need any memory",
        "if (plan.sharedBytes() > limits.sharedBytes ||",
        "if (false ||",
        file=PLAN,
        test=PLANS,
    ),
    kernel(
        "plan-values-cut",
        "the last columns of values are left out",
        "return llvm::alignTo(shape.valueDepth, 16) / 8;",
        "return shape.valueDepth / 16 * 2;",
        file=PLAN,
        test=PLANS,
    ),
    kernel(
        "plan-not-declared",
        "a launch asks for more shared memory than planned",
        "      plan.sharedBytes(), plan.queryTile(),",
        "      plan.sharedBytes() + 16, plan.queryTile(),",
        file=PASS,
        test=ROUNDS,
    ),
    kernel(
        "ptxas-empty-cubin",
        "a ptxas may write nothing",
        "if (!buffer || (*buffer)->getBufferSize() == 0)",
        "if (!buffer)",
        file="lib/Target/GPU/Ptxas.cpp",
        test=MISSING,
    ),
    kernel(
        "ptxas-prints-kernels",
        "an error of ptxas prints all of the kernels",
        "return emitError(kernels.getLoc(), message);",
        "return kernels.emitError(message);",
        file="lib/Target/GPU/SerializeKernels.cpp",
        test=MISSING,
    ),
    kernel(
        "margin-none",
        "--sm-margin 0 is the default",
        "*options.smMargin == 0 ? -1 :",
        "*options.smMargin == 0 ? 0 :",
        file="lib/Tools/RingRun/Execute.cpp",
        test=FLAGS,
    ),
    kernel(
        "device-count",
        "any number of devices is left to the runtime",
        "devices != 1 && devices != static_cast<size_t>(program->ranks))",
        "false)",
        file="lib/Tools/RingRun/RingRunMain.cpp",
        test=FLAGS,
    ),
]
