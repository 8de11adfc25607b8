"""Masks, layouts, work lists and document ids: lib/Analysis."""

from .mutation import Mutation, gtest

MASK = "lib/Analysis/Mask.cpp"
SLICES = "lib/Analysis/Slices.cpp"
SEGMENTS = "lib/Analysis/Segments.cpp"
LAYOUT = "lib/Analysis/Layout.cpp"
SCHEDULE = "lib/Analysis/Schedule.cpp"


def tests(filter):
    return gtest("RingAnalysisTests", filter)


MASKS = [
    Mutation(
        "mask-causal-by-one",
        "a query sees the key behind it",
        MASK,
        "std::max(p, prefix - 1), 1)",
        "std::max(p, prefix - 1), 2)",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-causal-ignored",
        "a query sees all keys behind it",
        MASK,
        "if (causal)",
        "if (false)",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-prefix-ignored",
        "causal hides keys of the prefix",
        MASK,
        "std::max(p, prefix - 1)",
        "p",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-prefix-by-one",
        "the prefix has one key more",
        MASK,
        "prefix - 1",
        "prefix",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-left-by-one",
        "the window begins one key too late",
        MASK,
        "saturatingSub(p, left)",
        "saturatingSub(p, left - 1)",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-left-ignored",
        "the window has no left side",
        MASK,
        "if (left != kUnbounded)",
        "if (false)",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-right-by-one",
        "the window ends one key too early",
        MASK,
        "saturatingAdd(saturatingAdd(p, right), 1)",
        "saturatingAdd(p, right)",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-right-ignored",
        "the window has no right side",
        MASK,
        "if (right != kUnbounded)",
        "if (false)",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-chunk-ignored",
        "a query sees other chunks",
        MASK,
        "if (chunk > 0) {",
        "if (false) {",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-chunk-rounds-to-zero",
        "chunks of negative positions are those of C's %",
        MASK,
        "within < 0 ? within + chunk : within",
        "within",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-shift-ignored",
        "align and offsets move no query",
        MASK,
        "saturatingAdd(query, shift)",
        "query",
        tests("Mask.*"),
    ),
    Mutation(
        "mask-keys-not-cut",
        "keys beyond the batch entry's length are visible",
        MASK,
        "end = keyCount;",
        "end = INT64_MAX;",
        tests("Slices.KeysBeyondTheCountAreCut"),
    ),
]

WORK_LISTS = [
    Mutation(
        "slices-full-from-first",
        "keys that only the first queries see count as seen by all",
        SLICES,
        "full = {last.begin, first.end};",
        "full = {first.begin, first.end};",
        tests("Slices.*"),
    ),
    Mutation(
        "slices-full-to-last",
        "keys that only the last queries see count as seen by all",
        SLICES,
        "full = {last.begin, first.end};",
        "full = {last.begin, last.end};",
        tests("Slices.*"),
    ),
    Mutation(
        "slices-any-to-first",
        "keys that only later queries see are left out",
        SLICES,
        "any = {first.begin, last.end};",
        "any = {first.begin, first.end};",
        tests("Slices.*"),
    ),
    Mutation(
        "slices-always-classified",
        "a list that is not classified leaves keys out all the same",
        SLICES,
        "if (!classify) {",
        "if (false) {",
        tests("Slices.WithoutClassification*"),
    ),
    Mutation(
        "slices-tile-by-one",
        "a tile of flags gives a query the key behind its last",
        SLICES,
        "to[first] <= key",
        "to[first] < key",
        tests("Slices.*"),
    ),
    Mutation(
        "slices-positions-local",
        "the position of a local index is the index",
        SLICES,
        "return findEntry(view, local).position(local);",
        "return local;",
        tests("Slices.PositionOfFollowsTheTable"),
    ),
]

DOCUMENTS = [
    Mutation(
        "documents-padding-is-one",
        "queries with a negative id are a document of their own",
        SLICES,
        "if (id < 0) {",
        "if (false) {",
        tests("DocumentSlices.*"),
    ),
    Mutation(
        "documents-padding-sees-itself",
        "pairs of equal negative ids are visible",
        SLICES,
        "(ids[q] == id) & (id >= 0)",
        "ids[q] == id",
        tests("DocumentSlices.*"),
    ),
    Mutation(
        "documents-not-compared",
        "in a tile all ids are equal",
        SLICES,
        "  if (!block.keySegments)\n    return pairs;\n",
        "  return pairs;\n",
        tests("DocumentSlices.*"),
    ),
    Mutation(
        "documents-always-sorted",
        "ids in any order are taken for sorted ones",
        SLICES,
        "if (!ringBlock.keySegments.sorted) {",
        "if (false) {",
        tests("DocumentSlices.*"),
    ),
    Mutation(
        "documents-several-full",
        "a range may be full though its queries are of several documents",
        SLICES,
        "oneDocument ? intersect(full, documents) : Interval{0, 0}",
        "intersect(full, documents)",
        tests("DocumentSlices.*"),
    ),
    Mutation(
        "documents-tile-full-by-ids",
        "64 keys of one document are full whatever the mask says",
        SLICES,
        "rest.full && same",
        "same",
        tests("DocumentSlices.*"),
    ),
    Mutation(
        "documents-tile-full-by-mask",
        "64 keys that the mask shows are full whatever their ids",
        SLICES,
        "rest.full && same",
        "rest.full",
        tests("DocumentSlices.*"),
    ),
    Mutation(
        "documents-nothing-hidden",
        "no 64 keys of other documents are left out",
        SLICES,
        "if (ids.highest < firstId || ids.lowest > lastId)",
        "if (false)",
        tests("DocumentSlices.*"),
    ),
    Mutation(
        "segments-padding-first",
        "padding sorts as the number that it is",
        SEGMENTS,
        "return id < 0 ? UINT32_MAX : static_cast<uint32_t>(id);",
        "return static_cast<uint32_t>(id);",
        tests("Segments.*"),
    ),
    Mutation(
        "segments-without-the-last",
        "the documents found by bisection lack the last",
        SEGMENTS,
        "uint64_t(sortKey(last)) + 1",
        "uint64_t(sortKey(last))",
        tests("Segments.*"),
    ),
    Mutation(
        "documents-stride-ignored",
        "ids lie next to each other",
        SLICES,
        "if (segments.stride == 1)",
        "if (true)",
        tests("DocumentSlices.*"),
    ),
]

LAYOUTS = [
    Mutation(
        "layout-zigzag-in-order",
        "zigzag gives rank r the chunks r and N + r",
        LAYOUT,
        "2 * ranks - 1 - rank, 2 * ranks, length);",
        "ranks + rank, 2 * ranks, length);",
        tests("Layout.*"),
    ),
    Mutation(
        "layout-striped-drops-the-tail",
        "striped gives an incomplete block to nobody",
        LAYOUT,
        "if (tail > 0 && tail < block)",
        "if (false)",
        tests("Layout.*"),
    ),
    Mutation(
        "layout-balanced-unweighted",
        "balanced does not look at the pairs",
        "lib/Analysis/Balance.cpp",
        "    dealByWeight(ranks, chunks);\n}",
        "    (void)dealByWeight;\n}",
        tests("Balance.*"),
    ),
    Mutation(
        "layout-balanced-sixteen-chunks",
        "balanced never cuts chunks shorter",
        "lib/Analysis/Balance.cpp",
        "constexpr double kEvenEnough = 1.04;",
        "constexpr double kEvenEnough = 2;",
        tests("Balance.*"),
    ),
    Mutation(
        "schedule-owner-forward",
        "in round t a rank has the block of rank r + t",
        SCHEDULE,
        "place[rank] - round % size() + size()",
        "place[rank] + round % size() + size()",
        tests("RingOrder.*"),
    ),
    Mutation(
        "schedule-order-ignored",
        "the successor along the ring is rank + 1",
        SCHEDULE,
        "return order[(place[rank] + 1) % size()];",
        "return (rank + 1) % size();",
        tests("RingOrder.*"),
    ),
    Mutation(
        "schedule-a-round-fewer",
        "the count of rounds lacks the last",
        SCHEDULE,
        "counts.rounds = round + 1;",
        "counts.rounds = round;",
        tests("Schedule.*"),
    ),
]

MUTATIONS = [*MASKS, *WORK_LISTS, *DOCUMENTS, *LAYOUTS]
