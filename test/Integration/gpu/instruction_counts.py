"""What the main loop of a kernel executes for one more tile of keys, counted in the
machine code that ptxas makes, beside what FlashAttention-2's algorithm needs. The
table is in docs/gpu_kernel.md; `--update` writes it there."""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t %S/../../../docs/gpu_kernel.md

import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from gpu_kernels import NVDISASM, assemble, make_ptx  # noqa: E402

FOLDER, PAGE = sys.argv[1:3]
UPDATE = "--update" in sys.argv[3:]
BEGIN, END = "<!-- instruction counts -->\n", "<!-- end of instruction counts -->\n"

VARIANTS = [
    (64, 64, "bf16", "causal"),
    (64, 64, "f16", "causal"),
    (128, 128, "bf16", "causal"),
    (128, 128, "f16", "causal"),
]
# The rows of the table: name, opcodes by their beginnings. What fits none is "other".
KINDS = {
    "mma.m16n8k16": ["HMMA"],
    "ldmatrix.x4": ["LDSM"],
    "cp.async, 16 bytes": ["LDGSTS"],
    "ex2": ["MUFU.EX2"],
    "f32 fma": ["FFMA"],
    "f32 mul": ["FMUL"],
    "f32 add": ["FADD"],
    "f32 max": ["FMNMX"],
    "two f32 to 16 bits": ["F2F"],
    "shuffle": ["SHFL"],
    "barriers, waits": ["BAR", "DEPBAR", "LDGDEPBAR", "WARPSYNC"],
    "branches": ["BRA", "BSSY", "BSYNC", "CALL"],
}
OTHER = "other: addresses, tiles, guards"
EXACT = ["mma.m16n8k16", "ldmatrix.x4", "cp.async, 16 bytes", "ex2",
         "two f32 to 16 bits", "shuffle", "f32 mul", "f32 add", "f32 max"]


class Plan:
    """The sizes in the remark of the tile plan."""

    def __init__(self, remark, depth, value_depth):
        number = lambda pattern: int(re.search(pattern, remark).group(1))  # noqa: E731
        self.keys = number(r"x (\d+) keys")
        self.warps = number(r"(\d+) warps")
        self.rows = number(r"warps of (\d+) rows")
        self.stages = number(r"(\d+) stages")
        self.depth, self.value_depth = depth, value_depth


def needed(plan):
    """Instructions of a warp for one tile of keys, none of it hidden, by the steps of
    Dao, "FlashAttention-2" (2023), algorithm 1, with the operands of mma.m16n8k16: a
    thread holds two rows of each 16."""
    rows, keys, depth, values = plan.rows, plan.keys, plan.depth, plan.value_depth
    tiles = rows // 16
    scores = rows * keys // 32
    thread_rows = 2 * tiles
    copied = 2 * keys * (depth + values) // 16  # chunks of 16 bytes
    return {
        # Q K^T and P V.
        "mma.m16n8k16": tiles * (keys // 8) * (depth // 16)
        + tiles * (values // 8) * (keys // 16),
        # Q, K and V once each.
        "ldmatrix.x4": tiles * (depth // 16) + (keys // 16) * (depth // 16)
        + (keys // 16) * (values // 16),
        "cp.async, 16 bytes": copied // (32 * plan.warps),
        # exp2(s c - m c), and exp2((m_old - m) c) for each row.
        "ex2": scores + thread_rows,
        "f32 fma": scores,
        # acc and sum times the decay; (m_old - m) c; m c.
        "f32 mul": rows * values // 32 + 3 * thread_rows,
        # Into the sum; m_old - m.
        "f32 add": scores + thread_rows,
        # Of the tile with m_old; with two of the other threads of the row.
        "f32 max": scores + 2 * thread_rows,
        "two f32 to 16 bits": scores // 2,
        "shuffle": 2 * thread_rows,
        # One for K and one for V: the barrier, a group of copies and its wait.
        "barriers, waits": 6,
    }


class Code:
    """The instructions of a kernel as nvdisasm writes them."""

    def __init__(self, text):
        self.opcodes, self.targets, self.conditional = [], [], []
        labels = {}
        for line in text.splitlines():
            if label := re.match(r"(\.L_\w+):", line):
                labels[label[1]] = len(self.opcodes)
                continue
            found = re.match(
                r"\s+/\*[0-9a-f]+\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)(.*);", line
            )
            if not found:
                continue
            predicate, opcode, operands = found.groups()
            target = re.search(r"`\((\.L_\w+)\)", operands)
            self.opcodes.append(opcode)
            self.targets.append(target and target[1])
            # A branch may have a predicate among its operands, or be for lanes that
            # diverge (BRA.DIV), which those of a warp with all its lanes do not.
            self.conditional.append(
                bool(predicate) or bool(re.match(r"\s*!?U?P\d", operands))
                or "DIV" in opcode
            )
        self.targets = [t and labels[t] for t in self.targets]

    def next(self, i):
        """Where execution goes from instruction i."""
        name = self.opcodes[i].split(".")[0]
        if name in ("EXIT", "RET"):
            return [i + 1] if self.conditional[i] else []
        # A call of a helper (a division) comes back; ptxas also leaves loops by CALL.
        jumps = name == "BRA" or name == "CALL"
        if not jumps or self.targets[i] is None:
            return [i + 1]
        return ([i + 1] if self.conditional[i] else []) + [self.targets[i]]

    def count(self, name, positions):
        return sum(self.opcodes[i].startswith(name) for i in positions)

    def main_loop(self):
        """First and last instruction of the loop that copies and multiplies tiles."""
        loops = [
            (to, i) for i in range(len(self.opcodes)) for to in self.next(i)
            if to <= i and self.count("LDGSTS", range(to, i))
            and self.count("HMMA", range(to, i))
        ]
        assert len(loops) == 1, f"loops that look like the main one: {loops}"
        return loops[0]

    def whole_tile(self):
        """What one pass of the main loop executes for a tile that nothing hides, with
        the copies of the tiles to come: of all ways through the loop the shortest that
        has all the copies. A mask, a guard, a next range only make it longer."""
        first, last = self.main_loop()
        copies = self.count("LDGSTS", range(first, last))
        # Instructions from here to the end, less a lot for each copy.
        cost, step = {last: 1}, {}
        for i in range(last - 1, first - 1, -1):
            ways = [to for to in self.next(i) if i < to <= last and to in cost]
            if ways:
                step[i] = min(ways, key=cost.get)
                worth = len(self.opcodes) if self.opcodes[i].startswith("LDGSTS") else 0
                cost[i] = cost[step[i]] + 1 - worth
        path = [first]
        while path[-1] != last:
            path.append(step[path[-1]])
        assert self.count("LDGSTS", path) == copies, "a copy is on no way with the others"
        return path


def counts(code):
    """Instructions of one whole tile by kind."""
    result = collections.Counter()
    for i in code.whole_tile():
        opcode = code.opcodes[i]
        fits = (kind for kind, names in KINDS.items() if opcode.startswith(tuple(names)))
        result[next(fits, OTHER)] += 1
    return result


def measure(variant):
    stem = os.path.join(FOLDER, "_".join(map(str, variant)))
    _, remark = make_ptx(variant, stem)
    registers = re.search(r"Used (\d+) registers", assemble(stem)).group(1)
    done = subprocess.run(
        [NVDISASM, "-c", stem + ".cubin"], capture_output=True, text=True, check=True
    )
    depth, value_depth, kind, _ = variant
    plan = Plan(remark, depth, value_depth)
    has = counts(Code(done.stdout))
    return f"{kind}, {depth}", plan, needed(plan), has, registers


def table(measured):
    lines = ["| a warp, for one tile of keys |"
             + "".join(f" {name}: needed | has |" for name, *_ in measured),
             "|---|" + "--:|--:|" * len(measured)]

    def row(name, cells):
        lines.append(f"| {name} |" + "".join(f" {a} | {b} |" for a, b in cells))

    row("rows x keys, stages", [(f"{p.rows} x {p.keys}", p.stages)
                                for _, p, _, _, _ in measured])
    row("registers of a thread, of 255", [("", r) for *_, r in measured])
    for kind in [*KINDS, OTHER]:
        row(kind, [(needs.get(kind, ""), has[kind]) for _, _, needs, has, _ in measured])
    row("all", [(sum(needs.values()), sum(has.values()))
                for _, _, needs, has, _ in measured])
    # NVIDIA A100 whitepaper: 1024 f16 fma a clock and multiprocessor, which has four
    # schedulers that issue one instruction a clock.
    row("clocks of the tensor core", [("", has["mma.m16n8k16"] * 16 * 8 * 16 // 256)
                                      for _, _, _, has, _ in measured])
    return "\n".join(lines) + "\n"


def main():
    measured = [measure(variant) for variant in VARIANTS]
    made = table(measured)
    print(made)
    wrong = []
    for name, plan, needs, has, _ in measured:
        for kind in EXACT:
            if has[kind] != needs[kind]:
                wrong.append(f"{name}: {has[kind]} {kind}, needed are {needs[kind]}")
        # One more for each row: m c in the unit of the weights.
        if not needs["f32 fma"] <= has["f32 fma"] <= needs["f32 fma"] + plan.rows // 8:
            wrong.append(f"{name}: {has['f32 fma']} f32 fma")
    with open(PAGE) as file:
        before, rest = file.read().split(BEGIN)
    kept, after = rest.split(END)
    if UPDATE:
        with open(PAGE, "w") as file:
            file.write(before + BEGIN + made + END + after)
    elif kept != made:
        wrong.append(f"the table in {os.path.basename(PAGE)} differs: --update writes it")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
