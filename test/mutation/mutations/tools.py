"""What ring-run finds wrong: lib/Tools."""

from .mutation import Mutation, gtest, lit

MAIN = "lib/Tools/RingRun/RingRunMain.cpp"
COMPARE = "lib/Tools/RingRun/Compare.cpp"
ERRORS = "lib/Tools/RingRun/AttentionErrors.cpp"
DENSE = "lib/Tools/RingRun/DenseAttention.cpp"

FAULTS = lit("Integration/faults.py")
FILES = lit("tools/ring-run/npy_files.py")
REPORT = lit("tools/ring-run/report.py")


def tests(filter):
    return gtest("RingToolsTests", filter)


MUTATIONS = [
    Mutation(
        "results-not-found",
        "on memrefs what the function writes is taken for an input",
        "lib/Tools/RingRun/Signature.cpp",
        "index < inputs ? arguments : results",
        "true ? arguments : results",
        lit("tools/ring-run/forms.py"),
    ),
    Mutation(
        "counts-guard-ignored",
        "a transfer that the last round skips is counted in it too",
        "lib/Dialect/Ring/Transforms/RankProgram.cpp",
        "guarded ? times - 1 : times",
        "times",
        lit("tools/ring-run/forms.py"),
    ),
    Mutation(
        "check-finds-nothing",
        "--check accepts any numbers",
        MAIN,
        "if (!errors->withinTolerance()) {",
        "if (false) {",
        FAULTS,
    ),
    Mutation(
        "check-out-not-measured",
        "--check does not look at out",
        ERRORS,
        "double error = errorOf(got[c], expected[c], allowed);",
        "double error = 0 * errorOf(got[c], expected[c], allowed);",
        tests("AttentionErrors.*"),
    ),
    Mutation(
        "check-lse-not-measured",
        "--check does not look at lse",
        ERRORS,
        "    if (row.worstLse > errors.lse",
        "    if (false && row.worstLse > errors.lse",
        tests("AttentionErrors.*"),
    ),
    Mutation(
        "check-nan-accepted",
        "--check takes a NaN for right",
        ERRORS,
        "return std::isnan(error) ? kInfinity : error;",
        "return std::isnan(error) ? 0 : error;",
        tests("AttentionErrors.*"),
    ),
    Mutation(
        "check-rms-not-measured",
        "--check does not look at 16-bit elements together",
        ERRORS,
        "if (rounding.narrow && sums.finite >= kRootMeanSquareCount) {",
        "if (false) {",
        tests("AttentionErrors.*"),
    ),
    Mutation(
        "expect-finds-nothing",
        "--expect accepts any numbers",
        MAIN,
        "if (!comparison->equal()) {",
        "if (false) {",
        FILES,
    ),
    Mutation(
        "expect-tolerance-ignored",
        "--atol and --rtol have no effect",
        COMPARE,
        "std::fabs(got - expected) - allowed",
        "std::fabs(got - expected)",
        tests("Compare.*"),
    ),
    Mutation(
        "expect-atol-not-passed",
        "--atol is not that of the comparison",
        MAIN,
        "compare(results[index], *expected, options.atol,",
        "compare(results[index], *expected, 0,",
        FILES,
    ),
    Mutation(
        "exit-code-swapped",
        "right numbers end with exit 1, wrong ones with 0",
        MAIN,
        "return right ? Right : WrongNumbers;",
        "return right ? WrongNumbers : Right;",
        FILES,
    ),
    Mutation(
        "exit-code-always-right",
        "wrong numbers end with exit 0",
        MAIN,
        "return right ? Right : WrongNumbers;",
        "return Right;",
        FILES,
    ),
    Mutation(
        "counters-not-compared",
        "what the runtime counted may differ from the program",
        MAIN,
        "bool right = countersAgree(*program, counters);",
        "bool right = true;",
        REPORT,
    ),
    Mutation(
        "counters-of-all-runs",
        "--json gives the bytes of all repetitions",
        MAIN,
        "report.bytesPerRank = counters.bytes_sent / options.repeat;",
        "report.bytesPerRank = counters.bytes_sent;",
        REPORT,
    ),
    Mutation(
        "verify-each-finds-nothing",
        "--verify-each accepts that a pass changes numbers",
        "lib/Tools/RingRun/VerifyEach.cpp",
        "if (!comparison || !comparison->equal()) {",
        "if (false) {",
        lit("tools/ring-run/verify_each.test"),
    ),
    Mutation(
        "reference-lengths-ignored",
        "the dense reference shows all keys of every batch entry",
        DENSE,
        "if (operands.lengths)",
        "if (false)",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-offsets-ignored",
        "the dense reference moves no query",
        DENSE,
        "if (operands.offsets)",
        "if (false)",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-ids-ignored",
        "the dense reference knows no documents",
        DENSE,
        "if (!operands.querySegments)",
        "if (true)",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-padding-ignored",
        "the dense reference shows padding to padding",
        DENSE,
        "return id < 0 ||",
        "return",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-softcap-ignored",
        "the dense reference caps no score",
        DENSE,
        "if (spec.softcap)",
        "if (false)",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-bias-ignored",
        "the dense reference adds no bias",
        DENSE,
        "x += bias[j];",
        "(void)bias[j];",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-score-ignored",
        "the dense reference applies no score region",
        DENSE,
        "if (spec.score)",
        "if (false)",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-sinks-ignored",
        "the dense reference has no sink in the sum",
        DENSE,
        "double total = std::exp(sink - base);",
        "double total = 0;",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-uniform-ignored",
        "the dense reference gives 0 for empty_rows(uniform)",
        DENSE,
        "kind == RowKind::Empty && spec.emptyRows == EmptyRows::Uniform",
        "false",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
    Mutation(
        "reference-not-finite-ignored",
        "the dense reference lets no NaN of a visible value through",
        DENSE,
        "out[r * columns + column] = kNaN;",
        "(void)column;",
        tests("DenseAttention.*:NaiveAttention.*"),
    ),
]
