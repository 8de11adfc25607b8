/*===- SanitizerOptions.c - How sanitizers run, and what they leave out ---===*\
|*                                                                            *|
|* Part of the Ring project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Part of every program of a sanitized tree, so also of those run by hand.   *|
|* The place for all suppressions: each says why its report is false.         *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__tsan_default_suppressions(void);

/* Allocators of LLVM's headers poison what they have not given out, and each
 * allocation makes its own part usable again. The parts that LLVM's libraries
 * allocate, which are not instrumented, would stay poisoned. */
const char *__asan_default_options(void) { return "allow_user_poisoning=0"; }

/* A report ends the program, and so fails its test. */
const char *__ubsan_default_options(void) {
  return "halt_on_error=1:print_stacktrace=1";
}

/* LLVM's libraries are not instrumented, so the atomics by which their own
 * threads hand memory over are not seen. Neither generated code nor the runtime
 * is called by them while threads of ours run. */
const char *__tsan_default_suppressions(void) {
  return "race:libMLIR.so\n"
         "race:libLLVM.so\n";
}
