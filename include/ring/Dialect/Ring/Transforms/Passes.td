//===- Passes.td - Passes on the ring dialect ---------------*- tablegen -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_DIALECT_RING_TRANSFORMS_PASSES_TD
#define RING_DIALECT_RING_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def RefuseUnknownRegionsPass
    : Pass<"ring-refuse-unknown-regions", "::mlir::ModuleOp"> {
  let summary = "refuse ops with regions whose dialect is not known";
  let description = [{
    Runs before upstream's inliner, which crashes on ops that it does not know
    and that may hold symbols. Changes nothing.
  }];
}

def RaiseAttentionPass : Pass<"ring-raise-attention", "::mlir::func::FuncOp"> {
  let summary = "recognise attention written as ordinary tensor ops";
  let description = [{
    Replaces softmax(scale * Q K^T + mask) V written in linalg on tensors, as
    PyTorch's `scaled_dot_product_attention` is exported, by one
    `ring.attention` with the same meaning. What is not understood is left
    alone, and a `missed` remark names the op that broke the match.

    Where a `ring.attention` without a mask has a `score` region, or a bias,
    that hides pairs by -inf as follows from positions, that becomes its mask.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::ring::RingDialect", "::mlir::tensor::TensorDialect"];
}

def ShardAttentionPass : Pass<"ring-shard-attention", "::mlir::ModuleOp"> {
  let summary = "make a function with attention a program for N ranks (form 1)";
  let description = [{
    The function becomes the host side: each `ring.attention` is replaced by
    `ring.scatter` of its operands, a call of a new rank function, and
    `ring.gather` of its results. The rank function has local tensors and one
    loop over the rounds, in which a block of keys and values is computed on
    and then passed on around the ring (Liu, Zaharia, Abbeel, 2310.01889). The
    layout is contiguous; other passes change it.

    Clauses of `ring.attention` that the ring cannot carry yet are refused with
    an error that names them.
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "0",
           "Number of ranks; 0: take the grid's">,
    Option<"grid", "grid", "std::string", "\"\"",
           "Symbol of an existing shard.grid">,
    Option<"axis", "axis", "int64_t", "0", "Axis of that grid">,
    Option<"variant", "variant", "std::string", "\"auto\"",
           "What travels: auto, pass-kv">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::ring::RingDialect",
    "::mlir::scf::SCFDialect", "::mlir::shard::ShardDialect",
    "::mlir::tensor::TensorDialect"];
}

def ShardFunctionPass : Pass<"ring-shard-function", "::mlir::ModuleOp"> {
  let summary = "make what is around attention local to a rank";
  let description = [{
    Runs after `ring-shard-attention`. The sequence dimension is followed from
    the scatters and gathers of attention through the host function: through
    indexing maps, reshapes (also where batch and sequence are collapsed into
    one dimension), slices and concatenations along other dimensions. What works
    position by position (norms, projections, rotary embedding, feed-forward)
    moves, with the calls of attention, into one rank function marked
    `ring.local`; the host is left with scatters of the inputs, one call and
    gathers of the results:

    ```mlir
    %xl = ring.scatter %x by %table dim 1 on @ring axis 0 : tensor<1x96x64xf32>, tensor<2x5xi64> -> tensor<1x?x64xf32>
    %yl = call @f_rank(%xl, %weights) : (tensor<1x?x64xf32>, tensor<64x64xf32>) -> tensor<1x?x64xf32>
    %y = ring.gather %yl by %table dim 1 on @ring axis 0 : tensor<1x?x64xf32>, tensor<2x5xi64> -> tensor<1x96x64xf32>
    ```

    What runs along the sequence and is no input, as rotary tables and masks, is
    made by each rank from its positions, or cut like an input. What depends on
    weights alone is computed once, by the host.

    An op that mixes positions outside attention is an error that names it. With
    `partial` it stays on the host, on whole tensors, with a remark; where it
    stands between two attentions, so does everything around them.

    With `blockwise-ffn = c` feed-forwards (products that widen, what is between,
    the product that narrows) run over blocks of c positions, with the norm
    before and the sum after: of what they compute only the result is as long as
    the rank's part of the sequence (Liu, Abbeel, 2305.19370).
  }];
  let options = [
    Option<"blockwiseFfn", "blockwise-ffn", "int64_t", "0",
           "Positions of a block of a feed-forward; 0: all at once">,
    Option<"partial", "partial", "bool", "false",
           "Leave to the host what mixes positions, instead of an error">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::ring::RingDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def ApplyLayoutPass : Pass<"ring-apply-layout", "::mlir::ModuleOp"> {
  let summary = "decide which rank owns which positions (form 2)";
  let description = [{
    Replaces the layout tables of every rank function and of the scatters and
    gathers around its calls. Nothing else changes: programs know only the
    table.

    The attentions of a local function have one table for each sequence. Under
    `balanced` it is that of the one with the most visible pairs whose mask hides
    any; ids, lengths and offsets, known at run time only, do not count there.
  }];
  let options = [
    Option<"layout", "layout", "std::string", "\"zigzag\"",
           "contiguous, zigzag, striped[:G] or balanced">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::ring::RingDialect"];
}

def ClassifyBlocksPass : Pass<"ring-classify-blocks", "::mlir::ModuleOp"> {
  let summary = "compute only what the mask leaves visible (form 3)";
  let description = [{
    Turns each work list from "everything, under the mask" into per query range
    the key ranges that it sees, full or partial, and ends the loop after the
    last round in which any rank has a visible pair. Remarks give the balance
    and the pairs skipped.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::ring::RingDialect"];
}

def PipelineRoundsPass : Pass<"ring-pipeline-rounds", "::mlir::ModuleOp"> {
  let summary = "keep transfers in flight while a round computes (form 4)";
  let description = [{
    While round t computes, transfers t+1 .. t+d are under way (d the prefetch
    distance); the last transfers are elided. The loop gets a prologue that
    starts d transfers and an epilogue of d rounds that start none. A transfer
    may send on what an earlier one, not waited for yet, will deliver.
    Remarks give the transfers, the bytes and the slots, and name transfers
    that stay exposed.
  }];
  let options = [
    Option<"prefetchDistance", "prefetch-distance", "int64_t", "1",
           "Transfers in flight while a round computes">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::ring::RingDialect",
                           "::mlir::scf::SCFDialect"];
}

def VerifySchedulePass : Pass<"ring-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "prove a rank program: every pair once, no race, no deadlock";
  let description = [{
    Executes each rank function for all ranks, with index arithmetic concrete
    and tensors as names of blocks, and checks that
    - every pair of queries and keys that sees each other is computed exactly
      once, by the queries' owner;
    - all rounds, ranks and results are of one attention: mask, tables, ids,
      lengths, offsets, scale, softcap, bias, score region, sinks, empty rows;
    - every transfer that is started is waited for exactly once, all ranks
      start the same transfers in the same order, and none waits forever;
    - no slot is written before the round that read it has computed and the
      transfer that forwarded it is done;
    - there is no transfer that nobody needs;
    - every table gives each position to one owner, and the host splits and
      joins by the tables that the ranks compute with, the bias like the
      queries, and nothing that every rank needs whole.
    Ids and lengths known at run time hide more pairs; the proof is for all
    pairs that the positions leave. An error names block, rank and round, with a note at the op.
    A program on memrefs is left alone, with a remark.
  }];
  let options = [
    Option<"slots", "slots", "int64_t", "0",
           "Slots of the transport; 0: the program's ring.slots, or what its "
           "prefetch needs">];
}

def ExpandHostPass : Pass<"ring-expand-host", "::mlir::ModuleOp"> {
  let summary = "turn scatter, call and gather into host ops on stacks";
  let description = [{
    A local tensor of the host function stands for one tensor per rank. Here it
    becomes one stack [local ranks, ...], and the call of a rank function
    becomes `ring.host.run`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::ring::RingDialect",
                           "::mlir::tensor::TensorDialect"];
}

def BufferizeTransfersPass : Pass<"ring-bufferize-transfers", "::mlir::ModuleOp"> {
  let summary = "make what travels memrefs, ahead of one-shot bufferization";
  let description = [{
    Blocks that rotate through a loop are not equivalent buffers, so one-shot
    bufferization would copy them each round. Here they become memrefs:
    `ring.permute_wait` returns the address that the transport chose, and
    computation reads it through `bufferization.to_tensor ... restrict`.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::ring::RingDialect"];
}

def ResultsToDestinationsPass : Pass<"ring-results-to-destinations", "::mlir::ModuleOp"> {
  let summary = "give functions their results' memory as arguments";
  let description = [{
    Each tensor result of a function becomes a trailing memref argument that
    the caller allocates, written in place; tensor arguments are marked as
    never written. Where the ops that make a result start from an empty tensor,
    they start from its memory.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def UnshareDestinationsPass : Pass<"ring-unshare-destinations", "::mlir::func::FuncOp"> {
  let summary = "give each op that writes a tensor an empty one of its own";
  let description = [{
    A `tensor.empty`, or a `linalg.fill` of one, that several ops write to is
    copied for each, next to it. Exporters and CSE share them between all layers
    of a model; bufferization would then copy filled ones, its analysis takes
    time in proportion to the square of the ops that share, and what becomes
    memory would live from the first use to the last.
  }];
}

def ExpandReshapesPass : Pass<"ring-expand-reshapes"> {
  let summary = "lower reshapes to several sizes that are known at run time";
  let description = [{
    A `memref.expand_shape` of one dimension into several dynamic ones, such as
    batch and sequence, becomes a `memref.reinterpret_cast` with the sizes that
    it names. Upstream's `expand-strided-metadata` takes one dynamic size a
    dimension, and crashes on others.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

def FreeEarlyPass : Pass<"ring-free-early", "::mlir::ModuleOp"> {
  let summary = "free memory after its last use";
  let description = [{
    Upstream's `optimize-allocation-liveness`, for functions without rounds: what
    a rank sends is in use until all ranks have passed their last round. What is
    around attention would hold all that it ever computed, to its end.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

#endif // RING_DIALECT_RING_TRANSFORMS_PASSES_TD
