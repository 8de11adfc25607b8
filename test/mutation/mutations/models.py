"""What frameworks write: lib/Conversion/StableHLOToLinalg and AttentionToLinalg."""

from .mutation import Mutation, lit

HLO = "lib/Conversion/StableHLOToLinalg/"
OP = HLO + "HLOOp.cpp"
UNLINKED = "lib/Conversion/UnlinkedOp.h"
SCALARS = HLO + "Scalars.cpp"
TENSORS = HLO + "StableHLOToLinalg.cpp"
ATTENTION = "lib/Conversion/AttentionToLinalg/AttentionToLinalg.cpp"
SCAN = "lib/Conversion/AttentionToLinalg/Scan.cpp"
CONSTANTS = "lib/Dialect/Ring/Transforms/ConstantTensors.cpp"
DEFINITION = "lib/Conversion/AttentionToLinalg/SoftmaxAttention.cpp"

TORCH = "lib/Conversion/TorchToRing/TorchToRing.cpp"
TORCH_TYPES = "lib/Conversion/TorchToRing/TorchTypes.cpp"
TORCH_SCALARS = "lib/Conversion/TorchToRing/TorchScalars.cpp"
FLEX = "lib/Conversion/TorchToRing/FlexAttention.cpp"
TORCH_TENSORS = "lib/Conversion/TorchToRing/TorchTensors.cpp"

NUMBERS = lit("Integration/stablehlo_ops.py")
REFUSED = lit("Conversion/StableHLOToLinalg/refused.mlir")
SUMS = lit("Integration/running_sums.py")
SPELLED = lit("Conversion/AttentionToLinalg/convert.mlir")
NOT_SPELLED = lit("Conversion/AttentionToLinalg/refused.mlir")

FROM_TORCH = lit("Conversion/TorchToRing/convert.mlir")
NOT_FROM_TORCH = lit("Conversion/TorchToRing/refused.mlir")

MUTATIONS = [
    Mutation(
        "unknown-attributes",
        "an attribute of another dialect's op that is not understood is ignored",
        UNLINKED,
        "!name.contains('.') && !llvm::is_contained(known, name)",
        "false",
        REFUSED,
    ),
    Mutation(
        "hlo-unknown-fields",
        "a field of dimension numbers that is not understood is ignored",
        OP,
        "if (!llvm::is_contained(known, key) || result.contains(key) ||",
        "if (result.contains(key) ||",
        REFUSED,
    ),
    Mutation(
        "hlo-compare-greater",
        "GE compares by GT",
        SCALARS,
        '.Case("GE", arith::CmpFPredicate::OGE)',
        '.Case("GE", arith::CmpFPredicate::OGT)',
        NUMBERS,
    ),
    Mutation(
        "hlo-unequal-ordered",
        "NaN is not unequal to itself",
        SCALARS,
        '.Case("NE", arith::CmpFPredicate::UNE)',
        '.Case("NE", arith::CmpFPredicate::ONE)',
        NUMBERS,
    ),
    Mutation(
        "hlo-booleans-signed",
        "true converts to -1",
        SCALARS,
        "fromBits == 1 ? Value(arith::UIToFPOp::create(b, loc, type, x[0]))",
        "fromBits == 1 ? Value(arith::SIToFPOp::create(b, loc, type, x[0]))",
        NUMBERS,
    ),
    Mutation(
        "hlo-truth-positive",
        "a negative integer converts to false",
        SCALARS,
        "loc, arith::CmpIPredicate::ne,",
        "loc, arith::CmpIPredicate::sgt,",
        NUMBERS,
    ),
    Mutation(
        "hlo-sign-of-zero",
        "the sign of 0 is 1",
        SCALARS,
        "return arith::SelectOp::create(b, loc, nonzero, one, x[0]);",
        "return (void)nonzero, one;",
        NUMBERS,
    ),
    Mutation(
        "hlo-reduce-swapped",
        "the region of a reduction gets the element first",
        TENSORS,
        "SmallVector<Value> scalars(arguments.take_back(count));\n"
        "        llvm::append_range(scalars, arguments.take_front(count));",
        "SmallVector<Value> scalars(arguments.take_front(count));\n"
        "        llvm::append_range(scalars, arguments.take_back(count));",
        NUMBERS,
    ),
    Mutation(
        "hlo-dot-in-16-bits",
        "products of f16 are summed in f16",
        TENSORS,
        "onFloats && type.getElementTypeBitWidth() < 32",
        "onFloats && type.getElementTypeBitWidth() < 16",
        NUMBERS,
    ),
    Mutation(
        "hlo-gather-not-clamped",
        "a look-up behind the end of a table is not moved into it",
        TENSORS,
        "index(nested, from.getDimSize(dim) - (*sizes)[dim]));",
        "index(nested, 1 << 20));",
        NUMBERS,
    ),
    Mutation(
        "hlo-slice-dense",
        "the strides of a slice are 1",
        TENSORS,
        "*starts, to.getShape(), *strides));",
        "*starts, to.getShape(), SmallVector<int64_t>(rank, 1)));",
        NUMBERS,
    ),
    Mutation(
        "hlo-concatenate-in-place",
        "all parts are written to the front",
        TENSORS,
        "offsets[*dim] += shape[*dim];",
        "(void)shape;",
        NUMBERS,
    ),
    Mutation(
        "attention-scale-ignored",
        "tm_tensor.attention takes 1 / sqrt(d) whatever its scale",
        ATTENTION,
        "scale = given.getValueAsDouble();",
        "",
        SPELLED,
    ),
    Mutation(
        "attention-region-ignored",
        "a region that changes scores is not looked at",
        ATTENTION,
        "!llvm::equal(op->getRegion(0).front().back().getOperands(),\n"
        "                   op->getRegion(0).getArguments())",
        "false",
        NOT_SPELLED,
    ),
    Mutation(
        "attention-mask-inverted",
        "a mask of booleans hides where it is true",
        DEFINITION,
        "arith::SelectOp::create(nested, loc, x[1], x[0], lowest)",
        "arith::SelectOp::create(nested, loc, x[1], lowest, x[0])",
        SPELLED,
    ),
    Mutation(
        "torch-causal-ignored",
        "is_causal is not looked at",
        TORCH,
        "attention.causal = *causal;",
        "",
        FROM_TORCH,
    ),
    Mutation(
        "torch-mask-dropped",
        "attn_mask is not looked at",
        TORCH,
        "if (!isNone(op, 3))\n    attention.mask = 3;",
        "",
        FROM_TORCH,
    ),
    Mutation(
        "torch-dropout-ignored",
        "dropout is taken for 0",
        TORCH,
        "if (*dropout != 0)",
        "if (false)",
        NOT_FROM_TORCH,
    ),
    Mutation(
        "onnx-attributes-ignored",
        "attributes of onnx.Attention that are not understood are ignored",
        TORCH,
        'else if (name != "qk_matmul_output_mode" || !integer)',
        "else if (false)",
        NOT_FROM_TORCH,
    ),
    Mutation(
        "onnx-empty-rows-zero",
        "rows of onnx.Attention that see nothing give 0",
        TORCH,
        "attention.emptyRows = EmptyRows::NaN;",
        "",
        FROM_TORCH,
    ),
    Mutation(
        "torch-alpha-ignored",
        "aten.add takes alpha for 1",
        TORCH_TENSORS,
        "return isOne(2) ? binary",
        "return true ? binary",
        NOT_FROM_TORCH,
    ),
    Mutation(
        "torch-where-swapped",
        "aten.where chooses the other operand",
        TORCH_TENSORS,
        "arith::SelectOp::create(nested, loc, e[0], e[1], e[2])",
        "arith::SelectOp::create(nested, loc, e[0], e[2], e[1])",
        lit("Integration/exported_models.py"),
    ),
    Mutation(
        "scan-exclusive-sees-itself",
        "an exclusive running sum has its own element",
        SCAN,
        "Value before = scan.inclusive ? Value() : insert(carried[1]);",
        "Value before;",
        SUMS,
    ),
    Mutation(
        "scan-starts-at-zero",
        "a running sum loses the sign of a zero",
        SCAN,
        "b.getFloatAttr(element, -0.0)",
        "b.getFloatAttr(element, 0.0)",
        SUMS,
    ),
    Mutation(
        "scan-last-sum",
        "the accumulator of a running sum may be used",
        SCAN,
        "!op->getResult(1).use_empty()",
        "false",
        NOT_SPELLED,
    ),
    Mutation(
        "constant-slice-offset",
        "a slice of constants begins at the first element",
        CONSTANTS,
        "slice.getStaticOffset(dim) +",
        "0 +",
        lit("Conversion/AttentionToLinalg/scan.mlir"),
    ),
    Mutation(
        "constant-concat-offset",
        "concatenated constants stand on one another",
        CONSTANTS,
        "indices[dim] += offset;",
        "",
        lit("Conversion/AttentionToLinalg/scan.mlir"),
    ),
    Mutation(
        "torch-dead-in-place",
        "an op of torch that writes in place is dead where its result is not used",
        TORCH_TYPES,
        '!name.split(\'.\').first.ends_with("_") &&',
        "",
        lit("Conversion/TorchToRing/flex-refused.mlir"),
    ),
    Mutation(
        "flex-booleans-added",
        "a sum of booleans is the one of bits",
        TORCH_SCALARS,
        "(bitwise || !type.isInteger(1))",
        "true",
        lit("Conversion/TorchToRing/flex-refused.mlir"),
    ),
    Mutation(
        "flex-mask-inverted",
        "a function of masks says what is hidden",
        FLEX,
        "*visible, score, hidden)",
        "*visible, hidden, score)",
        lit("Conversion/TorchToRing/flex.mlir"),
    ),
    Mutation(
        "flex-lse-used",
        "the log-sum-exp of flex attention may be used",
        FLEX,
        "if (!other.use_empty())",
        "if (false)",
        lit("Conversion/TorchToRing/flex-refused.mlir"),
    ),
]
