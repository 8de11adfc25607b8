"""ring-raise-attention: lib/Dialect/Ring/Transforms/RaiseAttention*.cpp."""

from .mutation import Mutation, lit

FOLDER = "lib/Dialect/Ring/Transforms/"
RAISE = FOLDER + "RaiseAttention.cpp"
MATCH = FOLDER + "RaiseAttentionMatch.cpp"
MASK = FOLDER + "RaiseAttentionMask.cpp"

RAISED = lit("Dialect/Ring/Transforms/raise-attention.mlir")
REFUSED = lit("Dialect/Ring/Transforms/raise-attention-refused.mlir")
FORMS = lit("Dialect/Ring/Transforms/raise-attention-forms.mlir")

MUTATIONS = [
    Mutation(
        "raise-does-nothing",
        "no softmax is looked at",
        RAISE,
        "!weighsBySoftmax(op)",
        "weighsBySoftmax(op)",
        RAISED,
    ),
    Mutation(
        "raise-mask-lost",
        "the attention that is found has no mask",
        MATCH,
        "match.mask = *mask;",
        "match.mask = MaskAttr();",
        RAISED,
    ),
    Mutation(
        "raise-scale-lost",
        "the attention that is found has scale 1",
        MATCH,
        "match.scale = scale;",
        "match.scale = 1;",
        RAISED,
    ),
    Mutation(
        "raise-scale-divided",
        "a score that is divided is taken for one that is multiplied",
        MATCH,
        "divides ? scale / *factor : scale * *factor",
        "scale * *factor",
        FORMS,
    ),
    Mutation(
        "raise-strict-comparison",
        "j < i is taken for j <= i",
        MASK,
        "above.constant += 1;",
        "",
        FORMS,
    ),
    Mutation(
        "raise-strict-comparison-reversed",
        "i > j is taken for i >= j",
        MASK,
        "below.constant += 1;",
        "",
        FORMS,
    ),
    Mutation(
        "raise-negation-lost",
        "a comparison that is negated is taken as it stands",
        MASK,
        "predicate = arith::invertPredicate(predicate);",
        "",
        FORMS,
    ),
    Mutation(
        "raise-empty-rows-zero",
        "rows that see nothing give 0 where the model gives NaN",
        MATCH,
        "!emptyRowsAreZero && visible->mayLeaveEmptyRows()",
        "false",
        FORMS,
    ),
    Mutation(
        "raise-other-uses-ignored",
        "attention is found though its weights have another use",
        MATCH,
        "!seen.contains(user) && !isDead(user)",
        "false",
        REFUSED,
    ),
    Mutation(
        "raise-reductions-not-compared",
        "the maximum and the sum may be of other scores",
        MATCH,
        "if (context.equal(element, reduction->operands[1], renaming))",
        "if (true)",
        REFUSED,
    ),
    Mutation(
        "raise-overflow-ignored",
        "positions of a mask may overflow",
        MASK,
        "if (!isInRange(range, expr->value.getType()))",
        "if (false)",
        REFUSED,
    ),
]
