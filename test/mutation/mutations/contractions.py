"""What stands around attention: matrix products, lib/Conversion/ContractionToVector,
and other ops, lib/Conversion/LinalgToParallel. What is broken is what is taken for one,
and what is generated for it."""

from .mutation import Mutation, lit

FOLDER = "lib/Conversion/ContractionToVector/"
MATCH = FOLDER + "Contraction.cpp"
KERNEL = FOLDER + "ContractionKernel.cpp"
PASS = FOLDER + "ContractionToVector.cpp"
FOLD = FOLDER + "FoldContractionOperands.cpp"

CONVERT = lit("Conversion/ContractionToVector/convert.mlir")
LEFT_ALONE = lit("Conversion/ContractionToVector/left-alone.mlir")
FOLDED = lit("Conversion/ContractionToVector/fold-operands.mlir")
NUMBERS = lit("Integration/matrix_products.py")
PARTS = "lib/Conversion/LinalgToParallel/LinalgToParallel.cpp"
PARTS_LEFT_ALONE = lit("Conversion/LinalgToParallel/left-alone.mlir")
PARTS_NUMBERS = lit("Integration/ops_in_parts.py")

MUTATIONS = [
    Mutation(
        "contraction-any-type",
        "a sum in 16 bits is added up in f32",
        MATCH,
        "if (!sum || !sum.getType().isF32())",
        "if (!sum)",
        LEFT_ALONE,
    ),
    Mutation(
        "contraction-square",
        "the square of one operand is taken for a product of both",
        MATCH,
        "a.getArgNumber() + b.getArgNumber() == 1",
        "true",
        LEFT_ALONE,
    ),
    Mutation(
        "contraction-does-more",
        "an op that does more than to add a product loses that",
        MATCH,
        "static_cast<int64_t>(body.getOperations().size()) == ops",
        "true",
        LEFT_ALONE,
    ),
    Mutation(
        "contraction-loop-of-one-operand",
        "a sum over a loop of one operand alone is taken for a product",
        MATCH,
        "if (inLhs + inRhs + inOut < 2 ||",
        "if (inLhs + inRhs + inOut < 1 ||",
        LEFT_ALONE,
    ),
    Mutation(
        "contraction-in-called-function",
        "a function without a context calls the runtime",
        PASS,
        "if (called.contains(function))",
        "if (false)",
        LEFT_ALONE,
    ),
    Mutation(
        "contraction-in-other-region",
        "the runtime is called from a region that does not become blocks",
        PASS,
        "if (!becomesPartOfBlocks(op, function) || isSmall(op))",
        "if (isSmall(op))",
        LEFT_ALONE,
    ),
    Mutation(
        "contraction-minus-zero",
        "a sum that starts from -0 starts from 0",
        PASS,
        "value.getValue().isPosZero()",
        "value.getValue().isZero()",
        CONVERT,
    ),
    Mutation(
        "contraction-fill-with-readers",
        "zeros that somebody else reads are not written",
        PASS,
        "if (!isMemoryEffectFree(previous) && !isa<memref::AllocOp>(previous))",
        "if (false)",
        CONVERT,
    ),
    Mutation(
        "contraction-merged-whatever-strides",
        "dimensions are taken for one that do not lie behind one another",
        PASS,
        "inner.size = select(mergeable, size, inner.size);",
        "inner.size = size;",
        NUMBERS,
    ),
    Mutation(
        "contraction-reads-beyond-columns",
        "a block that is not all there is read beyond the operand",
        KERNEL,
        "columns.push_back(source.column(b.min(column, last)));",
        "(void)last;\n        columns.push_back(source.column(column));",
        NUMBERS,
    ),
    Mutation(
        "contraction-writes-whole-registers",
        "the rest of a row is read and written as if it were a whole register",
        KERNEL,
        "rest(end, vector::CreateMaskOp::create(b, type, left));",
        "rest(end, vector::CreateMaskOp::create(b, type, Value(b.index(b.plan.registerLanes))));",
        NUMBERS,
    ),
    Mutation(
        "contraction-never-from-result",
        "what the result holds before is not added",
        KERNEL,
        "zeroRows(outTile, fromZero ? b.index(0) : rows);\n  if (!fromZero)",
        "zeroRows(outTile, b.index(0));\n  if (false)",
        NUMBERS,
    ),
    Mutation(
        "contraction-too-few-registers",
        "the last columns of a strip are not summed up",
        KERNEL,
        "b.index(registers * lanes));",
        "b.index((registers + 1) * lanes));",
        NUMBERS,
    ),
    Mutation(
        "contraction-folds-what-is-no-copy",
        "an operand is read from where it was computed from",
        FOLD,
        "return value == op.getBlock()->getArgument(0);",
        "return true;",
        FOLDED,
    ),
    Mutation(
        "contraction-folds-a-loop-away",
        "a broadcast is folded that leaves a loop with one operand",
        FOLD,
        "if (!fitKernels(maps)) {",
        "if (false) {",
        FOLDED,
    ),
    Mutation(
        "contraction-folds-without-transposing",
        "the order of the dimensions of a copy is not that of the original",
        FOLD,
        "from.compose(inversePermutation(to)).compose(operand.map)",
        "from.compose(operand.map)",
        FOLDED,
    ),
    Mutation(
        "parts-written-by-all-items",
        "an op is cut along a loop that a result has not",
        PARTS,
        "if (uses != isPart || (op.isDpsInit(&operand) && !isPart))",
        "if (uses != isPart)",
        PARTS_LEFT_ALONE,
    ),
    Mutation(
        "parts-of-expressions",
        "an op is cut along a loop that walks along an operand in an expression",
        PARTS,
        "if (uses != isPart || (op.isDpsInit(&operand) && !isPart))",
        "if (op.isDpsInit(&operand) && !isPart)",
        PARTS_LEFT_ALONE,
    ),
    Mutation(
        "parts-of-bodies-that-write",
        "an op whose body writes memory is run side by side",
        PARTS,
        "return !writes.wasInterrupted();",
        "return true;",
        PARTS_LEFT_ALONE,
    ),
    Mutation(
        "parts-count-from-zero",
        "an index counts from the first row of the item",
        PARTS,
        "index.getResult().replaceAllUsesExcept(whole, whole);",
        "(void)whole;",
        PARTS_NUMBERS,
    ),
    Mutation(
        "parts-beyond-the-end",
        "the last item is as long as the others",
        PARTS,
        "Value count = arith::MinSIOp::create(b, most, left);",
        "(void)left;\n  Value count = most;",
        PARTS_NUMBERS,
    ),
    Mutation(
        "contraction-read-through-stays",
        "what a product reads through is computed all the same",
        "lib/Conversion/ContractionToVector/FoldContractionOperands.cpp",
        "isa<linalg::LinalgOp, tensor::EmptyOp>(op) && isOpTriviallyDead(op)",
        "false",
        lit("Conversion/ContractionToVector/fold-operands.mlir"),
    ),
]
