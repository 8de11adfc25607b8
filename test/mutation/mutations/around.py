"""What is around attention: ring-shard-function, ring-unshare-destinations."""

from .mutation import Mutation, lit

TRANSFORMS = "lib/Dialect/Ring/Transforms/"
DIM = TRANSFORMS + "SequenceDim.cpp"
SPREAD = TRANSFORMS + "SequencePropagation.cpp"
PART = TRANSFORMS + "LocalPart.cpp"
OPS = TRANSFORMS + "LocalOps.cpp"
FUNCTION = TRANSFORMS + "LocalFunction.cpp"
SHARD = TRANSFORMS + "ShardFunction.cpp"
FEED_FORWARD = TRANSFORMS + "FeedForward.cpp"
UNSHARE = TRANSFORMS + "UnshareDestinations.cpp"

LOCAL = lit("Dialect/Ring/Transforms/shard-function.mlir")
REFUSED = lit("Dialect/Ring/Transforms/shard-function-refused.mlir")
BLOCKS = lit("Dialect/Ring/Transforms/shard-function-blockwise-ffn.mlir")
UNSHARED = lit("Dialect/Ring/Transforms/unshare-destinations.mlir")
RANDOM = lit("Integration/random_blocks.py")
WHOLE = lit("Integration/whole_blocks.py")
MEMORY = lit("Integration/feed_forward_memory.py")

MUTATIONS = [
    Mutation(
        "local-reduction",
        "a sum along the sequence is one over the rank's positions",
        DIM,
        "if (linalgOp.getIteratorTypesArray()[loop] != utils::IteratorType::parallel)",
        "if (false)",
        REFUSED,
    ),
    Mutation(
        "local-compound-index",
        "an index that the sequence is part of is taken for none",
        DIM,
        "if (!isa<AffineDimExpr>(expr) || found >= 0)\n      return std::nullopt;",
        "if (!isa<AffineDimExpr>(expr) || found >= 0)\n      continue;",
        REFUSED,
    ),
    Mutation(
        "local-part-of-positions",
        "a slice of some positions is one of all of them",
        DIM,
        "return slice.getStaticOffsets()[dim] == 0 &&\n         slice.getStaticSizes()[dim] == whole.getDimSize(dim) &&",
        "return slice.getStaticOffsets()[dim] >= 0 &&\n         slice.getStaticSizes()[dim] <= whole.getDimSize(dim) &&",
        REFUSED,
    ),
    Mutation(
        "local-concatenation",
        "what is concatenated along the sequence is each rank's",
        DIM,
        "if (concat.getDim() == static_cast<uint64_t>(known.dim))",
        "if (false)",
        REFUSED,
    ),
    Mutation(
        "local-padding-of-sequence",
        "every rank pads its positions",
        DIM,
        "if (pad.getStaticLow()[known.dim] != 0 || pad.getStaticHigh()[known.dim] != 0)",
        "if (false)",
        REFUSED,
    ),
    Mutation(
        "local-integer-division",
        "padding is divided by",
        DIM,
        "!matchPattern(inner.getOperand(1), m_Constant()))",
        "false)",
        REFUSED,
    ),
    Mutation(
        "local-effects",
        "ranks do what has effects, on padding too",
        DIM,
        "if (inner.getNumRegions() > 0 || !isMemoryEffectFree(&inner))",
        "if (inner.getNumRegions() > 0)",
        REFUSED,
    ),
    Mutation(
        "local-collapsed-order",
        "of collapsed dimensions the sequence is the outer one",
        DIM,
        "return {static_cast<int64_t>(index), before * dim.outer, after * dim.inner};",
        "return {static_cast<int64_t>(index), after * dim.inner, before * dim.outer};",
        RANDOM,
    ),
    Mutation(
        "local-whole-operand",
        "an operand that is needed whole is a rank's part",
        SPREAD,
        "if (!dim && ofRanks) {",
        "if (false) {",
        REFUSED,
    ),
    Mutation(
        "local-look-up",
        "other positions are looked up in a rank's own",
        SPREAD,
        "    if (dependsOnRanks(value)) {\n      reasons[op] = \"looks up other positions\";",
        "    if (false) {\n      reasons[op] = \"looks up other positions\";",
        REFUSED,
    ),
    Mutation(
        "local-captured-operand",
        "an operand in which other positions are looked up is given to a rank in part only",
        "lib/Dialect/Ring/Transforms/LocalPart.cpp",
        "  for (Value value : capturedValues(op))\n    needWhole(value, op);",
        "  (void)capturedValues;",
        lit("Dialect/Ring/Transforms/shard-function.mlir"),
    ),
    Mutation(
        "local-forward-from-all",
        "the way a mask runs is decided by its first use",
        SPREAD,
        "if (!dim || !dependsOnRanks(operand.get()))",
        "if (!dim)",
        WHOLE,
    ),
    Mutation(
        "local-mixing-input",
        "a cut input may be made by an op that mixes positions",
        SHARD,
        "op && propagation.dependsOnArguments(input.whole) && failed(blame(op)))",
        "op && false && failed(blame(op)))",
        REFUSED,
    ),
    Mutation(
        "local-mixing-between",
        "the host works between two attentions unnoticed",
        PART,
        "  if (propagation.dependsOnRanks(value) && !mixing)\n    mixing = findMixing(value, user);\n  if (llvm::none_of(",
        "  if (llvm::none_of(",
        REFUSED,
    ),
    Mutation(
        "local-blamed-op",
        "the last op before attention is blamed, not the one that mixes",
        PART,
        "    user = op;\n    value = *next;",
        "    return op;",
        REFUSED,
    ),
    Mutation(
        "local-clamp",
        "padding may look up outside a table",
        OPS,
        "  clampLookUps(result);\n",
        "",
        LOCAL,
    ),
    Mutation(
        "local-assert-padding",
        "an assertion ends the program for padding",
        OPS,
        "arith::OrIOp::create(inner, isPadding, check.getArg()));",
        "check.getArg());",
        RANDOM,
    ),
    Mutation(
        "local-positions-shift",
        "positions are one too high",
        OPS,
        "Value(arith::SubIOp::create(inner, number, one)), zero)));",
        "Value(arith::SubIOp::create(inner, number, zero)), zero)));",
        RANDOM,
    ),
    Mutation(
        "local-length-of-collapsed",
        "memory of batch and sequence is as long as the sequence",
        OPS,
        "Value factor = arith::ConstantIndexOp::create(b, dim.outer * dim.inner);",
        "Value factor = arith::ConstantIndexOp::create(b, dim.inner);",
        LOCAL,
    ),
    Mutation(
        "local-same-attention",
        "attentions that differ are one function",
        SHARD,
        "return named(a) == named(b) &&\n         OperationEquivalence",
        "return named(a) == named(b) ||\n         OperationEquivalence",
        LOCAL,
    ),
    Mutation(
        "ffn-widening",
        "a product that does not widen begins a feed-forward",
        FEED_FORWARD,
        "return elements(op->getResult(0)) > elements(activation(op));",
        "return true;",
        BLOCKS,
    ),
    Mutation(
        "ffn-used-outside",
        "what others need of a feed-forward is left in its loop",
        FEED_FORWARD,
        "return op != last && isUsedOutside(op, ops);",
        "return false;",
        BLOCKS,
    ),
    Mutation(
        "ffn-norm",
        "the norm before a feed-forward is as long as the sequence",
        FEED_FORWARD,
        "  takeNorm();\n",
        "",
        BLOCKS,
    ),
    Mutation(
        "ffn-residual",
        "the sum after a feed-forward is made apart",
        FEED_FORWARD,
        "  takeResidual();\n",
        "",
        BLOCKS,
    ),
    Mutation(
        "ffn-last-block",
        "the last block goes beyond the rank's positions",
        FUNCTION,
        "block.length = arith::MinSIOp::create(\n      b, step,",
        "block.length = arith::MaxSIOp::create(\n      b, step,",
        BLOCKS,
    ),
    Mutation(
        "unshared-place",
        "memory is made where it was shared, and lives from there",
        UNSHARE,
        "OpBuilder b(use.getOwner());",
        "OpBuilder b(op);",
        UNSHARED,
    ),
    Mutation(
        "memory-to-the-end",
        "memory lives to the end of a function",
        "lib/Target/CPU/Pipeline.cpp",
        "  pm.addPass(createFreeEarlyPass());\n",
        "",
        MEMORY,
    ),
]
