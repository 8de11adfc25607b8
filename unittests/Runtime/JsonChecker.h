//===- JsonChecker.h - Is a text JSON ---------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RING_UNITTESTS_RUNTIME_JSONCHECKER_H
#define RING_UNITTESTS_RUNTIME_JSONCHECKER_H

#include <cctype>
#include <cstring>
#include <string>

namespace ring::test {

/// Recursive descent over RFC 8259, without the finer points of numbers.
class JsonChecker {
public:
  explicit JsonChecker(const std::string &text)
      : at(text.c_str()), end(at + text.size()) {}

  bool check() {
    if (!value())
      return false;
    skipSpace();
    return at == end;
  }

private:
  void skipSpace() {
    while (at != end && std::strchr(" \t\r\n", *at))
      ++at;
  }
  bool take(char c) {
    skipSpace();
    if (at == end || *at != c)
      return false;
    ++at;
    return true;
  }
  bool string() {
    if (!take('"'))
      return false;
    for (; at != end && *at != '"'; ++at) {
      if (static_cast<unsigned char>(*at) < 0x20)
        return false;
      if (*at != '\\')
        continue;
      if (++at == end || !std::strchr("\"\\/bfnrtu", *at))
        return false;
      for (int i = 0; *at == 'u' && i < 4; ++i)
        if (at + i + 1 >= end || !std::isxdigit(at[i + 1]))
          return false;
    }
    return take('"');
  }
  bool number() {
    const char *start = at;
    if (at != end && *at == '-')
      ++at;
    const char *digits = at;
    while (at != end && std::isdigit(*at))
      ++at;
    if (at == digits || (*digits == '0' && at > digits + 1))
      return false;
    if (at != end && *at == '.') {
      const char *fraction = ++at;
      while (at != end && std::isdigit(*at))
        ++at;
      if (at == fraction)
        return false;
    }
    return at != start;
  }
  template <typename Element> bool list(char close, Element element) {
    if (take(close))
      return true;
    do {
      if (!element())
        return false;
    } while (take(','));
    return take(close);
  }
  bool value() {
    if (take('{'))
      return list('}', [&] { return string() && take(':') && value(); });
    if (take('['))
      return list(']', [&] { return value(); });
    if (at != end && *at == '"')
      return string();
    for (const char *word : {"true", "false", "null"})
      if (size_t length = std::strlen(word);
          size_t(end - at) >= length && !std::strncmp(at, word, length)) {
        at += length;
        return true;
      }
    return number();
  }

  const char *at, *end;
};

inline bool isJson(const std::string &text) {
  return JsonChecker(text).check();
}

} // namespace ring::test

#endif // RING_UNITTESTS_RUNTIME_JSONCHECKER_H
