"""The virtual GPU's machine: lib/Runtime/VirtualGPU/Machine."""

from .mutation import Mutation, gtest

MACHINE = "lib/Runtime/VirtualGPU/Machine/"
SHARED = MACHINE + "SharedMemory.cpp"


def tests(filter):
    return gtest("RingVirtualMachineTests", filter)


MUTATIONS = [
    Mutation(
        "vgpu-unwritten-shared-read",
        "shared memory that nobody wrote may be read",
        SHARED,
        "  if (!(state & Written)) {",
        "  if (false) {",
        tests("MachineFault.SharedNotWritten"),
    ),
    Mutation(
        "vgpu-pending-copy-overwritten",
        "what a cp.async has yet to write may be written by others",
        SHARED,
        "isUnknown |= state[cell] & Pending;",
        "isUnknown |= 0;",
        tests("MachineFault.AsyncCopyOverwrites"),
    ),
    Mutation(
        "vgpu-pending-copy-unnamed",
        "a read of what a cp.async has yet to write passes for one of unwritten memory",
        SHARED,
        'if (state & Pending) {\n    why = "reads "',
        'if (false) {\n    why = "reads "',
        tests("MachineFault.AsyncCopyNotWaitedFor"),
    ),
    Mutation(
        "vgpu-copy-arrives-early",
        "a wait for all but n groups waits for all",
        MACHINE + "AsyncCopies.cpp",
        "queue.groups.size() > left",
        "queue.groups.size() > 0",
        tests("MachineBlock.AsyncGroups:MachineFault.AsyncCopyNotWaitedFor"),
    ),
    Mutation(
        "vgpu-copy-without-zeros",
        "a short cp.async leaves the rest as it was",
        SHARED,
        "std::memset(data(offset) + valueBytes, 0, count - valueBytes);",
        "(void)count;",
        tests("MachineBlock.AsyncCopiesFillWithZeros"),
    ),
    Mutation(
        "vgpu-lockstep-orders",
        "lanes of one warp are always ordered",
        SHARED,
        "if (warp == who.warp && thread % kLanes == who.lane)",
        "if (warp == who.warp)",
        tests("MachineFault.RaceInAWarp"),
    ),
    Mutation(
        "vgpu-reads-not-watched",
        "a write after another thread's read is no race",
        SHARED,
        "isUnknown |= reads[cell] >= beyond;",
        "isUnknown |= 0;",
        tests("MachineFault.*"),
    ),
    Mutation(
        "vgpu-barrier-of-two-orders-all",
        "a barrier orders warps that did not take part",
        SHARED,
        "known[warp][other] = std::max(known[warp][other], clock[other]);",
        "known[warp][other] = epochs[other] - 1;",
        tests("MachineFault.BarrierOfOthersOrdersNothing"),
    ),
    Mutation(
        "vgpu-returned-lanes-forgotten",
        "a barrier does not miss lanes that returned",
        MACHINE + "Collectives.cpp",
        "if (warp.alive != warp.initial)",
        "if (false)",
        tests("MachineFault.DivergentBarrier"),
    ),
    Mutation(
        "vgpu-shuffle-outside-mask",
        "a shuffle reads from any lane",
        MACHINE + "Collectives.cpp",
        "if (!(masks[lane] >> from & 1))",
        "if (false)",
        tests("MachineFault.WarpCollectives"),
    ),
    Mutation(
        "vgpu-alignment",
        "addresses need no alignment",
        MACHINE + "Access.cpp",
        "if (!(address & (align - 1)))",
        "if (true)",
        tests("MachineFault.Misaligned"),
    ),
    Mutation(
        "vgpu-blocks-not-compared",
        "blocks may write what others read",
        MACHINE + "Launch.cpp",
        "else if (count > 1)",
        "else if (false)",
        tests("MachineFault.RaceOfBlocks"),
    ),
    Mutation(
        "vgpu-fragment-of-b",
        "rows of B change places",
        MACHINE + "Matrix.cpp",
        "b[(lane % 4 * pack + 4 * pack * word + i) * 8 + lane / 4]",
        "b[(lane % 4 * pack + 4 * pack * word + (pack - 1 - i)) * 8 + lane / 4]",
        tests("MachineMatrix.*"),
    ),
    Mutation(
        "vgpu-tf32-keeps-bits",
        "tf32 operands keep the bits that are ignored",
        MACHINE + "Arithmetic.inc",
        "words[i] & 0xffffe000",
        "words[i]",
        tests("MachineMatrix.ProductTF32*"),
    ),
    Mutation(
        "vgpu-register-shared",
        "a register is taken again one instruction early",
        MACHINE + "Assembler.cpp",
        "live.top().first < entry.begin",
        "live.top().first <= entry.begin",
        tests("Machine*"),
    ),
]
