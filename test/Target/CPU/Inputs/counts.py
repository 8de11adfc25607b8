"""Compares the counts that remarks give with those that they should be.

usage: counts.py RING-OPT FILE, where S in FILE stands for the sequence length
"""

import re
import subprocess
import sys

BATCH, KV_HEADS, DEPTH, VALUE_DEPTH, BYTES = 2, 3, 8, 5, 2

ring_opt, path = sys.argv[1:]
text = open(path).read()
counted = 0
for length in (1, 16, 97):
    for ranks in (1, 2, 3, 4, 5, 8):
        for distance in (1, 2, 3, 20):
            found = subprocess.run(
                [
                    ring_opt,
                    "-",
                    f"--ring-shard-attention=ranks={ranks}",
                    "--ring-apply-layout=layout=striped",
                    "--ring-classify-blocks",
                    f"--ring-pipeline-rounds=prefetch-distance={distance}",
                    "--ring-verify-schedule",
                    "--remarks-filter=ring-(pipeline-rounds|verify-schedule)",
                    "-o",
                    "/dev/null",
                ],
                input=text.replace("xSx", f"x{length}x"),
                capture_output=True,
                text=True,
                check=True,
            ).stderr
            # Everything is visible, so the rounds are those up to the last
            # rank that owns a key.
            owners = min(ranks, length)
            rounds = 1 if owners == 1 and ranks == 1 else ranks
            if owners < ranks:
                # Position p is rank p's: rank r sees rank r - t in round t.
                rounds = max(
                    (rank - owner) % ranks + 1
                    for rank in range(owners)
                    for owner in range(owners)
                )
            transfers = rounds - 1
            longest = -(-length // ranks)
            each = BATCH * KV_HEADS * longest * (DEPTH + VALUE_DEPTH) * BYTES
            expected = {
                "transfers": transfers,
                "slots": min(distance + 1, transfers),
                "bytes_per_rank": transfers * each,
            }
            remarks = [
                line
                for line in found.splitlines()
                if re.search(r"(PipelineRounds|VerifySchedule) \|", line)
            ]
            assert len(remarks) == 2, found
            for line in remarks:
                got = {
                    name: int(re.search(rf"\b{name}=(\d+)", line).group(1))
                    for name in expected
                }
                assert got == expected, (length, ranks, distance, expected, line)
            counted += 1
print(counted, "programs counted")
