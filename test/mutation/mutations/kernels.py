"""The code of the kernels: lib/Conversion/RingToVector. What is broken is how they
are generated; the tests run the programs."""

from .mutation import Mutation, clause, lit, random_programs

ONLINE = "lib/Conversion/RingToVector/OnlineAttentionKernel.cpp"
FINALIZE = "lib/Conversion/RingToVector/FinalizeKernel.cpp"
BUILDER = "lib/Conversion/RingToVector/KernelBuilder.cpp"
SCORE = "lib/Conversion/RingToVector/ScoreVectorizer.cpp"

SOFTMAX = lit("Integration/cases_softmax.py")
MASKS = lit("Integration/cases_masks.py")
STATES = lit("Integration/merged_states.py")
RANDOM = random_programs()

SCORES = [
    Mutation(
        "kernel-scale-dropped",
        "scores are not scaled",
        ONLINE,
        "b.vmul(dot, b.splat(op.getScale().convertToFloat(), lanes))",
        "dot",
        clause("scale"),
    ),
    Mutation(
        "kernel-softcap-dropped",
        "scores are not capped",
        ONLINE,
        "x = b.vmul(cap, b.tanh(arith::DivFOp::create(b, x, cap)));",
        "(void)cap;",
        clause("softcap"),
    ),
    Mutation(
        "kernel-softcap-after-bias",
        "the bias is capped with the score",
        ONLINE,
        """\
    x = b.vmul(cap, b.tanh(arith::DivFOp::create(b, x, cap)));
  }
  if (bias)
    x = b.vadd(x, b.load(biasT, {row, group}, lanes));
""",
        """\
    if (bias)
      x = b.vadd(x, b.load(biasT, {row, group}, lanes));
    x = b.vmul(cap, b.tanh(arith::DivFOp::create(b, x, cap)));
  } else if (bias) {
    x = b.vadd(x, b.load(biasT, {row, group}, lanes));
  }
""",
        RANDOM,
    ),
    Mutation(
        "kernel-bias-dropped",
        "no bias is added",
        ONLINE,
        "x = b.vadd(x, b.load(biasT, {row, group}, lanes));",
        "(void)biasT;",
        clause("bias"),
    ),
    Mutation(
        "kernel-bias-column-local",
        "the column of the bias is the key's place in the tile",
        ONLINE,
        "Value column = storedIndex(keyPositions, j);",
        "Value column = j;",
        clause("bias"),
    ),
    Mutation(
        "kernel-bias-row-of-tile",
        "the row of the bias is the query's place in the tile",
        ONLINE,
        "element(b.add(queryBegin, r))",
        "element(r)",
        MASKS,
    ),
    Mutation(
        "kernel-bias-head-ignored",
        "all heads have the bias of the first",
        ONLINE,
        "biasHead = unlessBroadcast(1, head);",
        "biasHead = b.index(0);",
        RANDOM,
    ),
    Mutation(
        "kernel-bias-batch-ignored",
        "all batch entries have the bias of the first",
        ONLINE,
        "biasBatch = unlessBroadcast(0, batch),",
        "biasBatch = b.index(0),",
        RANDOM,
    ),
    Mutation(
        "kernel-score-dropped",
        "the score region is not applied",
        ONLINE,
        "x = score.apply(x, batch, head, queryIndex, storedIndex(keyPositions, row));",
        "(void)queryIndex;",
        clause("score"),
    ),
    Mutation(
        "kernel-score-before-bias",
        "the score region gets the score without the bias",
        ONLINE,
        "score.apply(x, batch,",
        "score.apply(bias ? b.vsub(x, b.load(biasT, {row, group}, lanes)) : x, batch,",
        RANDOM,
    ),
    Mutation(
        "kernel-score-key-local",
        "the score region gets the key's place in the tile",
        ONLINE,
        "queryIndex, storedIndex(keyPositions, row)",
        "queryIndex, row",
        clause("score"),
    ),
    Mutation(
        "kernel-score-batch-ignored",
        "the score region gets batch entry 0",
        ONLINE,
        "score.apply(x, batch, head,",
        "score.apply(x, b.index(0), head,",
        RANDOM,
    ),
    Mutation(
        "kernel-score-kv-head",
        "the score region gets the key/value head",
        ONLINE,
        "score.apply(x, batch, head,",
        "score.apply(x, batch, kvHead,",
        RANDOM,
    ),
    Mutation(
        "kernel-score-lane-first",
        "look-ups of a score region are those of the first lane",
        SCORE,
        "vector::ExtractOp::create(b, value, lane)",
        "vector::ExtractOp::create(b, value, 0)",
        RANDOM,
    ),
]

TILES = [
    Mutation(
        "kernel-mask-dropped",
        "hidden pairs of a partial range keep their scores",
        ONLINE,
        "return partial ? arith::SelectOp::create(",
        "return false ? arith::SelectOp::create(",
        MASKS,
    ),
    Mutation(
        "kernel-spare-never-taken",
        "a hidden value that is NaN or infinite gets through, as 0 * NaN",
        ONLINE,
        "[&] { groups(/*spare=*/true); }",
        "[&] { groups(/*spare=*/false); }",
        MASKS,
    ),
    Mutation(
        "kernel-acc-not-decayed",
        "what was accumulated keeps its weight when the maximum rises",
        ONLINE,
        "b.vmul(b.load(accT, {b.add(column, c), group}, lanes), decay)",
        "b.load(accT, {b.add(column, c), group}, lanes)",
        SOFTMAX,
    ),
    Mutation(
        "kernel-sum-not-decayed",
        "the sum keeps its weight when the maximum rises",
        ONLINE,
        "b.fma(oldSum, decay, total)",
        "b.vadd(oldSum, total)",
        SOFTMAX,
    ),
    Mutation(
        "kernel-sum-not-carried",
        "the sum is that of the last tile",
        ONLINE,
        "b.fma(oldSum, decay, total)",
        "total",
        SOFTMAX,
    ),
    Mutation(
        "kernel-max-not-stored",
        "the running maximum stays where it was",
        ONLINE,
        "b.store(newMax, maxOf, group);",
        "",
        SOFTMAX,
    ),
    Mutation(
        "kernel-max-not-carried",
        "the maximum is that of the last tile",
        ONLINE,
        "Value newMax = b.load(maxOf, group, lanes);",
        """Value newMax =
      b.splat(-std::numeric_limits<float>::infinity(), lanes);""",
        SOFTMAX,
    ),
    Mutation(
        "kernel-max-not-subtracted",
        "weights are relative to 0",
        ONLINE,
        "b.exp(b.vsub(score, base))",
        "b.exp(score)",
        SOFTMAX,
    ),
    Mutation(
        "kernel-empty-not-guarded",
        "of rows that see nothing -inf - (-inf) is taken",
        ONLINE,
        "Value base = b.guardEmpty(newMax);",
        "Value base = newMax;",
        SOFTMAX,
    ),
    Mutation(
        "kernel-state-not-loaded",
        "a round begins with an empty maximum and sum",
        ONLINE,
        "memref::StoreOp::create(b, scalar, to, r);",
        "(void)scalar;",
        SOFTMAX,
    ),
    Mutation(
        "kernel-kv-head",
        "query head h reads key/value head h mod kv_heads",
        ONLINE,
        "kvHead = divide(head, b.index(heads / kvHeads));",
        "kvHead = modulo(head, b.index(kvHeads));",
        MASKS,
    ),
    Mutation(
        "kernel-tail-not-cut",
        "the last tile of a range has as many keys as any",
        ONLINE,
        "b.min(b.sub(end, first), b.index(plan.keyTile))",
        "b.index(plan.keyTile)",
        SOFTMAX,
    ),
    Mutation(
        "kernel-last-columns-lost",
        "value columns beyond whole register tiles are not accumulated",
        ONLINE,
        "if (whole < valueDepth)",
        "if (false)",
        SOFTMAX,
    ),
]

FINALIZING = [
    Mutation(
        "finalize-sinks-dropped",
        "the denominator has no sink",
        FINALIZE,
        "    if (sinks) {",
        "    if (false) {",
        clause("sinks"),
    ),
    Mutation(
        "finalize-sink-not-in-lse",
        "the sink is part of the sum, not of lse",
        FINALIZE,
        "Value logarithm = b.log(total);",
        """Value logarithm = b.log(memref::LoadOp::create(b, sum, at));
      maximum = memref::LoadOp::create(b, max, at);""",
        clause("sinks"),
    ),
    Mutation(
        "finalize-sinks-scaled",
        "the sink is scaled like a score",
        FINALIZE,
        "Value sink = memref::LoadOp::create(b, sinks, rows.head);",
        """Value sink = b.vmul(memref::LoadOp::create(b, sinks, rows.head),
                          b.f32(0.5f));""",
        clause("sinks"),
    ),
    Mutation(
        "finalize-sink-of-first-head",
        "all heads have the sink of the first",
        FINALIZE,
        "memref::LoadOp::create(b, sinks, rows.head)",
        "memref::LoadOp::create(b, sinks, b.index(0))",
        RANDOM,
    ),
    Mutation(
        "finalize-acc-not-decayed",
        "acc keeps its weight where the sink is the maximum",
        FINALIZE,
        "sum = b.vmul(sum, decay);",
        "(void)decay;",
        clause("sinks"),
    ),
    Mutation(
        "finalize-sink-not-guarded",
        "a sink of -inf makes NaN of a row that sees nothing",
        FINALIZE,
        "Value base = b.guardEmpty(inAllLanes(b, raised));",
        "Value base = inAllLanes(b, raised);",
        SOFTMAX,
    ),
    Mutation(
        "finalize-uniform-ignored",
        "empty_rows(uniform) gives 0",
        FINALIZE,
        "if (mean)",
        "if (false)",
        clause("empty-rows"),
    ),
    Mutation(
        "finalize-nan-ignored",
        "empty_rows(nan) gives 0",
        FINALIZE,
        "b.f32(nan ? 0.0f : 1.0f)",
        "b.f32(1.0f)",
        clause("empty-rows"),
    ),
    Mutation(
        "finalize-zero-ignored",
        "rows that see nothing are divided by 0",
        FINALIZE,
        "b.f32(nan ? 0.0f : 1.0f)",
        "b.f32(0.0f)",
        SOFTMAX,
    ),
    Mutation(
        "finalize-mean-of-first-head",
        "empty_rows(uniform) gives the mean of the first key/value head",
        FINALIZE,
        "arith::DivUIOp::create(b, rows.head, b.index(heads / meanHeads))",
        "b.index(0)",
        SOFTMAX,
    ),
    Mutation(
        "finalize-not-divided",
        "acc is not divided by the sum",
        FINALIZE,
        "arith::DivFOp::create(b, sum, divisor)",
        "sum",
        SOFTMAX,
    ),
    Mutation(
        "finalize-log-dropped",
        "lse is the maximum",
        FINALIZE,
        "b.vadd(maximum, logarithm)",
        "maximum",
        SOFTMAX,
    ),
    Mutation(
        "finalize-lse-base-2",
        "lse is in units of log(2)",
        FINALIZE,
        "b.vadd(maximum, logarithm)",
        "b.vmul(b.vadd(maximum, logarithm), b.f32(1.44269504f))",
        SOFTMAX,
    ),
]

MERGING = [
    Mutation(
        "merge-identity-not-skipped",
        "merging with a state that saw nothing computes with -inf",
        FINALIZE,
        "arith::CmpFPredicate::UNE",
        "arith::CmpFPredicate::AlwaysTrue",
        STATES,
    ),
    Mutation(
        "merge-wrong-decay",
        "the other state is decayed as this one is",
        FINALIZE,
        "Value theirDecay = b.exp(b.vsub(inAllLanes(b, theirMax), base));",
        "Value theirDecay = myDecay;",
        STATES,
    ),
    Mutation(
        "merge-max-not-raised",
        "the merged maximum is this state's",
        FINALIZE,
        "Value newMax = b.vmax(theirMax, myMax);",
        "Value newMax = myMax;",
        STATES,
    ),
    Mutation(
        "merge-sum-not-added",
        "the merged sum lacks the other's",
        FINALIZE,
        """b.vadd(b.vmul(mySum, lane(myDecay)),
                           b.vmul(theirSum, lane(theirDecay)))""",
        "b.vmul(mySum, lane(myDecay))",
        STATES,
    ),
    Mutation(
        "fill-nothing",
        "the accumulator starts with what its memory held",
        FINALIZE,
        "b.packRows(row, acc, rows.batch, rows.head, r, b.index(1), columns);",
        "(void)row;",
        SOFTMAX,
    ),
]

FUNCTIONS = [
    Mutation(
        "exp-not-flushed",
        "exp does not become 0 below the normal numbers",
        BUILDER,
        "return arith::SelectOp::create(*this, tiny, splat(0.0f, lanes), result);",
        "return result;",
        SOFTMAX,
    ),
    Mutation(
        "tanh-only-near-0",
        "tanh is the polynomial also far from 0",
        BUILDER,
        "return arith::SelectOp::create(*this, isSmall, small, large);",
        "return small;",
        clause("softcap"),
    ),
    Mutation(
        "pack-rounds-state",
        "rows are rounded to bf16 where they are unpacked to f32",
        BUILDER,
        "store(widen(loadRow(view, c, lanes, {})), target, {r, c});",
        """store(widen(narrow(widen(loadRow(view, c, lanes, {})), getBF16Type())),
                target, {r, c});""",
        SOFTMAX,
    ),
]

MUTATIONS = [*SCORES, *TILES, *FINALIZING, *MERGING, *FUNCTIONS]
