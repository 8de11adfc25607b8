"""ring-raise-attention: lib/Dialect/Ring/Transforms/RaiseAttention*.cpp."""

from .mutation import Mutation, lit

FOLDER = "lib/Dialect/Ring/Transforms/"
RAISE = FOLDER + "RaiseAttention.cpp"
MATCH = FOLDER + "RaiseAttentionMatch.cpp"
SOFTMAX = FOLDER + "RaiseAttentionSoftmax.cpp"
SCORES = FOLDER + "RaiseAttentionScores.cpp"
MASK = FOLDER + "RaiseAttentionMask.cpp"

RAISED = lit("Dialect/Ring/Transforms/raise-attention.mlir")
REFUSED = lit("Dialect/Ring/Transforms/raise-attention-refused.mlir")
FORMS = lit("Dialect/Ring/Transforms/raise-attention-forms.mlir")
DATA = lit("Dialect/Ring/Transforms/raise-attention-data.mlir")

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
        SCORES,
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
        "(mayBeEmpty || bias || condition) && !emptyRowsAreZero",
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
        SOFTMAX,
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
    Mutation(
        "raise-bias-dropped",
        "what is added to the scores is lost",
        RAISE,
        "match.bias ? materialize(*match.bias) : Value();",
        "Value();",
        DATA,
    ),
    Mutation(
        "raise-condition-inverted",
        "a mask of data hides what it shows",
        RAISE,
        "Value result = match.hidden\n",
        "Value result = !match.hidden\n",
        DATA,
    ),
    Mutation(
        "raise-finite-beside-bias",
        "a finite mask is raised beside a bias",
        MATCH,
        "if (hidesByFiniteScore && (bias || condition))",
        "if (false)",
        DATA,
    ),
    Mutation(
        "raise-uniform-lost",
        "a row that a finite score hides all along gives NaN",
        MATCH,
        "match.emptyRows = EmptyRows::Uniform;",
        "match.emptyRows = EmptyRows::NaN;",
        DATA,
    ),
    Mutation(
        "raise-bias-row-not-nan",
        "a row of -inf in a bias gives 0 where the model gives NaN",
        MATCH,
        "(mayBeEmpty || bias || condition) && !emptyRowsAreZero",
        "mayBeEmpty && !emptyRowsAreZero",
        DATA,
    ),
    Mutation(
        "raise-any-low-number-hides",
        "-1e30 counts as -inf",
        SCORES,
        "return fill <= -1e38;",
        "return fill <= -1e29;",
        DATA,
    ),
    Mutation(
        "raise-finite-parts",
        "of a finite mask, parts are positional and parts data",
        SCORES,
        "std::isinf(fill) && isConjunction(parts, negated)",
        "isConjunction(parts, negated)",
        DATA,
    ),
    Mutation(
        "raise-max-from-nan",
        "a maximum may start at NaN whatever it does with it",
        SOFTMAX,
        "return isa<arith::MaxNumFOp>(max->op);",
        "return true;",
        DATA,
    ),
    Mutation(
        "raise-uneven-list",
        "any list of numbers counts as positions",
        MASK,
        "if (number != first + static_cast<int64_t>(i) * step)",
        "if (false)",
        DATA,
    ),
    Mutation(
        "raise-either-condition",
        "a choice of conditions is a conjunction",
        MASK,
        "if (!value || (*value != 0) != negated || chosen != negated)",
        "if (!value)",
        DATA,
    ),
    Mutation(
        "raise-finite-multiplied",
        "a finite score hides though it is multiplied",
        SCORES,
        "if (std::isfinite(fill) && scale != 1)",
        "if (false)",
        DATA,
    ),
    Mutation(
        "raise-several-finite",
        "several masks, one of a finite score, give the mean of all values",
        MATCH,
        "if (mayBeEmpty && hidesByFiniteScore && masks > 1)",
        "if (false)",
        DATA,
    ),
    Mutation(
        "raise-finite-data-beside-positions",
        "a mask of data by a finite score is raised beside one of positions",
        MATCH,
        "if (condition && std::isfinite(condition->fill) && masks > 0)",
        "if (false)",
        DATA,
    ),
    Mutation(
        "raise-bias-after-replacement",
        "a bias that is added to replaced scores is replaced with them",
        SCORES,
        "if (this->condition || bias || scale != 1)",
        "if (this->condition || scale != 1)",
        DATA,
    ),
]
