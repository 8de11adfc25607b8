"""What the bundle holds: attentions whose numbers are checked, and those that are timed."""
import os
import sys
from typing import NamedTuple

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "Integration", "Inputs"))
from attention_case import Case, Mask  # noqa: E402
from random_cases import random_trial  # noqa: E402
from score_regions import ALIBI, HIDDEN, SLOPES  # noqa: E402

RANDOM_PROGRAMS = 16
LOWEST = np.finfo(np.float32).min


class Configuration(NamedTuple):
    """What a program is compiled for, and how it runs."""

    ranks: int = 1
    layout: str = "zigzag"
    prefetch: int = 1
    transport: str = "threads"
    graph: bool = False

    def name(self):
        parts = [f"{self.ranks}_ranks", self.layout.replace(":", "_"), f"prefetch_{self.prefetch}"]
        parts += [self.transport] if self.transport != "threads" else []
        return "-".join(parts + ["graph"] * self.graph)


ONE = [Configuration()]
# Every layout, and every prefetch distance that three transfers tell apart.
RING = ONE + [Configuration(2, "zigzag", 1), Configuration(2, "contiguous", 2), Configuration(4, "zigzag", 2),
              Configuration(4, "striped", 3), Configuration(4, "balanced", 1)]
NCCL = [Configuration(transport="nccl"), Configuration(transport="nccl", graph=True)]


def random_inputs(seed, heads, kv_heads, queries, keys, depth, values=None, batch=1):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((batch, h, s, d)) for h, s, d in [
        (heads, queries, depth), (kv_heads, keys, depth), (kv_heads, keys, values or depth)]]


def poisoned(case):
    """NaN and infinities in keys and values that nobody sees, and some that rows do see."""
    q, k, v = (x.copy() for x in (case.q, case.k, case.v))
    hidden = ~case.visible()[0].any(axis=0)
    assert hidden.any()
    k[:, :, hidden], v[:, :, hidden] = np.nan, np.inf
    v[:, :, 40, 3], v[:, :, 41, 4], v[:, :, 42, 4] = np.nan, np.inf, -np.inf
    k[0, 0, 30, 5], q[0, 0, 7, 2], q[0, -1, 20, 3] = np.nan, np.nan, np.inf
    return case.replace(q=q, k=k, v=v)


def empty(kind, dtype):
    """Rows before all keys, and a batch entry without keys."""
    inputs = random_inputs(11, 2, 2, 90, 50, 64, batch=2)
    return Case(*inputs, Mask(True, align="bottom_right"), dtype=dtype, lengths=np.array([50, 0]), empty_rows=kind)


def cases():
    """Name -> case and configurations."""
    causal = Mask(True)
    found = {
        "bf16_64_causal": (Case(*random_inputs(1, 4, 2, 300, 300, 64), causal, dtype="bf16"), RING + NCCL),
        "f16_64_full": (Case(*random_inputs(2, 2, 2, 170, 170, 64), dtype="f16"), ONE),
        "bf16_80_cross": (Case(*random_inputs(3, 3, 1, 97, 210, 80), dtype="bf16"), ONE),
        "f32_80_causal": (Case(*random_inputs(4, 2, 2, 130, 130, 80), causal), ONE),
        "bf16_128_causal": (Case(*random_inputs(5, 4, 1, 257, 257, 128), causal, dtype="bf16"), RING[:4]),
        "f16_128_causal": (Case(*random_inputs(6, 2, 2, 129, 129, 128), causal, dtype="f16"), ONE),
        "f32_128_causal": (Case(*random_inputs(7, 2, 1, 150, 150, 128), causal), RING[:4]),
        "bf16_192_128_causal": (Case(*random_inputs(8, 2, 2, 140, 140, 192, 128), causal, dtype="bf16"), ONE),
        "f16_192_128": (Case(*random_inputs(9, 2, 2, 100, 100, 192, 128), dtype="f16"), ONE),
        "bf16_256_causal": (Case(*random_inputs(10, 2, 1, 130, 130, 256), causal, dtype="bf16"), ONE),
        "f16_256": (Case(*random_inputs(12, 1, 1, 100, 100, 256), dtype="f16"), ONE),
        "f32_256": (Case(*random_inputs(13, 1, 1, 70, 90, 256)), ONE),
        "bf16_chunk": (Case(*random_inputs(14, 2, 2, 150, 150, 64), Mask(chunk=40), dtype="bf16"), ONE),
        "f16_prefix": (Case(*random_inputs(15, 2, 2, 150, 150, 64), Mask(True, prefix=50), dtype="f16"), ONE),
        "f16_softcap": (Case(*(3 * x for x in random_inputs(16, 2, 1, 140, 140, 64)), causal, dtype="f16",
                             softcap=5.0), ONE),
        "f32_large_scores": (Case(*(9 * x for x in random_inputs(17, 2, 2, 100, 100, 64)), causal), ONE),
    }
    rng = np.random.default_rng(20)
    documents = np.sort(rng.integers(0, 4, (2, 220)), axis=1)
    documents[:, 200:] = -1
    for dtype in "bf16", "f32":
        inputs = random_inputs(21, 4, 2, 220, 220, 64, batch=2)
        found[f"{dtype}_window_segments_lengths"] = (
            Case(*inputs, Mask(True, (60, 0)), dtype=dtype, query_segments=documents, key_segments=documents,
                 lengths=np.array([220, 150])), RING if dtype == "bf16" else ONE)
    for dtype, bias_dtype in ("bf16", "f32"), ("f16", "f16"), ("f32", "f32"):
        bias = rng.standard_normal((1, 2, 120, 120))
        bias[..., 100:] = -np.inf
        case = Case(*random_inputs(22, 2, 2, 120, 120, 64), causal, dtype=dtype, bias=bias, bias_dtype=bias_dtype)
        found[f"{dtype}_bias"] = case, RING[:4] if dtype == "bf16" else ONE
    for dtype in "bf16", "f32":
        case = Case(*random_inputs(23, 4, 2, 140, 140, 64), Mask(True, (30, 0)), dtype=dtype,
                    sinks=rng.standard_normal(4))
        found[f"{dtype}_sinks"] = case, RING[:4] if dtype == "bf16" else ONE
    for region, dtype in (SLOPES, "bf16"), (HIDDEN, "f16"), (ALIBI, "f32"):
        case = Case(*random_inputs(24, 4, 2, 130, 130, 64), causal, dtype=dtype, score=region,
                    table=region.random_table(rng, {"heads": 4, "keys": 130}))
        found[f"{dtype}_score_{region.name}"] = case, ONE + RING[3:4]
    for dtype, depth in ("bf16", 128), ("f16", 64), ("f32", 128):
        found[f"{dtype}_decode"] = Case(*random_inputs(25, 8, 2, 1, 1500, depth), dtype=dtype), ONE
    offsets = {"mask": causal, "offsets": np.array([699, 320])}
    found["bf16_decode_offsets"] = Case(*random_inputs(26, 4, 1, 1, 700, 128, batch=2), dtype="bf16", **offsets), RING[:2]
    for kind, dtype in ("zero", "bf16"), ("uniform", "bf16"), ("nan", "f16"), ("zero", "f32"):
        found[f"{dtype}_empty_rows_{kind}"] = empty(kind, dtype), RING[:2]
    for dtype in "bf16", "f16", "f32":
        case = Case(*random_inputs(27, 2, 2, 150, 150, 64), causal, dtype=dtype, lengths=np.array([130]))
        found[f"{dtype}_not_finite"] = poisoned(case), RING[:2]
    lowest = np.zeros((1, 1, 1, 90))
    lowest[..., 50:] = LOWEST
    found["f32_lowest_bias"] = Case(*random_inputs(28, 2, 2, 90, 90, 64), bias=lowest), ONE
    return found


def checked_programs():
    """Name -> cases of one function, and configurations. Random programs have several
    attentions, with clauses, types and sizes in any combination."""
    programs = {name: ([case], configurations) for name, (case, configurations) in cases().items()}
    for seed in range(RANDOM_PROGRAMS):
        trial = random_trial(seed, max_s=120)
        configuration = Configuration(min(trial.ranks, 4), trial.layout, min(trial.prefetch, 3))
        programs[f"random_{seed}"] = trial.cases, [configuration]
    return programs


class Timed(NamedTuple):
    """A self-attention over any length, or one query over any number of keys."""

    dtype: str
    heads: int
    kv_heads: int
    depth: int
    causal: bool = False
    decode: bool = False

    def text(self):
        query = f"tensor<1x{self.heads}x{1 if self.decode else '?'}x{self.depth}x{self.dtype}>"
        key = f"tensor<1x{self.kv_heads}x?x{self.depth}x{self.dtype}>"
        lse = f"tensor<1x{self.heads}x{1 if self.decode else '?'}xf32>"
        mask = " mask(<causal>)" if self.causal else ""
        return (f"func.func @attention(%q: {query}, %k: {key}, %v: {key}) -> ({query}, {lse}) {{\n"
                f"  %o, %l = ring.attention %q, %k, %v{mask} : ({query}, {key}, {key}) -> ({query}, {lse})\n"
                f"  return %o, %l : {query}, {lse}\n}}\n")


# Kernels know no length, so a program serves all of them.
TIMED = {
    **{f"time_bf16_{depth}_{mask}": Timed("bf16", 16, 16, depth, mask == "causal")
       for depth in (64, 128) for mask in ("causal", "full")},
    "time_f32_128_causal": Timed("f32", 16, 16, 128, True),
    "time_bf16_128_decode": Timed("bf16", 32, 8, 128, decode=True),
}
