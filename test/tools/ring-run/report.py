"""What --json, the table, --repeat and --trace say about one program."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import json
import os
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from ring_run import ATTENTION, report, ring_run

os.chdir(sys.argv[1])
RANKS, ROUNDS = 4, 4
flags = ["--random=7", f"--ranks={RANKS}", "--layout=zigzag"]

KEYS = """ranks layout variant attentions rounds transfers bytes_per_rank balance
round_balance buffers buffers_allocated peak_bytes_per_rank compile_ms time_ms""".split()
assert list(report(ATTENTION, *flags)) == [*KEYS, "ok"]
got = report(ATTENTION, *flags, "--check", "--repeat=3", "--threads=1", "--deadline=30")
assert list(got) == [*KEYS, "max_error", "ok"]
(error,) = got["max_error"]
assert 0 < error["out"] <= 1 and 0 <= error["lse"] <= 1, error
assert got["ok"] is True and got["compile_ms"] > 0 and got["time_ms"] > 0

# Counts are of one run, however often it was repeated. 10 keys at most a rank.
counts = {
    "ranks": RANKS,
    "layout": "zigzag",
    "variant": "pass-kv",
    "attentions": 1,
    "rounds": ROUNDS,
    "transfers": ROUNDS - 1,
    "bytes_per_rank": (ROUNDS - 1) * 2 * 10 * (8 + 8) * 4,
    "buffers": 2,
}
assert {key: got[key] for key in counts} == counts, got

# The table holds the same.
table, _ = ring_run(ATTENTION, *flags)
for row in "ranks 4", "layout zigzag", "variant pass-kv", "rounds 4", "transfers 3", "result ok":
    assert row in [" ".join(line.split()) for line in table.splitlines()], table

# The trace: for each rank, each round's work and each transfer, by name.
ring_run(ATTENTION, *flags, "--trace=trace.json")
with open("trace.json") as file:
    events = json.load(file)
events = events["traceEvents"] if isinstance(events, dict) else events
spans = [e for e in events if e["ph"] == "X"]
assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)
for rank in range(RANKS):
    mine = {e["name"]: e for e in spans if e["pid"] == rank}
    for t in range(ROUNDS):
        assert f"round {t} attention" in mine, (rank, t, list(mine))
    (sender,) = {e.split("from rank ")[1] for e in mine if e.startswith("transfer ")}
    assert int(sender) == (rank - 1) % RANKS
    for t in range(1, ROUNDS):
        transfer = mine[f"transfer {t} from rank {sender}"]
        assert transfer["args"]["bytes"] == 2 * 10 * (8 + 8) * 4
    assert sum(name.startswith("transfer ") for name in mine) == ROUNDS - 1

# Where ids decide what is visible, balances are what the runtime counted: under
# `contiguous` those of the rows in order, under `balanced` even.
S = 512
x = np.zeros((2, 1, S, 4), np.float32)
# One long document and padding; short ones behind a long one.
ids = np.full((2, S), -1, np.int32)
ids[0, :300] = 0
ids[1] = np.maximum(np.arange(S), 200) // 9
for name, array in ("x", x), ("ids", ids):
    np.save(f"{name}.npy", array)
X, IDS = f"tensor<2x1x{S}x4xf32>", f"tensor<2x{S}xi32>"
open("documents.mlir", "w").write(
    f"""func.func @f(%x: {X}, %ids: {IDS}) -> {X} {{
  %o = ring.attention %x, %x, %x segments(%ids, %ids) mask(<causal>) : ({X}, {X}, {X}, {IDS}, {IDS}) -> {X}
  return %o : {X}
}}
"""
)
sees = (ids[:, :, None] == ids[:, None, :]) & (ids[:, :, None] >= 0) & np.tri(S, dtype=bool)
blocks = sees.reshape(2, RANKS, S // RANKS, RANKS, S // RANKS).sum((0, 2, 4))
mean = blocks.sum() / RANKS
rounds = [max(blocks[r, (r - t) % RANKS] for r in range(RANKS)) for t in range(RANKS)]
inputs = ["--input=0=x.npy", "--input=1=ids.npy", f"--ranks={RANKS}"]
got = report("documents.mlir", *inputs, "--layout=contiguous", "--repeat=2")
assert np.isclose(got["balance"], blocks.sum(1).max() / mean), (got, blocks)
assert np.isclose(got["round_balance"], sum(rounds) / mean), (got, blocks)
assert got["balance"] > 1.2, got
got = report("documents.mlir", *inputs, "--layout=balanced")
assert got["balance"] <= 1.05, got

# What a program does is compared with what it says of itself: this one has each of
# its ranks run twice.
shard = ["ring-opt", ATTENTION, f"--ring-shard-attention=ranks={RANKS}"]
text = subprocess.run(shard, capture_output=True, text=True, check=True).stdout
call = re.search(r"%\w+:2 = call @attention_rank\(%0, %1, %2\) .*\n", text)[0]
again = re.sub(r"%\w+:2 = (.*)%1, %2", r"%again:2 = \1%2, %1", call)
text = text.replace(call, call + again).replace("ring.gather %3#1", "ring.gather %again#1")
assert "%again#1" in text, text
open("twice.mlir", "w").write(text)
stdout, stderr = ring_run("twice.mlir", "--random=7", "--json", code=1)
assert "transfers: the program has 3, the runtime counted 6" in stderr, stderr
assert "bytes sent: the program has" in stderr, stderr
assert json.loads(stdout)["ok"] is False, stdout

# A file that cannot be written is an error.
ring_run(ATTENTION, *flags, "--trace=no/such/folder.json", code=3)
ring_run(ATTENTION, *flags, "--output=0=no/such/folder.npy", code=3)
