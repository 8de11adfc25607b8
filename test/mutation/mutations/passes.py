"""The passes from an attention to a program of rounds on memrefs:
lib/Dialect/Ring/Transforms."""

from .mutation import Mutation, clause, lit

FOLDER = "lib/Dialect/Ring/Transforms/"
SHARD = FOLDER + "ShardAttention.cpp"
LAYOUT = FOLDER + "ApplyLayout.cpp"
LAYOUT_TABLES = FOLDER + "LayoutTables.cpp"
SHARED = FOLDER + "SharedTables.cpp"
CLASSIFY = FOLDER + "ClassifyBlocks.cpp"
PIPELINE = FOLDER + "PipelineRounds.cpp"
EXPAND = FOLDER + "ExpandHost.cpp"
IDENTITY = FOLDER + "ProgramIdentity.cpp"
TRANSFERS = FOLDER + "BufferizeTransfers.cpp"


def pass_test(name):
    return lit(f"Dialect/Ring/Transforms/{name}.mlir")


CLAUSES_IR = pass_test("shard-attention-clauses")
PREFETCH = lit("Integration/prefetch_bitwise.py")
MASKS = lit("Integration/cases_masks.py")

SHARDING = [
    Mutation(
        "shard-bias-replicated",
        "every rank gets all rows of the bias",
        SHARD,
        "oneRow ? Cut::Replicated : Cut::Queries",
        "Cut::Replicated",
        clause("bias"),
    ),
    Mutation(
        "shard-mean-omitted",
        "empty_rows(uniform) has no mean of the values",
        SHARD,
        "if (op.getEmptyRows() == EmptyRows::Uniform)",
        "if (false)",
        clause("empty-rows"),
    ),
    Mutation(
        "shard-mean-is-sum",
        "the mean of the values is not divided by their number",
        SHARD,
        "arith::DivFOp::create(nested, loc, args[0], divisor);",
        "args[0];",
        clause("empty-rows"),
    ),
    Mutation(
        "shard-softcap-omitted",
        "the rank function has no softcap",
        SHARD,
        "attention.getSoftcapAttr(), args[0]",
        "FloatAttr(), args[0]",
        clause("softcap"),
    ),
    Mutation(
        "shard-scale-default",
        "the rank function has a scale of 1",
        SHARD,
        "b.getF32FloatAttr(attention.getEffectiveScale())",
        "b.getF32FloatAttr(1.0f)",
        MASKS,
    ),
    Mutation(
        "shard-mask-omitted",
        "the work lists have no mask",
        SHARD,
        "argument(Role::Offsets), attention.getMaskAttr(),",
        "argument(Role::Offsets), MaskAttr(),",
        MASKS,
    ),
    Mutation(
        "shard-lengths-omitted",
        "the work lists have no lengths",
        SHARD,
        "add(Role::Lengths, op.getLengths());",
        "",
        clause("lengths"),
    ),
    Mutation(
        "shard-segments-swapped",
        "the ids of queries and keys change places",
        SHARD,
        """add(Role::QuerySegments, op.getQuerySegments());
  add(Role::KeySegments, op.getKeySegments());""",
        """add(Role::QuerySegments, op.getKeySegments());
  add(Role::KeySegments, op.getQuerySegments());""",
        CLAUSES_IR,
    ),
    Mutation(
        "shard-sinks-omitted",
        "ring.finalize has no sinks",
        SHARD,
        "add(Role::Sinks, op.getSinks());",
        "",
        clause("sinks"),
    ),
    Mutation(
        "shard-score-omitted",
        "the rank function has no score region",
        SHARD,
        "if (!attention.hasScore())",
        "if (true)",
        clause("score"),
    ),
    Mutation(
        "shard-sizes-not-required",
        "sizes known at run time only are not compared",
        SHARD,
        "RequireEqualOp::create(b, size, expected, b.getStringAttr(where + what));",
        "(void)expected;",
        pass_test("shard-attention-dynamic"),
    ),
    Mutation(
        "shard-last-transfer-sent",
        "a transfer follows the last round",
        SHARD,
        "arith::CmpIPredicate::slt, next, rounds",
        "arith::CmpIPredicate::sle, next, rounds",
        pass_test("shard-attention"),
    ),
    Mutation(
        "shard-lse-dropped",
        "ring.finalize gets no memory for lse",
        SHARD,
        "if (attention.getLse())",
        "if (false)",
        pass_test("shard-attention"),
    ),
    Mutation(
        "shard-variants-accepted",
        "every variant is pass-kv",
        SHARD,
        'if (variant != "auto" && variant != "pass-kv") {',
        "if (false) {",
        pass_test("shard-attention-refused"),
    ),
    Mutation(
        "shard-grids-accepted",
        "a grid of several axes is taken for a ring",
        SHARD,
        "if (static_cast<int64_t>(other) != axis && size != 1)",
        "if (false)",
        pass_test("shard-attention-refused"),
    ),
]

LAYOUTS = [
    Mutation(
        "layout-not-applied",
        "ring-apply-layout does nothing",
        LAYOUT,
        "if (hasLayout(program, layout))",
        "if (true)",
        pass_test("apply-layout"),
    ),
    Mutation(
        "layout-not-noted",
        "the rank function does not say its layout",
        LAYOUT,
        "program.function->setAttr(kLayoutAttrName, layout);",
        "",
        pass_test("apply-layout"),
    ),
    Mutation(
        "layout-keys-by-queries",
        "keys and values are scattered by the table of the queries",
        LAYOUT_TABLES,
        "isKeyOrValue ? keys : queries",
        "queries",
        pass_test("apply-layout"),
    ),
    Mutation(
        "layout-of-classified",
        "the layout of classified blocks changes",
        LAYOUT_TABLES,
        "if (!program.isWhole())",
        "if (false)",
        pass_test("apply-layout"),
    ),
    Mutation(
        "layout-run-time-unknown",
        "balanced does not wait for what is known at run time",
        LAYOUT,
        "hasRunTimeVisibility(program.slices.front())",
        "false",
        pass_test("apply-layout-run-time"),
    ),
    Mutation(
        "layout-shared-apart",
        "attentions of a local function are laid out one by one",
        LAYOUT,
        "return caller && isLocalFunction(caller) ? caller : func::FuncOp();",
        "return func::FuncOp();",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-shared-callers",
        "an attention of a local function may be called from elsewhere",
        LAYOUT,
        "if (localCaller(call) != localCaller(first)) {",
        "if (false) {",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-shared-not-all",
        "one attention that is laid out so stands for all",
        LAYOUT,
        "!llvm::all_of(",
        "llvm::none_of(",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-shared-first",
        "under balanced the attention with least to do decides",
        SHARED,
        "a.first > b.first",
        "a.first < b.first",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-shared-full",
        "under balanced attention that sees everything may decide",
        SHARED,
        "? 0 : visible",
        "? visible : visible",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-shared-keys",
        "keys of another sequence get no table",
        SHARED,
        "tables.try_emplace(constantTable(op.getKeyTable()),",
        "tables.try_emplace(constantTable(op.getQueryTable()),",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-shared-scatter",
        "what another call is given too changes its layout",
        SHARED,
        "[&](Operation *user) { return user != call; }",
        "[&](Operation *) { return false; }",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-shared-gather",
        "the results of a local function are joined by the old table",
        SHARED,
        "if (failed(replace(host, gather.getTableMutable())))",
        "if (false)",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-shared-run-time",
        "tables of run time among local ops are not refused",
        SHARED,
        "if (!program.hasConstantTables())",
        "if (false)",
        pass_test("apply-layout-local"),
    ),
    Mutation(
        "layout-of-expanded",
        "the layout of a program changes whose calls do not show",
        LAYOUT_TABLES,
        "if (isa<HostRunOp, mlir::ring::CallOp>(use.getUser()))",
        "if (false)",
        pass_test("apply-layout-local"),
    ),
]

CLASSIFYING = [
    Mutation(
        "classify-does-nothing",
        "blocks stay whole",
        CLASSIFY,
        "op.setWhole(false);",
        "(void)op;",
        pass_test("classify-blocks"),
    ),
    Mutation(
        "classify-a-round-fewer",
        "the loop lacks the last round in which there is something to see",
        CLASSIFY,
        "loop ? counts.rounds : program.ranks()",
        "loop ? counts.rounds - 1 : program.ranks()",
        pass_test("classify-blocks"),
    ),
    Mutation(
        "classify-no-round-fewer",
        "the loop keeps rounds in which nobody sees anything",
        CLASSIFY,
        "loop ? counts.rounds : program.ranks()",
        "program.ranks()",
        pass_test("classify-blocks"),
    ),
    Mutation(
        "classify-offsets-ignored",
        "rounds are left out though offsets may move queries there",
        CLASSIFY,
        "!program.hasConstantTables() || movesQueries(slices)",
        "!program.hasConstantTables()",
        pass_test("classify-blocks"),
    ),
]

PIPELINING = [
    Mutation(
        "pipeline-does-nothing",
        "no transfer is in flight while a round computes",
        PIPELINE,
        "pipeline(*program, *found, prefetchDistance);",
        "",
        pass_test("pipeline-rounds"),
    ),
    Mutation(
        "pipeline-wait-dropped",
        "the last rounds compute without waiting",
        PIPELINE,
        "if (t + 1 < found.rounds)",
        "if (false)",
        pass_test("pipeline-rounds"),
    ),
    Mutation(
        "pipeline-wait-first",
        "a round waits for its next block before it computes",
        PIPELINE,
        """\
    compute(rounds.getInductionVar(), inner);
    wait(inner);
""",
        """\
    wait(inner);
    compute(rounds.getInductionVar(), inner);
""",
        pass_test("pipeline-rounds"),
    ),
    Mutation(
        "pipeline-forwards-oldest",
        "a transfer sends on what the oldest one delivers",
        PIPELINE,
        "start(carried.futures.back())",
        "start(carried.futures.front())",
        PREFETCH,
    ),
    Mutation(
        "pipeline-starts-in-hand",
        "a transfer sends the block in hand, whatever is in flight",
        PIPELINE,
        "start(carried.futures.back())",
        "start(carried.blocks)",
        PREFETCH,
    ),
    Mutation(
        "pipeline-distance-ignored",
        "one transfer is in flight, whatever prefetch-distance says",
        PIPELINE,
        "distance(std::min(distance, found.rounds - 1))",
        "distance(std::min(int64_t(1), found.rounds - 1))",
        pass_test("pipeline-rounds"),
    ),
    Mutation(
        "pipeline-slots-by-one",
        "the program says that it needs a slot more",
        PIPELINE,
        "getI64IntegerAttr(slots)",
        "getI64IntegerAttr(slots + 1)",
        pass_test("pipeline-rounds"),
    ),
    Mutation(
        "pipeline-bytes-of-one-head",
        "the remark counts the bytes of one head, also where all are too many",
        "lib/Dialect/Ring/Transforms/RankProgram.cpp",
        "::ring::bytesPerRank(transfers, key.getDimSize(0), key.getDimSize(1),",
        "::ring::bytesPerRank(transfers, key.getDimSize(0), 1,",
        pass_test("schedule-huge-types"),
    ),
]

BUFFERS = [
    Mutation(
        "expand-replicated-reversed",
        "replicated operands reach the ranks in another order",
        EXPAND,
        "replicated.push_back(operand);",
        "replicated.insert(replicated.begin(), operand);",
        pass_test("expand-host"),
    ),
    Mutation(
        "expand-gather-first-result",
        "all gathers read the first result",
        EXPAND,
        "run.getResult(index)",
        "run.getResult(0 * index)",
        pass_test("expand-host"),
    ),
    Mutation(
        "expand-unpadded",
        "local tensors have no room for the longest rank",
        EXPAND,
        "b.getIndexAttr(view.paddedSize(ranks))",
        "b.getIndexAttr(view.localSize(0))",
        pass_test("expand-host"),
    ),
    Mutation(
        "transfers-stay-tensors",
        "ring-bufferize-transfers leaves what travels to bufferization, which copies",
        TRANSFERS,
        "Travellers(function).run();",
        "",
        pass_test("bufferize-transfers"),
    ),
    Mutation(
        "transfers-stay-tensors-memory",
        "the same, seen by the memory that a rank needs",
        TRANSFERS,
        "Travellers(function).run();",
        "",
        lit("Integration/memory.py"),
    ),
    Mutation(
        "identity-length-overflow",
        "a table longer than any sequence is described with another length",
        IDENTITY,
        "    if (!sum)\n",
        "    if (sum = sum.value_or(0); false)\n",
        pass_test("bufferize-transfers"),
    ),
    Mutation(
        "program-without-lengths",
        "the description of a program lacks how long the sequences are",
        IDENTITY,
        "(Twine(length) + ",
        "(Twine(0) + ",
        pass_test("bufferize-transfers"),
    ),
    Mutation(
        "fingerprint-of-nothing",
        "all programs have one fingerprint",
        IDENTITY,
        "llvm::xxh3_64bits(text)",
        "llvm::xxh3_64bits(StringRef())",
        pass_test("bufferize-transfers"),
    ),
    Mutation(
        "fingerprint-without-tables",
        "programs that differ in long tables have one fingerprint",
        IDENTITY,
        "elideLargeElementsAttrs(INT64_MAX)",
        "elideLargeElementsAttrs(1)",
        pass_test("bufferize-transfers"),
    ),
    Mutation(
        "results-stay-results",
        "ring-results-to-destinations does nothing",
        FOLDER + "ResultsToDestinations.cpp",
        "if (llvm::none_of(function.getResultTypes(), isTensor))",
        "if (true)",
        pass_test("results-to-destinations"),
    ),
    Mutation(
        "results-share-what-they-start-from",
        "two results that start from one fill are computed in one memory",
        FOLDER + "ResultsToDestinations.cpp",
        "if (current.hasOneUse())\n      continue;",
        "if (true)\n      continue;",
        pass_test("results-to-destinations"),
    ),
    Mutation(
        "rank-memory-freed-early",
        "what a rank sends is freed after the last op that names it",
        FOLDER + "FreeEarly.cpp",
        "if (!function.isExternal() && !RankProgram::isRankFunction(function) &&",
        "if (!function.isExternal() &&",
        pass_test("free-early"),
    ),
    Mutation(
        "inputs-writable",
        "bufferization may write to the caller's inputs",
        FOLDER + "ResultsToDestinations.cpp",
        "BoolAttr::get(function.getContext(), false)",
        "BoolAttr::get(function.getContext(), true)",
        pass_test("results-to-destinations"),
    ),
    Mutation(
        "expand-local-as-query",
        "the stack of a local result is along the queries' dimension",
        EXPAND,
        "dim = gather.getDim();",
        "dim = call.getOperand(0).getDefiningOp<ScatterOp>().getDim();",
        pass_test("expand-host-local"),
    ),
    Mutation(
        "expand-local-call",
        "a call of attention among local ops is one of the host",
        EXPAND,
        "if (caller && isLocalFunction(caller))",
        "if (false)",
        pass_test("expand-host-local"),
    ),
]

MUTATIONS = [*SHARDING, *LAYOUTS, *CLASSIFYING, *PIPELINING, *BUFFERS]
