"""The runtime of GPUs: lib/Runtime/Device, lib/Runtime/NCCL."""

from .mutation import Mutation, gtest

WORK_LIST = "lib/Runtime/Device/WorkList.cpp"
SLOTS = "lib/Runtime/Device/Slots.cpp"
TENSORS = "lib/Runtime/Device/TensorCopy.cpp"
PROGRAM = "lib/Runtime/Device/DeviceProgram.cpp"
DEVICE = "lib/Runtime/Device/Device.cpp"
KERNELS = "lib/Runtime/Device/Kernels.cpp"
GRAPH = "lib/Runtime/Device/Graph.cpp"
NCCL = "lib/Runtime/NCCL/NcclTransport.cpp"
HOST = "lib/Runtime/Host.cpp"


def tests(filter):
    return gtest("RingRuntimeTests", filter)


PAIRS = tests("DeviceAttentionTest.EveryVisiblePairOnce")
SPLIT = tests("DeviceAttentionTest.FewTilesAreSplitAndMerged")
STREAMS = tests("DeviceSequenceTest.StreamsWaitForEachOther")

MUTATIONS = [
    Mutation(
        "device-all-full",
        "every key range is full",
        WORK_LIST,
        "range.full ? 1 : 0",
        "1",
        PAIRS,
    ),
    Mutation(
        "device-always-fresh",
        "a tile forgets its state",
        WORK_LIST,
        "item.fresh = states[tile] ? 0 : 1;",
        "item.fresh = 1;",
        PAIRS,
    ),
    Mutation(
        "device-unfinished-tiles",
        "tiles that see nothing in the last round are not finished",
        WORK_LIST,
        "if (keyTiles == 0 && !last)",
        "if (keyTiles == 0)",
        PAIRS,
    ),
    Mutation(
        "device-no-shift",
        "queries stand at their indices",
        WORK_LIST,
        "static_cast<int32_t>(block.mask.shift)",
        "0",
        PAIRS,
    ),
    Mutation(
        "device-no-lengths",
        "every batch entry has all keys",
        WORK_LIST,
        "static_cast<int32_t>(block.keyCount)",
        "static_cast<int32_t>(slices.key_count)",
        PAIRS,
    ),
    Mutation(
        "device-count-sorted",
        "pairs of documents are counted up to the end of the keys",
        WORK_LIST,
        "block.mask.visibleKeys(position, block.keyCount), document)",
        "Interval{0, block.keyCount}, document)",
        PAIRS,
    ),
    Mutation(
        "device-split-cut",
        "a part ends after too few keys",
        WORK_LIST,
        "begin + taken * shape.keyTile",
        "begin + taken",
        SPLIT,
    ),
    Mutation(
        "device-split-states",
        "each part starts from the tile's state",
        WORK_LIST,
        "    item.fresh = 1;\n",
        "",
        SPLIT,
    ),
    Mutation(
        "device-split-never",
        "few tiles are not split",
        WORK_LIST,
        "bool few = count * shape.headBlocks < shape.processors;",
        "bool few = false;",
        SPLIT,
    ),
    Mutation(
        "device-order",
        "items stand in the order of their tiles",
        WORK_LIST,
        "a.keyTiles > b.keyTiles",
        "a.item.tile < b.item.tile",
        tests("DeviceAttentionTest.TheLongestComeFirst"),
    ),
    Mutation(
        "device-positions",
        "positions beyond what 32 bits take are not refused",
        WORK_LIST,
        "if (std::max(shift, -shift) + slices.query_count >= kPositionLimit)",
        "if (false)",
        tests("DeviceAttentionTest.PositionsTooFarAwayAreRefused"),
    ),
    Mutation(
        "device-no-arrival",
        "kernels do not wait for what arrives",
        SLOTS,
        "return device.waitFor(device.compute, slot.arrived);",
        "return {};",
        STREAMS,
    ),
    Mutation(
        "device-slot-not-free",
        "a transfer does not wait for the kernels that read its slot",
        SLOTS,
        "result = device.waitFor(device.transfers, free);",
        ";",
        STREAMS,
    ),
    Mutation(
        "device-slots-unlimited",
        "a slot is written while its transfer is not waited for",
        SLOTS,
        "if (slot.awaited)",
        "if (false)",
        tests("DeviceSequenceTest.MoreTransfersThanSlots"),
    ),
    Mutation(
        "device-any-rows",
        "rows may begin anywhere",
        TENSORS,
        "bytes % kRowAlignment == 0;",
        "true;",
        tests("DeviceTensorTest.ImportKeepsTheValues"),
    ),
    Mutation(
        "device-padding-undefined",
        "what lies between rows was never written",
        TENSORS,
        "if (result.failed() || !padded || bytes == 0)",
        "if (true)",
        tests("DeviceTensorTest.PaddedRowsAreDefined"),
    ),
    Mutation(
        "device-rest-undefined",
        "rows that no kernel writes are copied as they are",
        PROGRAM,
        "if (!result.failed() && denseBytes(*tensor) > 0)",
        "if (false)",
        tests("DeviceTensorTest.WhatNoKernelWritesIsZero"),
    ),
    Mutation(
        "device-kept-for-ever",
        "memory that no run uses is never freed",
        DEVICE,
        "(block.lastRun + 2 >= runs ? fresh : stale)",
        "(true ? fresh : stale)",
        tests("DeviceTensorTest.MemoryIsKept"),
    ),
    Mutation(
        "device-used-after-failure",
        "a context that failed is used again",
        DEVICE,
        "if (!failure.empty())",
        "if (false)",
        tests("DeviceFailureTest.CallsThatFail"),
    ),
    Mutation(
        "device-any-chip",
        "an image runs on older chips",
        KERNELS,
        "made == capability : made <= capability",
        "made == capability : true",
        tests("DeviceFailureTest.ImagesThatDoNotRun"),
    ),
    Mutation(
        "nccl-shared-gpu",
        "two ranks of NCCL may have one GPU",
        HOST,
        "if (ofA.ordinal == ofB.ordinal)",
        "if (false)",
        tests("NcclTest.RanksThatShareAGpu"),
    ),
    Mutation(
        "nccl-some-connect",
        "communicators that work stay when another has failed",
        HOST,
        "    if (anew)\n",
        "    if (false)\n",
        tests("NcclTest.Failures"),
    ),
    Mutation(
        "graph-any-key",
        "a graph stands for every program",
        GRAPH,
        "return graph.key == recording.key();",
        "return true;",
        tests("NcclTest.Graphs"),
    ),
    Mutation(
        "graph-stays",
        "graphs outlive their communicators",
        NCCL,
        "  state.graphs.clear();\n  if (state.communicator)",
        "  if (state.communicator)",
        tests("NcclTest.GraphsEndWithTheirCommunicators"),
    ),
    Mutation(
        "graph-addresses-swap",
        "a program that runs again is given other addresses",
        DEVICE,
        "for (auto block = used.rbegin(); block != used.rend(); ++block) {",
        "for (auto block = used.begin(); block != used.end(); ++block) {",
        tests("NcclTest.Graphs"),
    ),
]
