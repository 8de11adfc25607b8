"""The virtual CUDA driver and NCCL: lib/Runtime/VirtualGPU."""

from .mutation import Mutation, gtest

ROOT = "lib/Runtime/VirtualGPU/"
STREAM = ROOT + "Stream.cpp"
STATE = ROOT + "DriverState.cpp"
MEMORY = ROOT + "Memory.cpp"
HISTORY = ROOT + "MemoryHistory.cpp"
OPERATIONS = ROOT + "Operations.cpp"
GRAPH = ROOT + "Graph.cpp"
NCCL = ROOT + "Nccl.cpp"
CALLS = ROOT + "DriverNccl.cpp"
COPIES = ROOT + "DriverMemory.cpp"
MODULES = ROOT + "DriverModule.cpp"
STREAMS = ROOT + "DriverStream.cpp"


def tests(filter):
    return gtest("RingVirtualDriverTests", filter)


LAZY = [
    Mutation(
        "vgpu-eager",
        "an operation runs although nobody waits for it",
        STREAM,
        "if (op->tellsHost())\n    demand(*op);",
        "demand(*op);",
        tests("DriverStream.*:DriverNccl.OnlyADemandMovesData"),
    ),
    Mutation(
        "vgpu-events-not-demanded",
        "what an event stands for is not executed for those who wait for it",
        STREAM,
        "if (other->state != Op::State::Done)\n          return nullptr;",
        "",
        tests("DriverRace.*:DriverStream.*"),
    ),
    Mutation(
        "vgpu-demands-too-much",
        "later operations of a stream run with those that are needed",
        STREAM,
        "if (earlier->instant.tick > next.instant.tick)",
        "if (false)",
        tests("DriverStream.*"),
    ),
    Mutation(
        "vgpu-first-poll-works",
        "the first poll already makes work go on",
        STREAM,
        "kIdleQueries = 2",
        "kIdleQueries = 0",
        tests("DriverStream.PollingFindsNothingDoneAtFirst"),
    ),
    Mutation(
        "vgpu-pinned-staged",
        "pinned memory is read when the copy is enqueued",
        OPERATIONS,
        "if (source.onDevice || isReplica || pinned(source))",
        "if (source.onDevice || isReplica)",
        tests("DriverStream.PinnedMemoryIsReadWhenTheCopyRuns"),
    ),
    Mutation(
        "vgpu-default-stream-unordered",
        "the default stream does not wait for blocking ones",
        STATE,
        "addDefaultStreamOrder(stream, *op);",
        "",
        tests("DriverStream.TheDefaultStreamIsOrderedWithBlockingOnes"),
    ),
]

ORDER = [
    Mutation(
        "vgpu-event-order-unknown",
        "an event does not order what waits for it",
        STREAM,
        "op->clock.join(other->clock);",
        "",
        tests("DriverRace.*"),
    ),
    Mutation(
        "vgpu-host-order-unknown",
        "what the host waited for does not come before what it enqueues then",
        STREAM,
        "op->clock.join(*op->host);",
        "",
        tests("DriverRace.*"),
    ),
    Mutation(
        "vgpu-host-order-too-new",
        "what the host learned later counts too",
        STREAM,
        "op->clock.join(*op->host);",
        "op->clock.join(*host);",
        tests("DriverRace.*"),
    ),
    Mutation(
        "vgpu-reads-after-writes-unchecked",
        "a read of what an unordered operation wrote is no race",
        HISTORY,
        "if (!conflict && segment.writer && ",
        "if (false && segment.writer && ",
        tests("DriverNccl.*:DriverRace.*:DriverMemory.*"),
    ),
    Mutation(
        "vgpu-writes-after-reads-unchecked",
        "a write of what an unordered operation read is no race",
        HISTORY,
        "check(reader, false);",
        "(void)reader;",
        tests("DriverRace.*"),
    ),
    Mutation(
        "vgpu-readers-forgotten",
        "only the last reader counts",
        HISTORY,
        "return clock.includes(reader.instant);",
        "return true;",
        tests("DriverRace.*"),
    ),
    Mutation(
        "vgpu-send-order-unknown",
        "a receive does not come after what came before the send",
        NCCL,
        "arrived.join(partner.startClock);",
        "",
        tests("DriverNcclPair.*"),
    ),
    Mutation(
        "vgpu-sent-order-unknown",
        "what follows a receive does not come after what came before the send",
        NCCL,
        "clock.join(partner->startClock);",
        "",
        tests("DriverNcclPair.*"),
    ),
    Mutation(
        "vgpu-group-comes-before-itself",
        "transfers of one group may share bytes",
        ROOT + "Nccl.h",
        "startClock = clock.before(instant);",
        "startClock = clock;",
        tests("DriverNccl.AGroupMayNotReceiveIntoWhatItSends"),
    ),
]

BYTES = [
    Mutation(
        "vgpu-unwritten-read",
        "kernels may read what was never written",
        MEMORY,
        "if (kind != Access::Write && !allocation.isWritten(range)) {",
        "if (false) {",
        tests("DriverMemory.*"),
    ),
    Mutation(
        "vgpu-copy-writes-all",
        "a copy of bytes that were never written writes them",
        OPERATIONS,
        "if (from.allocation)\n      to->allocation->copyWritten",
        "if (false)\n      to->allocation->copyWritten",
        tests("DriverMemory.FreshMemoryIsNaNAndCannotBeReadByKernels"),
    ),
    Mutation(
        "vgpu-peer-always-reachable",
        "kernels reach other devices without peer access",
        OPERATIONS,
        "context->peers.count(allocation->context))",
        "true)",
        tests("DriverMemory.PeersNeedAccess"),
    ),
    Mutation(
        "vgpu-free-of-pending",
        "memory that pending work uses may be freed",
        COPIES,
        "if (const Op *op = driver.pendingUser(allocation.base, end))",
        "if (const Op *op = nullptr)",
        tests("DriverMemory.*"),
    ),
    Mutation(
        "vgpu-free-of-unwaited",
        "memory may be freed though nobody waited for work that used it",
        COPIES,
        "if (user)\n    return allocation.text()",
        "if (false)\n    return allocation.text()",
        tests("DriverNcclPair.*"),
    ),
    Mutation(
        "vgpu-shared-memory-unlimited",
        "more than 48 KiB of shared memory without asking",
        MODULES,
        "static_cast<uint32_t>(function.maxDynamicShared) ||",
        "1000000u ||",
        tests("DriverModule.*"),
    ),
    Mutation(
        "vgpu-block-not-checked",
        "a kernel may be launched with another block than it asks for",
        MODULES,
        "if (limits.block[i] && limits.block[i] != shape.block[i])",
        "if (false)",
        tests("DriverModule.*"),
    ),
]

GRAPHS = [
    Mutation(
        "vgpu-graph-loses-waits",
        "branches of a graph do not wait for one another",
        GRAPH,
        "op->after.push_back(ops[index]);",
        "(void)index;",
        tests("DriverGraph.*"),
    ),
    Mutation(
        "vgpu-graph-unjoined",
        "a capture may end while streams have not joined",
        GRAPH,
        "if (!joined)",
        "if (false)",
        tests("DriverGraph.AnUnjoinedStreamEndsTheCaptureWithAnError"),
    ),
    Mutation(
        "vgpu-graph-launches-overlap",
        "launches of one graph do not follow one another",
        GRAPH,
        "begin->after.push_back(last);",
        "",
        tests("DriverGraph.ALaunchRepeatsWhatTwoStreamsDid"),
    ),
    Mutation(
        "vgpu-capture-isolation",
        "a capture may wait for work outside of it",
        STREAMS,
        "return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;",
        "return CUDA_SUCCESS;",
        tests("DriverGraph.CapturesDoNotMixWithOtherWork"),
    ),
]

TRANSFERS = [
    Mutation(
        "vgpu-sizes-unmatched",
        "a receive may be of another size than its send",
        NCCL,
        "if (mine.bytes != theirs.bytes) {",
        "if (false) {",
        tests("DriverNccl.EndsThatDifferAreReported"),
    ),
    Mutation(
        "vgpu-received-too-early",
        "a receive takes the data before the sender's stream has got there",
        NCCL,
        "partner->state == State::Running);",
        "true);",
        tests("DriverNcclPair.*"),
    ),
    Mutation(
        "vgpu-duplicate-device",
        "two ranks may be on one device",
        CALLS,
        "clique.result = ncclInvalidUsage;",
        "",
        tests("DriverNccl.TwoRanksOfOneDeviceAreRefused"),
    ),
    Mutation(
        "vgpu-nonblocking-at-once",
        "a group of a non-blocking communicator is in its stream at once",
        CALLS,
        "if (comm->blocking) {",
        "if (true) {",
        tests("DriverNccl.NonBlockingCallsAreInProgressUntilPolled"),
    ),
]

MUTATIONS = [*LAZY, *ORDER, *BYTES, *GRAPHS, *TRANSFERS]
