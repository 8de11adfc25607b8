//===- TextMutations.cpp - Changes of tokens and lines --------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace ring::fuzz {

namespace {
struct Range {
  size_t begin, end;
};
} // namespace

/// Numbers (also those in shapes, as of 1x8xf32), words, and single characters.
static std::vector<Range> tokens(StringRef text) {
  std::vector<Range> found;
  auto isWord = [](char c) { return isAlnum(c) || c == '_' || c == '.'; };
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (isSpace(text[i])) {
      i = end;
      continue;
    }
    if (isDigit(text[i])) {
      while (end < text.size() && isDigit(text[end]))
        ++end;
    } else if (isAlpha(text[i]) || StringRef("%@#!^").contains(text[i])) {
      while (end < text.size() && isWord(text[end]) &&
             !(text[end - 1] == 'x' && isDigit(text[end])))
        ++end;
    }
    found.push_back({i, end});
    i = end;
  }
  return found;
}

static std::string otherNumber(StringRef number, Random &random) {
  static const char *const extremes[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "-1",
                                         "7",
                                         "16",
                                         "1000",
                                         "2147483647",
                                         "2147483648",
                                         "4294967296",
                                         "4611686018427387904",
                                         "1000000007",
                                         "65536",
                                         "-9223372036854775808",
                                         "9223372036854775807"};
  int64_t value;
  if (below(random, 3) == 0 && !number.getAsInteger(10, value) &&
      value < INT64_MAX)
    return std::to_string(below(random, 2) ? value + 1 : value - 1);
  return extremes[below(random, std::size(extremes))];
}

static std::string replaced(StringRef text, Range range, StringRef by) {
  return (text.take_front(range.begin) + by + text.drop_front(range.end)).str();
}

static std::string swapped(StringRef text, Range a, Range b) {
  if (a.begin > b.begin)
    std::swap(a, b);
  if (a.end > b.begin)
    return text.str();
  return (text.take_front(a.begin) + text.slice(b.begin, b.end) +
          text.slice(a.end, b.begin) + text.slice(a.begin, a.end) +
          text.drop_front(b.end))
      .str();
}

static std::vector<Range> lines(StringRef text) {
  std::vector<Range> found;
  for (size_t i = 0; i < text.size();) {
    size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    found.push_back({i, end});
    i = end;
  }
  return found;
}

static std::string mutateOnce(StringRef text, Random &random) {
  std::vector<Range> all = tokens(text);
  if (all.empty())
    return text.str();
  auto any = [&](const std::vector<Range> &of) {
    return of[below(random, of.size())];
  };
  auto spelling = [&](Range range) {
    return text.slice(range.begin, range.end);
  };
  std::vector<Range> numbers, rows;
  switch (below(random, 12)) {
  case 0:
  case 1:
  case 2:
  case 3:
  case 4: { // a number, or all that are equal to it
    for (Range range : all)
      if (isDigit(text[range.begin]))
        numbers.push_back(range);
    if (numbers.empty())
      return text.str();
    Range chosen = any(numbers);
    StringRef old = spelling(chosen);
    std::string by = otherNumber(old, random);
    if (below(random, 2))
      return replaced(text, chosen, by);
    std::string result;
    size_t done = 0;
    for (Range range : numbers)
      if (spelling(range) == old) {
        result += text.slice(done, range.begin);
        result += by;
        done = range.end;
      }
    return result + text.drop_front(done).str();
  }
  case 5:
    return replaced(text, any(all), "");
  case 6: {
    Range range = any(all);
    return replaced(text, range,
                    (spelling(range) + " " + spelling(range)).str());
  }
  case 7:
    return swapped(text, any(all), any(all));
  case 8:
    return replaced(text, any(all), spelling(any(all)));
  case 9:
    return replaced(text, any(lines(text)), "");
  case 10: {
    Range range = any(lines(text));
    return replaced(text, {range.end, range.end}, spelling(range));
  }
  default:
    rows = lines(text);
    return swapped(text, any(rows), any(rows));
  }
}

std::string mutateText(StringRef text, Random &random) {
  std::string result = text.str();
  for (size_t count = 1 + below(random, 3); count > 0; --count)
    result = mutateOnce(result, random);
  return result;
}

} // namespace ring::fuzz
