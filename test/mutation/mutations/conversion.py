"""The calls of the runtime: lib/Conversion/RingToLLVM."""

from .mutation import Mutation, lit

CALLS = "lib/Conversion/RingToLLVM/RingToLLVM.cpp"
CHECKS = "lib/Conversion/RingToLLVM/InputChecks.cpp"
BUILDER = "lib/Conversion/RingToLLVM/RuntimeBuilder.cpp"


def conversion_test(name):
    return lit(f"Conversion/RingToLLVM/{name}.mlir")


MASKS = lit("Integration/cases_masks.py")

MUTATIONS = [
    Mutation(
        "calls-unchecked",
        "the status of a call of the runtime is not looked at",
        BUILDER,
        "check(call(name, getI32Type(), arguments));",
        "call(name, getI32Type(), arguments);",
        conversion_test("transfers"),
    ),
    Mutation(
        "calls-end-always-ok",
        "ring_end is told that the program was right",
        CALLS,
        "{b.context(), status});\n  func::ReturnOp",
        "{b.context(), b.i32(0)});\n  func::ReturnOp",
        conversion_test("transfers"),
    ),
    Mutation(
        "calls-ring-backward",
        "blocks travel to the rank before",
        CALLS,
        "Value from = neighbour(1), to = neighbour(ranks - 1);",
        "Value from = neighbour(ranks - 1), to = neighbour(1);",
        MASKS,
    ),
    Mutation(
        "calls-owner-next",
        "a round computes with the work list of the rank before",
        CALLS,
        "arith::SubIOp::create(b, place, shift)",
        "arith::AddIOp::create(b, place, shift)",
        conversion_test("order"),
    ),
    Mutation(
        "calls-order-ignored",
        "ring.order has no effect",
        CALLS,
        "identity &= order.successor(r) == (r + 1) % n;",
        "(void)order.successor(r);",
        conversion_test("order"),
    ),
    Mutation(
        "calls-always-classified",
        "a whole work list is classified",
        CALLS,
        "b.i32(!op.getWhole())",
        "b.i32(1)",
        conversion_test("work"),
    ),
    Mutation(
        "calls-alignment-ignored",
        "the runtime is told that every mask is top_left",
        CALLS,
        "b.i32(bottomRight)};",
        "b.i32(0 * bottomRight)};",
        MASKS,
    ),
    Mutation(
        "calls-ids-swapped",
        "the runtime gets the ids of queries and keys the other way round",
        CALLS,
        "{op.getQuerySegments(), op.getKeySegments(),",
        "{op.getKeySegments(), op.getQuerySegments(),",
        conversion_test("work"),
    ),
    Mutation(
        "calls-no-fingerprint",
        "all programs tell the runtime one fingerprint",
        CALLS,
        "integer(kFingerprintAttrName, 0)",
        "0 * integer(kFingerprintAttrName, 0)",
        conversion_test("transfers"),
    ),
    Mutation(
        "calls-one-slot",
        "all programs tell the runtime that they need one slot",
        CALLS,
        "integer(kSlotsAttrName, 1)",
        "1",
        conversion_test("transfers"),
    ),
    Mutation(
        "calls-one-kernel",
        "the items of all kernels run the first",
        CALLS,
        "func::FuncOp &body = items[kernel];",
        "func::FuncOp &body = items[nullptr];",
        MASKS,
    ),
    Mutation(
        "calls-part-of-first-rank",
        "all ranks work on the local tensors of the first",
        CALLS,
        "arith::MulIOp::create(b, index, metadata.getStrides().front())",
        "arith::SubIOp::create(b, index, index)",
        MASKS,
    ),
    Mutation(
        "calls-round-of-trace",
        "the runtime does not know which round a loop is of",
        "lib/Conversion/RingToVector/RingToVector.cpp",
        "return owner.getRound();",
        "(void)owner.getRound();",
        lit("tools/ring-run/report.py"),
    ),
    Mutation(
        "exports-everything",
        "helpers of the program are visible outside of it",
        "lib/Conversion/RingToLLVM/ExportInterface.cpp",
        "function.setLinkage(LLVM::Linkage::Internal);",
        "",
        conversion_test("export-interface"),
    ),
    Mutation(
        "constants-not-split",
        "ring-split-constants does nothing",
        "lib/Conversion/RingToLLVM/SplitConstants.cpp",
        "use->set(cast<LLVM::ConstantOp>(b.clone(*op)).getResult());",
        "(void)use;",
        lit("Conversion/RingToLLVM/split-constants.mlir"),
    ),
    Mutation(
        "calls-local-begins",
        "a local function begins and ends like one with rounds",
        CALLS,
        "bool isLocal() { return isRank() && function->hasAttr(kLocalAttrName); }",
        "bool isLocal() { return false; }",
        conversion_test("local"),
    ),
    Mutation(
        "calls-local-arguments",
        "the arguments of a local function are not checked",
        CALLS,
        """b.setInsertionPointToStart(&function.front());
    checkArguments("ring_check_argument");
    return;""",
        "b.setInsertionPointToStart(&function.front());\n    return;",
        conversion_test("local"),
    ),
    Mutation(
        "calls-local-status",
        "the status of a called rank function is not looked at",
        CALLS,
        "b.check(callRankFunction(b,",
        "static_cast<void>(callRankFunction(b,",
        conversion_test("local"),
    ),
    Mutation(
        "calls-refuse-outside",
        "rank functions may be called from anywhere",
        CHECKS,
        "if (!isLocal(function))",
        "if (false)",
        conversion_test("refused"),
    ),
    Mutation(
        "calls-refuse-local",
        "a local function may call itself",
        CHECKS,
        "if (isLocal(*callee))",
        "if (false)",
        conversion_test("refused"),
    ),
    Mutation(
        "calls-refuse-arguments",
        "a rank function may be given any number of arguments",
        CHECKS,
        "if (arguments != callee.getNumArguments())",
        "if (false)",
        conversion_test("refused"),
    ),
    Mutation(
        "calls-refuse-types",
        "a called rank function may take other types",
        CHECKS,
        "    Type taken = callee->getArgumentTypes()[place];\n    if (given != taken && !memref::CastOp::areCastCompatible(given, taken))\n      return mismatch(op, *callee, place, given);",
        "",
        conversion_test("refused"),
    ),
]
