"""What --json, the table, --repeat and --trace say about one program."""
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t

import json
import os
import sys

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

# A file that cannot be written is an error.
ring_run(ATTENTION, *flags, "--trace=no/such/folder.json", code=3)
ring_run(ATTENTION, *flags, "--output=0=no/such/folder.npy", code=3)
