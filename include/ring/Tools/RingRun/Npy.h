//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files in NumPy's .npy format, versions 1 to 3, little-endian. The format:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
//===----------------------------------------------------------------------===//

#ifndef RING_TOOLS_RINGRUN_NPY_H
#define RING_TOOLS_RINGRUN_NPY_H

#include "ring/Tools/RingRun/Array.h"

namespace ring::tools {

/// Reads one array; Fortran order becomes row-major. '|V2', as NumPy saves an
/// `ml_dtypes.bfloat16` array, and 'bfloat16' are bf16; '<u2' is ui16, which
/// `coerce` takes for bf16 where that is expected. Fails, naming the file, on
/// what is not such a file, on element types a program cannot have (structured,
/// complex, big-endian) and where the size of the file is not what the header
/// promises; memory is asked for only after that was checked.
llvm::Expected<Array> readNpy(llvm::StringRef path);

/// Writes `array` in version 1 of the format, bf16 as '<u2' bits. Fails, naming
/// the file, where it cannot be written completely.
llvm::Error writeNpy(llvm::StringRef path, const Array &array);

} // namespace ring::tools

#endif // RING_TOOLS_RINGRUN_NPY_H
