"""Parsers and verifiers of the dialect: lib/Dialect/Ring/IR."""

from .mutation import Mutation, lit

FOLDER = "lib/Dialect/Ring/IR/"
OPS = FOLDER + "RingOps.cpp"
SHARED = FOLDER + "Verification.cpp"


def ir_test(name):
    return lit(f"Dialect/Ring/IR/{name}.mlir")


SEGMENTS = ir_test("operand_segments_verification")


def segments(op, file, groups):
    return Mutation(
        f"segments-of-{op}-unchecked",
        f"ring.{op} takes as many operands of a group as the generic form says",
        FOLDER + file,
        f"verifyRequiredOperands(*this, {{{groups}}})",
        "verifyRequiredOperands(*this, {})",
        SEGMENTS,
    )


MUTATIONS = [
    segments("attention", "RingAttentionOps.cpp", "0, 1, 2"),
    segments("slices", "RingStateOps.cpp", "0, 1, 2, 3"),
    segments("finalize", "RingStateOps.cpp", "0, 1, 2, 5"),
    segments("tables", "RingTableOps.cpp", "0, 1, 6, 7"),
    Mutation(
        "ranks-without-limit",
        "an op may name more ranks than a ring has",
        SHARED,
        "ranks >= 1 && ranks <= kMaxRingSize",
        "ranks >= 1",
        ir_test("tables_verification"),
    ),
    Mutation(
        "ranks-may-be-none",
        "an op may name no rank",
        SHARED,
        "ranks >= 1 && ranks <= kMaxRingSize",
        "ranks <= kMaxRingSize",
        ir_test("tables_verification"),
    ),
    Mutation(
        "score-used-outside",
        "operations before a score region may use its values",
        OPS,
        "  if (user) {",
        "  if (false) {",
        ir_test("score_parsing"),
    ),
    Mutation(
        "score-arguments-used-outside",
        "operations before a score region may use its arguments",
        OPS,
        "  lookAtArguments(region);\n",
        "",
        ir_test("score_parsing"),
    ),
    Mutation(
        "score-nested-used-outside",
        "operations before a score region may use arguments of its inner regions",
        OPS,
        "    llvm::for_each(op->getRegions(), lookAtArguments);\n",
        "",
        ir_test("score_parsing"),
    ),
    Mutation(
        "score-empty-is-none",
        "score {} counts as no score region",
        OPS,
        "    score.emplaceBlock();",
        "    return success();",
        ir_test("score_parsing"),
    ),
]
