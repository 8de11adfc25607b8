//===- Precompiled.cpp - Carries the precompiled headers ------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Files of the compiler reuse the headers of the library that holds this one.
