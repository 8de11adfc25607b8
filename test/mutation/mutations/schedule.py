"""ring-verify-schedule: each of its checks is left out once."""

from .mutation import Mutation, lit

FOLDER = "lib/Dialect/Ring/Transforms/"
CHECKS = FOLDER + "ScheduleChecks.cpp"
TABLES = FOLDER + "ScheduleTables.cpp"
INTERPRETER = FOLDER + "ScheduleInterpreter.cpp"


def verify_test(part):
    return lit(f"Dialect/Ring/Transforms/verify-schedule{part}.mlir")


ERRORS = verify_test("-errors")
REFUSED = verify_test("-refused")
RUN_TIME = verify_test("-run-time")
SLOTS = verify_test("-slots")
STATES = verify_test("-states")
TABLE_ERRORS = verify_test("-tables")
TRANSFERS = verify_test("-transfers")
RIGHT = verify_test("")

OF_TRANSFERS = [
    Mutation(
        "verify-transfer-count",
        "ranks may start different numbers of transfers",
        CHECKS,
        "if (count(fewest) != count(most)) {",
        "if (false) {",
        TRANSFERS,
    ),
    Mutation(
        "verify-transfer-types",
        "ranks may start transfers of different types",
        CHECKS,
        "if (first.getFuture().getType() == other.getFuture().getType())",
        "if (true)",
        TRANSFERS,
    ),
    Mutation(
        "verify-never-waited",
        "a transfer need not be waited for",
        CHECKS,
        "if (transfer.waits.size() == 1)",
        "if (transfer.waits.size() <= 1)",
        TRANSFERS,
    ),
    Mutation(
        "verify-waited-twice",
        "a transfer may be waited for twice",
        CHECKS,
        "if (transfer.waits.size() == 1)",
        "if (transfer.waits.size() >= 1)",
        TRANSFERS,
    ),
    Mutation(
        "verify-forwarded-after-wait",
        "a transfer may be sent on after it was waited for",
        INTERPRETER,
        "if (!source.waits.empty()) {",
        "if (false) {",
        TRANSFERS,
    ),
    Mutation(
        "verify-slots",
        "a slot may be written before it was read",
        CHECKS,
        "if (read.time < transfer.time)",
        "if (true)",
        TRANSFERS,
    ),
    Mutation(
        "verify-slots-sent-on",
        "a slot may be written before it was sent on",
        CHECKS,
        "use(block, {transfer.waits.front().time,",
        "use(block, {-1,",
        SLOTS,
    ),
    Mutation(
        "verify-slots-computed-on",
        "a slot may be written before it was computed on",
        CHECKS,
        "use(block, {event.time,",
        "use(block, {-1,",
        TRANSFERS,
    ),
    Mutation(
        "verify-transfer-needed",
        "a transfer may bring what nobody computes on",
        CHECKS,
        "if (!any) {",
        "if (false) {",
        TRANSFERS,
    ),
    Mutation(
        "verify-transfer-needed-by-next",
        "a block that is only sent on is not needed",
        CHECKS,
        "needed[rank][source.transfer] = true;",
        "(void)source;",
        RIGHT,
    ),
]

OF_COMPUTATIONS = [
    Mutation(
        "verify-key-and-value",
        "key and value may be of different ranks",
        CHECKS,
        "if (key != value) {",
        "if (false) {",
        ERRORS,
    ),
    Mutation(
        "verify-rank-of-work",
        "a work list may be that of another rank",
        CHECKS,
        "if (work.rank != rank || work.owner != key) {",
        "if (work.owner != key) {",
        ERRORS,
    ),
    Mutation(
        "verify-owner-of-work",
        "a work list may be that of another block",
        CHECKS,
        "if (work.rank != rank || work.owner != key) {",
        "if (work.rank != rank) {",
        ERRORS,
    ),
    Mutation(
        "verify-computed-twice",
        "a block may be computed twice",
        CHECKS,
        "(count == 1 && !earlier)",
        "(count == 1)",
        ERRORS,
    ),
    Mutation(
        "verify-merged-twice",
        "a state may be merged into itself",
        CHECKS,
        "(count == 1 && !earlier)",
        "(!earlier)",
        STATES,
    ),
    Mutation(
        "verify-never-computed",
        "a visible block need not be computed",
        CHECKS,
        "if (of[owner] || !visibility.isVisible(rank, owner))",
        "if (true)",
        ERRORS,
    ),
    Mutation(
        "verify-hidden-computed",
        "a hidden block has to be computed",
        CHECKS,
        "if (of[owner] || !visibility.isVisible(rank, owner))",
        "if (of[owner])",
        RIGHT,
    ),
    Mutation(
        "verify-nothing-computed",
        "a result need not be computed from any block",
        CHECKS,
        "  FinalizeOp finalize = traces[0]",
        "  return success();\n  FinalizeOp finalize = traces[0]",
        STATES,
    ),
    Mutation(
        "verify-offsets-ignored",
        "with offsets, blocks are hidden where they would be without",
        FOLDER + "BlockVisibility.cpp",
        "(op.getOffsets() && attr && attr.dependsOnPositions())",
        "false",
        RUN_TIME,
    ),
]

OF_STATES = [
    Mutation(
        "verify-same-mask",
        "the mask may change between rounds",
        CHECKS,
        "if (slicesA.getMaskAttr() != slicesB.getMaskAttr())",
        "if (false)",
        STATES,
    ),
    Mutation(
        "verify-same-tables",
        "tables, ids and lengths may change between rounds",
        CHECKS,
        "if (workA.inputs != workB.inputs)",
        "if (false)",
        STATES,
    ),
    Mutation(
        "verify-same-scale",
        "the scale may change between rounds",
        CHECKS,
        "if (a.op.getScaleAttr() != b.op.getScaleAttr())",
        "if (false)",
        STATES,
    ),
    Mutation(
        "verify-same-softcap",
        "the softcap may change between rounds",
        CHECKS,
        "if (a.op.getSoftcapAttr() != b.op.getSoftcapAttr())",
        "if (false)",
        STATES,
    ),
    Mutation(
        "verify-same-query",
        "the queries may change between rounds",
        CHECKS,
        "if (a.query.position != b.query.position)",
        "if (false)",
        STATES,
    ),
    Mutation(
        "verify-same-key",
        "the keys may change between rounds",
        CHECKS,
        "if (what.empty() && key.argument != referenceKey.argument)",
        "if (false)",
        STATES,
    ),
    Mutation(
        "verify-same-value",
        "the values may change between rounds",
        CHECKS,
        'what = "value";',
        'what = "";',
        STATES,
    ),
    Mutation(
        "verify-one-state",
        "acc, max and sum may be of different states",
        INTERPRETER,
        "value.index != known[0].index ||",
        "",
        STATES,
    ),
    Mutation(
        "verify-parts-of-state",
        "acc, max and sum may change places",
        INTERPRETER,
        "value.part != static_cast<int64_t>(part))",
        "false)",
        STATES,
    ),
    Mutation(
        "verify-first-state",
        "the first state may be filled with anything",
        INTERPRETER,
        "if (!isFilledWith(value.attribute, part == 1 ? infinity : zero))",
        "if (false)",
        STATES,
    ),
    Mutation(
        "verify-result-finalized",
        "a result need not come from ring.finalize",
        INTERPRETER,
        "if (result.kind != Kind::Finalized) {",
        "if (false) {",
        STATES,
    ),
    Mutation(
        "verify-own-query",
        "the queries may have travelled",
        INTERPRETER,
        "if (!query->isOwn())",
        "if (false)",
        STATES,
    ),
    Mutation(
        "verify-harmless",
        "any op may stand between those of the ring",
        INTERPRETER,
        "if (!isHarmless(op))",
        "if (false)",
        REFUSED,
    ),
    Mutation(
        "verify-one-grid",
        "a rank function may use two grids",
        INTERPRETER,
        "if (grid != ring.grid || (axis && *axis != ring.axis)) {",
        "if (false) {",
        REFUSED,
    ),
    Mutation(
        "verify-step",
        "the step of a loop may be 0",
        INTERPRETER,
        "if (*step < 1)",
        "if (false)",
        REFUSED,
    ),
    Mutation(
        "verify-order-ignored",
        "what travels is taken to go from rank to rank + 1",
        CHECKS,
        "int64_t sender = ring.order.predecessor(rank);",
        "int64_t sender = (rank + ranks() - 1) % ranks();",
        RIGHT,
    ),
]

OF_TABLES = [
    Mutation(
        "verify-two-owners",
        "a position may have two owners",
        TABLES,
        "if (twice >= 0)",
        "if (false)",
        TABLE_ERRORS,
    ),
    Mutation(
        "verify-owner-range",
        "an entry may be of a rank that there is not",
        TABLES,
        "if (entry.owner < 0 || entry.owner >= ranks)",
        "if (false)",
        TABLE_ERRORS,
    ),
    Mutation(
        "verify-owners-ascend",
        "entries need not be grouped by owner",
        TABLES,
        "if (entry.owner < owner)",
        "if (false)",
        TABLE_ERRORS,
    ),
    Mutation(
        "verify-stride",
        "the blocks of an entry may overlap",
        TABLES,
        "if (entry.stride < entry.block)",
        "if (false)",
        TABLE_ERRORS,
    ),
    Mutation(
        "verify-same-table",
        "scatters and gathers may have another table than the work lists",
        TABLES,
        "if (same)",
        "if (true)",
        TABLE_ERRORS,
    ),
    Mutation(
        "verify-gather-table",
        "the gathers may have another table than the work lists",
        TABLES,
        """checkSame(gather, gather.getTable(), slices, queryTable, call,
                         ranks)""",
        "success()",
        TABLE_ERRORS,
    ),
    Mutation(
        "verify-ranks-of-tables",
        "tables made at run time may be for another number of ranks",
        TABLES,
        "if (tables.getRanks() != static_cast<uint64_t>(ranks))",
        "if (false)",
        RUN_TIME,
    ),
    Mutation(
        "verify-scattered",
        "a local tensor may come from anywhere",
        TABLES,
        "if (!scatter)",
        "if (!scatter)\n      continue;\n    if (!scatter)",
        TABLE_ERRORS,
    ),
    Mutation(
        "verify-gathered",
        "a local result may be used by anything",
        TABLES,
        "if (!gather)",
        "if (!gather)\n      continue;\n    if (!gather)",
        TABLE_ERRORS,
    ),
]

MUTATIONS = [*OF_TRANSFERS, *OF_COMPUTATIONS, *OF_STATES, *OF_TABLES]
