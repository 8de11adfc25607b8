"""The runtime: lib/Runtime."""

from .mutation import Mutation, gtest

THREADS = "lib/Runtime/Threads/ThreadsTransport.cpp"
RUNTIME = "lib/Runtime/Runtime.cpp"
VISIBILITY = "lib/Runtime/Visibility.cpp"
SLICES = "lib/Runtime/Slices.cpp"
SHARD = "lib/Runtime/Shard.cpp"
TABLES = "lib/Runtime/Tables.cpp"
HOST = "lib/Runtime/Host.cpp"
ARGUMENTS = "lib/Runtime/Arguments.cpp"
ALLOCATION = "lib/Runtime/Allocation.cpp"


def tests(filter):
    return gtest("RingRuntimeTests", filter)


WORK = tests("SlicesTest.*")

VISIBLE = [
    Mutation(
        "runtime-lengths-ignored",
        "every batch entry has all keys",
        VISIBILITY,
        "if (visibility.lengths.data)",
        "if (false)",
        WORK,
    ),
    Mutation(
        "runtime-lengths-not-clamped",
        "a length may be negative or beyond the keys",
        VISIBILITY,
        "std::clamp<int64_t>(scalarOf(visibility.lengths, batch), 0, keyCount)",
        "scalarOf(visibility.lengths, batch)",
        tests("TablesTest.*"),
    ),
    Mutation(
        "runtime-offsets-ignored",
        "queries stand at their own indices",
        VISIBILITY,
        "if (visibility.offsets.data)",
        "if (false)",
        WORK,
    ),
    Mutation(
        "runtime-bottom-right-ignored",
        "every alignment is top_left",
        VISIBILITY,
        "else if (visibility.bottom_right)",
        "else if (false)",
        WORK,
    ),
    Mutation(
        "runtime-bottom-right-backward",
        "bottom_right moves the queries the wrong way",
        VISIBILITY,
        "keyCount - queryCount",
        "queryCount - keyCount",
        WORK,
    ),
    Mutation(
        "runtime-ids-of-first-entry",
        "all batch entries have the ids of the first",
        VISIBILITY,
        "(ids.data) + batch * ids.strides[0]",
        "(ids.data)",
        WORK,
    ),
    Mutation(
        "runtime-lengths-of-first-entry",
        "all batch entries have the length and the offset of the first",
        VISIBILITY,
        "[batch * values.strides[0]]",
        "[0]",
        WORK,
    ),
    Mutation(
        "runtime-always-sorted",
        "ids are not looked at: they are sorted",
        VISIBILITY,
        "areSorted(visibility->key_segments);",
        "1;",
        WORK,
    ),
    Mutation(
        "runtime-never-sorted",
        "sorted ids are not found by bisection",
        VISIBILITY,
        "areSorted(visibility->key_segments);",
        "0;",
        WORK,
    ),
    Mutation(
        "runtime-query-position-local",
        "a query stands at its local index",
        SLICES,
        """positionOf(state.keys.block().queries,
                   std::min(queries.begin + lane, queries.end - 1))""",
        "std::min(queries.begin + lane, queries.end - 1)",
        WORK,
    ),
    Mutation(
        "runtime-key-position-local",
        "a key stands at its local index",
        SLICES,
        "positionOf(state.keys.block().keys, key)",
        "key",
        WORK,
    ),
    Mutation(
        "runtime-pairs-not-counted",
        "pairs of full ranges are not counted",
        SLICES,
        "if (keys.full)",
        "if (false)",
        tests("AccountingTest.BalanceIsThatOfTheVisiblePairs"),
    ),
    Mutation(
        "runtime-tables-without-documents",
        "balanced does not look at the documents",
        TABLES,
        "if (visibility.keySegments)",
        "if (false)",
        tests("TablesTest.*"),
    ),
    Mutation(
        "runtime-tables-unchecked",
        "a table without room is written all the same",
        TABLES,
        "table.sizes[0] < static_cast<int64_t>(entries.size())",
        "false",
        tests("TablesTest.*"),
    ),
    Mutation(
        "runtime-sizes-not-required",
        "sizes that have to be equal are not compared",
        TABLES,
        "if (a == b)",
        "if (true)",
        tests("TablesTest.*"),
    ),
]

TRANSFERS = [
    Mutation(
        "wait-returns-own",
        "a wait returns what this rank sent",
        RUNTIME,
        "std::copy(tensors.begin(), tensors.end(), received);",
        "std::copy(open.like.begin(), open.like.end(), received);",
        tests("*Permute*"),
    ),
    Mutation(
        "wait-not-waiting",
        "a wait returns before the transfer has arrived",
        THREADS,
        "sleep(lock, [&] { return message->tensors != nullptr; })",
        "(ring->fulfil(message, ring->ranks[rank].first->tensors), true)",
        tests("*Permute*"),
    ),
    Mutation(
        "wait-shapes-not-compared",
        "what arrives may have another shape",
        RUNTIME,
        "if (!sameShape(tensors[i], open.like[i]))",
        "if (false)",
        tests("FailureTest.DifferentShapes"),
    ),
    Mutation(
        "forward-sends-own",
        "what is sent on is this rank's own block",
        THREADS,
        "ring->repeat(outgoing, source);",
        "ring->repeat(outgoing, self().first);",
        tests("*Permute*"),
    ),
    Mutation(
        "deadline-ignored",
        "a wait takes a hundred times as long to give up",
        THREADS,
        "lock, std::chrono::duration<double>(ring->deadline),\n        [&] {",
        "lock, std::chrono::duration<double>(ring->deadline * 100),\n        [&] {",
        tests("FailureTest.DeadlineOfATransfer:FailureTest.DeadlineOfBeginAndEnd"),
    ),
    Mutation(
        "deadline-names-nobody",
        "a timeout does not say which rank is at fault",
        THREADS,
        "formatSeconds(ring->deadline) + ring->cause(message)}",
        "formatSeconds(ring->deadline)}",
        tests("FailureTest.Deadline*"),
    ),
    Mutation(
        "fingerprint-not-compared",
        "ranks may run different programs",
        THREADS,
        "other.begun && other.program.fingerprint != program.fingerprint",
        "false",
        tests("FailureTest.DifferentPrograms"),
    ),
    Mutation(
        "difference-not-named",
        "of two different programs only the fingerprints are named",
        "lib/Runtime/Transport.cpp",
        "if (a.description != b.description)",
        "if (false)",
        tests("FailureTest.DifferentPrograms"),
    ),
    Mutation(
        "ranks-not-compared",
        "a program may run on another number of ranks",
        ARGUMENTS,
        "if (compiled == ranks)",
        "if (true)",
        tests("FailureTest.WrongNumberOfRanks"),
    ),
    Mutation(
        "abi-not-compared",
        "a program of another version of the interface runs",
        HOST,
        "if (abi_version != RING_ABI_VERSION)",
        "if (false)",
        tests("AccountingTest.AHostFunctionOfAnotherVersionIsRefused"),
    ),
    Mutation(
        "argument-sizes-not-checked",
        "a tensor may be smaller than the program was compiled for",
        ARGUMENTS,
        "if (!fits)",
        "if (false)",
        tests("ArgumentsTest.*"),
    ),
    Mutation(
        "fault-hook-does-nothing",
        "RING_FAULT is read and has no effect",
        THREADS,
        "return fault.hits(kind, rank, transfer.number);",
        "return false;",
        tests("FaultTest.*"),
    ),
    Mutation(
        "fault-unparsed",
        "a RING_FAULT that names no rank or no transfer is accepted",
        "lib/Runtime/Threads/Fault.cpp",
        "if (valid && hasRank && hasTransfer)",
        "if (valid)",
        tests("FaultTest.MalformedTextIsRefused"),
    ),
    Mutation(
        "tickets-not-checked",
        "a transfer that was started and not waited for is no error",
        RUNTIME,
        "else if (!context->open.empty())",
        "else if (false)",
        tests("FailureTest.MisuseOfTickets"),
    ),
    Mutation(
        "bytes-not-counted",
        "what is sent is not counted",
        RUNTIME,
        "counters.bytesSent += open.bytes;",
        "",
        tests("*Permute*"),
    ),
    Mutation(
        "slots-not-counted",
        "transfers in flight are not counted",
        RUNTIME,
        "static_cast<int64_t>(context->open.size())",
        "int64_t(0)",
        tests("*Permute*"),
    ),
]

ENDS = [
    Mutation(
        "end-does-not-wait",
        "a rank leaves while others read what it lent",
        THREADS,
        "sleep(lock, [&] { return ring->all(&RankState::ended); })",
        "true",
        tests("PermuteTest.OwnersStayUntilAllHavePassedTheLastRound"),
    ),
    Mutation(
        "failed-rank-does-not-wait",
        "a rank that fails leaves while others read what it lent",
        THREADS,
        "if (wait)",
        "if (false)",
        tests("FailureTest.FailedRankStaysForItsReaders"),
    ),
    Mutation(
        "failure-not-told",
        "the peers of a rank that fails do not know",
        RUNTIME,
        'transport->fail({rank, status, where + ": " + result.message});',
        "(void)where;",
        tests("FailureTest.DeadlineNamesTheRankAtFault"),
    ),
    Mutation(
        "failure-wakes-nobody",
        "the peers of a rank that fails sleep on until the deadline",
        THREADS,
        "ring->failure = failure;\n  ring->wakeAll();",
        "ring->failure = failure;",
        tests("FailureTest.FailingRankEndsTheOthers"),
    ),
    Mutation(
        "failure-next-round-runs",
        "a rank begins a round though a peer has failed",
        RUNTIME,
        "if (std::optional<Failure> failure = context->transport->failure())",
        "if (std::optional<Failure> failure; failure)",
        tests("PoolTest.NoNewRoundAfterAPeerFailed"),
    ),
    Mutation(
        "free-blocks-does-nothing",
        "what a failed rank held is never freed",
        ALLOCATION,
        "if (!block)\n      return;",
        "return;",
        tests("AccountingTest.WhatAFailedRankHeldIsFreed"),
    ),
    Mutation(
        "memory-not-poisoned",
        "RING_POISON has no effect",
        ALLOCATION,
        "if (poisoned())",
        "if (false)",
        tests("AccountingTest.FreshMemoryIsPoisoned"),
    ),
    Mutation(
        "peak-not-measured",
        "the peak of a rank's memory is what it holds at the end",
        ALLOCATION,
        "highest = std::max(highest, bytes);",
        "",
        tests("AccountingTest.PeakIsOfTheBusiestRank"),
    ),
    Mutation(
        "worker-counts-for-nobody",
        "memory of a worker is not its rank's",
        "lib/Runtime/Pool.cpp",
        "AccountScope scope(job.account);",
        "",
        tests("AccountingTest.WorkersCountForTheirRank"),
    ),
    Mutation(
        "pool-last-item-lost",
        "a loop lacks its last item",
        "lib/Runtime/Pool.cpp",
        "job.count = items;",
        "job.count = items > 1 ? items - 1 : items;",
        tests("PoolTest.EveryItemOnceWhateverTheRanksAndThreads"),
    ),
]

SHARDS = [
    Mutation(
        "scatter-stride-ignored",
        "the blocks of an entry follow each other",
        SHARD,
        "wholeStride * entry.stride",
        "wholeStride * entry.block",
        tests("ShardTest.*"),
    ),
    Mutation(
        "scatter-padding-kept",
        "padding is what was there before",
        SHARD,
        "axis(stacked.sizes[dim + 1] - next, localStride, 0)",
        "axis(0, localStride, 0)",
        tests("ShardTest.*"),
    ),
    Mutation(
        "gather-writes-padding",
        "one local position behind each block is gathered too",
        SHARD,
        "axes.push_back(axis(entry.block, localStride, wholeStride));",
        """axes.push_back(
        axis(entry.block + (!scatter && entry.last() + 1 < whole.sizes[dim]),
             localStride, wholeStride));""",
        tests("ShardTest.*"),
    ),
    Mutation(
        "scatter-second-entry-first",
        "all entries of a rank are copied to the same place",
        SHARD,
        "next += entry.size();",
        "next = entry.size();",
        tests("ShardTest.*"),
    ),
    Mutation(
        "scatter-owners-unchecked",
        "a position may have two owners",
        SHARD,
        "if (seen[position])",
        "if (false)",
        tests("ShardTest.RefusesWhatDoesNotFit"),
    ),
    Mutation(
        "scatter-coverage-unchecked",
        "a position may have no owner",
        SHARD,
        "if (total != length)",
        "if (false)",
        tests("ShardTest.RefusesWhatDoesNotFit"),
    ),
]

MUTATIONS = [*VISIBLE, *TRANSFERS, *ENDS, *SHARDS]
