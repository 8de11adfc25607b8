//===- Thread.cpp - A thread with a stack for kernels ---------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Thread.h"

using namespace ring::runtime;

int Thread::start(const std::string &threadName, std::function<void()> run) {
  name = threadName;
  body = std::move(run);
  pthread_attr_t attributes;
  if (int error = pthread_attr_init(&attributes))
    return error;
  int error = pthread_attr_setstacksize(&attributes, kStackBytes);
  if (!error)
    error = pthread_create(
        &handle, &attributes,
        [](void *opaque) -> void * {
          auto *self = static_cast<Thread *>(opaque);
          pthread_setname_np(pthread_self(), self->name.c_str());
          self->body();
          return nullptr;
        },
        this);
  pthread_attr_destroy(&attributes);
  started = error == 0;
  return error;
}

void Thread::join() {
  if (!started)
    return;
  pthread_join(handle, nullptr);
  started = false;
}
