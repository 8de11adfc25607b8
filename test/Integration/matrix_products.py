"""Sums of products around attention, against float64: shapes with every kind of
rest, every order of dimensions, 16-bit operands, strides, sizes known at run time.
Nothing is read or written beyond an operand, and neither threads nor the other
rows change a bit."""
# UNSUPPORTED: asan, tsan, ubsan
# RUN: %python %s %t

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from object_program import OK, compiled, guarded_memory, ring
from products import Product, program

random = np.random.default_rng(21)
normal = random.standard_normal


def sizes(**of):
    return of


PRODUCTS = [
    # Register tiles are 6 rows of up to 64 columns, tiles at most 192 x 256, and
    # 128 terms are summed at once: sizes around all of these.
    *(
        Product("mk,kn->mn", sizes(m=m, k=k, n=n), add=add)
        for m, k, n, add in [
            (1, 64, 64, False),
            (1, 129, 257, True),
            (5, 300, 15, False),
            (6, 128, 16, True),
            (7, 127, 17, False),
            (47, 33, 31, True),
            (48, 16, 32, False),
            (49, 129, 33, True),
            (191, 3, 47, False),
            (193, 130, 65, True),
            (200, 257, 300, False),
            (385, 40, 513, True),
            (2000, 5, 3, False),
            (3, 5, 2000, True),
        ]
    ),
    # Every order of the dimensions, in shapes that differ.
    *(
        Product(f"{lhs},{rhs}->{out}", sizes(m=m, k=k, n=n), add=add)
        for lhs in ("mk", "km")
        for rhs in ("kn", "nk")
        for out in ("mn", "nm")
        for m, k, n, add in [(53, 141, 70, False), (19, 34, 97, True)]
    ),
    # The order in which an op adds up is that of its loops.
    Product("mk,kn->mn", sizes(m=30, k=200, n=40), loops="kmn"),
    # Batches, on either side or on both; dimensions that lie behind one another.
    Product("bmk,bkn->bmn", sizes(b=3, m=20, k=50, n=33), add=True),
    Product("bmk,kn->bmn", sizes(b=3, m=20, k=50, n=33)),
    Product("mk,bkn->bmn", sizes(b=3, m=20, k=50, n=33)),
    Product("mbk,bkn->bmn", sizes(b=3, m=20, k=50, n=33)),
    Product("bsh,hnd->bnsd", sizes(b=2, s=21, h=40, n=3, d=18)),
    Product("bnsd,ndh->bsh", sizes(b=2, s=21, h=40, n=3, d=18), add=True),
    Product("bqhd,bkhd->bhqk", sizes(b=2, q=21, h=3, k=35, d=18)),
    Product("cbgqd,cbkd->cbgqk", sizes(c=2, b=2, g=3, q=9, k=35, d=18)),
    # No columns of the result lie side by side.
    Product("bmk,bkn->mnb", sizes(b=5, m=20, k=30, n=18), add=True),
    # Sums of several dimensions that lie apart.
    Product("makb,kabn->mn", sizes(m=14, a=3, k=5, b=7, n=20)),
    # Vectors, and no sum at all.
    Product("mk,k->m", sizes(m=70, k=133), add=True),
    Product("k,kn->n", sizes(k=133, n=70)),
    Product("bmk,bk->bm", sizes(b=3, m=37, k=50)),
    Product("m,n->mn", sizes(m=70, n=90), add=True),
    # A dimension of 1.
    Product("bmk,kn->bmn", sizes(b=1, m=67, k=90, n=40)),
    Product("bmk,bnk->bmn", sizes(b=1, m=1, k=90, n=70)),
    # 16 bits, on both sides or on one, in rows and in columns.
    *(
        Product(formula, sizes(m=37, k=145, n=75), types, add)
        for formula in ("mk,kn->mn", "km,nk->mn")
        for types in ("bf16 bf16", "f16 f16")
        for add in (False, True)
    ),
    Product("mk,kn->mn", sizes(m=37, k=145, n=75), "bf16 f32"),
    Product("mk,nk->mn", sizes(m=37, k=145, n=75), "f32 f16"),
    # Nothing has a stride of 1.
    Product("mk,kn->mn", sizes(m=37, k=45, n=35), steps=2),
    Product("km,nk->mn", sizes(m=37, k=45, n=35), "bf16 bf16", steps=3),
]


def call(library, host, name, arrays):
    assert library.call_host(name, host, arrays) == OK, host.error()


def guarded(library, host, products):
    """Every operand ends, or begins, where memory ends that may be touched."""
    inputs = [product.random(normal) for product in products]
    for at_end in True, False:
        with guarded_memory() as memory:
            place = lambda x, read_only: memory.array(x, at_end, read_only)
            arrays = [place(x, True) for of in inputs for x in of]
            outputs = [place(product.empty(), False) for product in products]
            call(library, host, "products", [*arrays, *outputs])
            for product, of, result in zip(products, inputs, outputs):
                product.check(result, of, f"at the {'end' if at_end else 'begin'} of memory")


def threads_change_nothing(library, products):
    arrays = [x for product in products for x in product.random(normal)]
    bits = set()
    for threads in 1, 2, 3:
        outputs = [product.empty() for product in products]
        with ring(1, threads=threads) as host:
            call(library, host, "products", [*arrays, *outputs])
        bits.add(b"".join(x.tobytes() for x in outputs))
    assert len(bits) == 1, "results depend on the number of threads"


library = compiled(program("products", PRODUCTS), os.path.join(sys.argv[1], "static"), ranks=1)
with ring(1) as host:
    guarded(library, host, PRODUCTS)
threads_change_nothing(library, PRODUCTS)

# Sizes known at run time, empty ones among them: one program for all.
DYNAMIC = [
    lambda m, k, n: Product("mk,kn->mn", sizes(m=m, k=k, n=n), dynamic="mkn"),
    lambda m, k, n: Product("mk,nk->mn", sizes(m=m, k=96, n=80), "bf16 bf16", dynamic="m", add=True),
    lambda m, k, n: Product("bmk,kn->bmn", sizes(b=2, m=m, k=k, n=n), dynamic="bmkn", add=True),
]
make = lambda *of: [product(*of) for product in DYNAMIC]
library = compiled(program("products", make(1, 1, 1)), os.path.join(sys.argv[1], "dynamic"), ranks=1)
with ring(1) as host:
    for of in (1, 1, 1), (0, 70, 90), (70, 0, 90), (70, 90, 0), (2, 3, 1), (190, 129, 70), (300, 70, 270):
        guarded(library, host, make(*of))

    # What a row is depends on nothing but the row, however many there are.
    products = make(700, 150, 90)
    inputs = [product.random(normal) for product in products]
    whole = [product.empty() for product in products]
    call(library, host, "products", [*sum(inputs, []), *whole])
    for rows in 1, 5, 7, 64, 200:
        few = make(rows, 150, 90)
        cut = lambda x, letters: x[(slice(None),) * letters.index("m") + (slice(rows),)] if "m" in letters else x
        parts = [
            np.ascontiguousarray(cut(x, letters))
            for product, of in zip(few, inputs)
            for x, letters in zip(of, (product.lhs, product.rhs, product.out))
        ]
        outputs = [product.empty() for product in few]
        call(library, host, "products", [*parts, *outputs])
        for product, all_rows, result in zip(few, whole, outputs):
            same = np.ascontiguousarray(cut(all_rows, product.out)).tobytes() == result.tobytes()
            assert same, f"{product}: rows depend on how many there are"

    # 0 times infinity is NaN, and an infinity stays in its row.
    (product, *others), (arrays, *_) = make(40, 50, 60), [p.random(normal) for p in make(40, 50, 60)]
    lhs, rhs = arrays
    lhs[3, 7], lhs[5, 0], lhs[9, 49] = np.inf, np.nan, -np.inf
    rhs[7, 11], rhs[20] = 0, np.inf
    lhs[30, 20] = 0
    outputs = [p.empty() for p in (product, *others)]
    call(library, host, "products", [lhs, rhs, *sum((p.random(normal) for p in others), []), *outputs])
    product.check(outputs[0], arrays, "with infinities")
    assert np.isnan(outputs[0][3, 11]) and np.isnan(outputs[0][30]).all()

# As frameworks write them: weights that are transposed, extended or broadcast first.
EXPORTED = """
func.func @products(%x: tensor<37x145xf32>, %w: tensor<75x145xbf16>, %y: tensor<3x37x145xf32>, %v: tensor<145x75xf32>)
    -> (tensor<37x75xf32>, tensor<3x37x75xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<145x75xbf16>
  %t = linalg.transpose ins(%w : tensor<75x145xbf16>) outs(%e0 : tensor<145x75xbf16>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<145x75xf32>
  %f = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%t : tensor<145x75xbf16>) outs(%e1 : tensor<145x75xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %wide = arith.extf %in : bf16 to f32
    linalg.yield %wide : f32
  } -> tensor<145x75xf32>
  %e2 = tensor.empty() : tensor<37x75xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<37x75xf32>) -> tensor<37x75xf32>
  %0 = linalg.matmul ins(%x, %f : tensor<37x145xf32>, tensor<145x75xf32>) outs(%z2 : tensor<37x75xf32>) -> tensor<37x75xf32>
  %e3 = tensor.empty() : tensor<3x145x75xf32>
  %b = linalg.broadcast ins(%v : tensor<145x75xf32>) outs(%e3 : tensor<3x145x75xf32>) dimensions = [0]
  %e4 = tensor.empty() : tensor<3x37x75xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<3x37x75xf32>) -> tensor<3x37x75xf32>
  %1 = linalg.batch_matmul ins(%y, %b : tensor<3x37x145xf32>, tensor<3x145x75xf32>) outs(%z4 : tensor<3x37x75xf32>)
      -> tensor<3x37x75xf32>
  return %0, %1 : tensor<37x75xf32>, tensor<3x37x75xf32>
}
"""
library = compiled(EXPORTED, os.path.join(sys.argv[1], "exported"), ranks=1)
with ring(1) as host:
    guarded(
        library,
        host,
        [
            Product("mk,nk->mn", sizes(m=37, k=145, n=75), "f32 bf16"),
            Product("bmk,kn->bmn", sizes(b=3, m=37, k=145, n=75)),
        ],
    )
