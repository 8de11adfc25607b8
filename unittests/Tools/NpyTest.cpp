//===- NpyTest.cpp - Tests of NumPy array files ---------------------------===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Npy.h"

#include "TestArrays.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace ring::tools;
using namespace ring::tools::test;

namespace {

/// A file that is gone after the test.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef content = "") {
    int descriptor;
    std::error_code error =
        llvm::sys::fs::createTemporaryFile("ring", "npy", descriptor, path);
    EXPECT_FALSE(error) << error.message();
    llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << content;
  }
  ~TemporaryFile() { llvm::sys::fs::remove(path); }

  std::string name() const { return path.str().str(); }
  std::string content() const {
    auto file = llvm::MemoryBuffer::getFile(path);
    return file ? (*file)->getBuffer().str() : "";
  }

private:
  llvm::SmallString<128> path;
};

/// Version 1 of the format, or `major`; as NumPy writes it but unpadded.
std::string npy(std::string dictionary, std::string data, int major = 1) {
  dictionary += '\n';
  std::string text = "\x93NUMPY";
  text += static_cast<char>(major);
  text += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    text += static_cast<char>(dictionary.size() >> 8 * i);
  return text + dictionary + data;
}

std::string header(std::string descriptor, std::string shape,
                   std::string fortran = "False") {
  return "{'descr': '" + descriptor + "', 'fortran_order': " + fortran +
         ", 'shape': " + shape + ", }";
}

std::string bytes(llvm::ArrayRef<uint8_t> values) {
  return std::string(values.begin(), values.end());
}

Array readText(const std::string &text) {
  TemporaryFile file(text);
  llvm::Expected<Array> array = readNpy(file.name());
  if (array)
    return std::move(*array);
  ADD_FAILURE() << messageOf(array.takeError());
  return Array();
}

} // namespace

TEST(Npy, RoundTripsEveryTypeAndRank) {
  for (ElementType type :
       {ElementType::F16, ElementType::F32, ElementType::F64, ElementType::I1,
        ElementType::I8, ElementType::I16, ElementType::I32, ElementType::I64,
        ElementType::U8, ElementType::U16, ElementType::U32, ElementType::U64})
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {7}, {0}, {2, 3}, {2, 0, 3}, {2, 1, 3, 4}}) {
      SCOPED_TRACE(typeString(shape, type));
      Array array = zeros(type, shape);
      for (int64_t i = 0; i < array.sizeInBytes(); ++i)
        array.data()[i] = std::byte(type == ElementType::I1 ? i % 2 : i * 37);
      TemporaryFile file;
      ASSERT_EQ(messageOf(writeNpy(file.name(), array)), "");
      Array back = readText(file.content());
      EXPECT_EQ(back.typeString(), array.typeString());
      EXPECT_EQ(memcmp(back.data(), array.data(), array.sizeInBytes()), 0);
    }
}

TEST(Npy, WritesTheBytesThatNumPyWrites) {
  // np.save of np.arange(3, dtype=np.float32), NumPy 2.
  Array array = floats({3}, {0, 1, 2}, ElementType::F32);
  TemporaryFile file;
  ASSERT_EQ(messageOf(writeNpy(file.name(), array)), "");
  std::string dictionary =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  std::string expected = bytes({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0}) +
                         dictionary +
                         std::string(117 - dictionary.size(), ' ') + "\n" +
                         bytes({0, 0, 0, 0, 0, 0, 0x80, 0x3F, 0, 0, 0, 0x40});
  EXPECT_EQ(file.content(), expected);
}

TEST(Npy, Bf16TravelsAsBits) {
  Array array = floats({2}, {1, -2}, ElementType::BF16);
  TemporaryFile file;
  ASSERT_EQ(messageOf(writeNpy(file.name(), array)), "");
  EXPECT_NE(file.content().find("'<u2'"), std::string::npos);
  Array back = readText(file.content());
  EXPECT_EQ(back.elementType(), ElementType::U16);
  ASSERT_EQ(messageOf(coerce(back, ElementType::BF16, {2}, "", "")), "");
  EXPECT_EQ(back.at(1), -2);

  for (const char *descriptor : {"|V2", "<V2", "bfloat16"}) {
    Array read = readText(npy(header(descriptor, "(1,)"), bytes({0x80, 0x3F})));
    EXPECT_EQ(read.elementType(), ElementType::BF16);
    EXPECT_EQ(read.at(0), 1);
  }
}

TEST(Npy, ReadsFortranOrder) {
  std::string data = bytes({0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23});
  Array array = readText(npy(header("|i1", "(3, 4)", "True"), data));
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      EXPECT_EQ(array.at(i * 4 + j), 10 * i + j);

  data.clear();
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i)
        data += static_cast<char>(i * 12 + j * 4 + k);
  array = readText(npy(header("|i1", "(2, 3, 4)", "True"), data));
  for (int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(array.at(i), i);
}

TEST(Npy, ReadsTheVariantsOfHeaders) {
  for (int major : {1, 2, 3})
    EXPECT_EQ(
        readText(npy(header("<i2", "(2,)"), bytes({1, 0, 2, 0}), major)).at(1),
        2);
  for (const char *dictionary :
       {"{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": (2,)}",
        "{'shape':(2L,),'fortran_order':False,'descr':'u1'}  \n \n",
        "{ 'shape' : ( 2 ) , 'descr' : '|u1' , 'fortran_order' : False , }"})
    EXPECT_EQ(readText(npy(dictionary, bytes({3, 4}))).typeString(), "2xui8");
  EXPECT_EQ(readText(npy(header("<f2", "()"), bytes({0, 0x3C}))).at(0), 1);
  EXPECT_EQ(readText(npy(header("|b1", "(2,)"), bytes({0, 7}))).at(1), 1);
}

TEST(Npy, RefusesMalformedFilesByName) {
  std::string good = npy(header("<f4", "(2,)"), std::string(8, '\0'));
  ASSERT_EQ(readText(good).size(), 2);
  struct Bad {
    std::string text;
    std::string message;
  };
  std::vector<Bad> all = {
      {"", "not a NumPy .npy file"},
      {"PK\3\4 an .npz file", "not a NumPy .npy file"},
      {good.substr(0, 6), "truncated .npy header"},
      {good.substr(0, 9), "truncated .npy header"},
      {good.substr(0, 40), "truncated .npy header: expected 58 bytes, got 30"},
      {good.substr(0, good.size() - 1), "expected 8 bytes for 2xf32, got 7"},
      {good + "x", "expected 8 bytes for 2xf32, got 9"},
      {npy(header("<f4", "(2,)"), "", 4),
       "expected version 1, 2 or 3 of the .npy format, got 4"},
      {npy(header("<f4", "(1000000000000,)"), ""),
       "expected 4000000000000 bytes for 1000000000000xf32, got 0"},
      {npy(header("<f4", "(9223372036854775807, 9223372036854775807)"), ""),
       "too many elements: 9223372036854775807x9223372036854775807xf32"},
      {npy(header("<f4", "(99999999999999999999,)"), ""),
       "malformed .npy header: 'shape' is not a tuple of sizes"},
      {npy(header("<f4", "(-2,)"), ""),
       "malformed .npy header: 'shape' is not a tuple of sizes"},
      {npy(header("<f4", "2"), ""),
       "malformed .npy header: 'shape' is not a tuple of sizes"},
      {npy(header("<f4", "(2,"), ""),
       "malformed .npy header: 'shape' is not a tuple of sizes"},
      {npy(header("<f4", "(2,)", "0"), ""),
       "malformed .npy header: 'fortran_order' is neither True nor False"},
      {npy(header(">f4", "(2,)"), ""),
       "big-endian element type '>f4' is not supported"},
      {npy(header("<c8", "(2,)"), ""), "unsupported element type '<c8'"},
      {npy(header("|O", "(2,)"), ""), "unsupported element type '|O'"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
           ""),
       "structured element types are not supported"},
      {npy("{'descr': 4, 'fortran_order': False, 'shape': ()}", ""),
       "malformed .npy header: 'descr' is not a string"},
      {npy("{'descr': '<f4', 'shape': ()}", "1234"),
       "malformed .npy header: expected the keys 'descr', 'fortran_order', "
       "'shape'"},
      {npy("{'descr': '<f4', 'order': 1}", ""),
       "malformed .npy header: unknown key 'order'"},
      {npy("{'descr': '<f4' 'shape': ()}", ""),
       "malformed .npy header: expected ',' or '}'"},
      {npy("{'descr", ""), "malformed .npy header: expected a key"},
      {npy("", ""), "malformed .npy header: no dictionary"},
      {npy(header("<f4", "()") + " 1", "1234"),
       "malformed .npy header: text after the dictionary"},
  };
  for (const Bad &bad : all) {
    TemporaryFile file(bad.text);
    llvm::Expected<Array> array = readNpy(file.name());
    ASSERT_FALSE(static_cast<bool>(array)) << bad.message;
    EXPECT_EQ(messageOf(array.takeError()), file.name() + ": " + bad.message);
  }
}

TEST(Npy, EveryTruncationIsRefused) {
  std::string good = npy(header("<f4", "(2,)"), std::string(8, '\0'));
  for (size_t length = 0; length < good.size(); ++length) {
    TemporaryFile file(good.substr(0, length));
    llvm::Expected<Array> array = readNpy(file.name());
    EXPECT_FALSE(static_cast<bool>(array)) << length;
    llvm::consumeError(array.takeError());
  }
}

TEST(Npy, NamesFilesThatCannotBeOpened) {
  TemporaryFile file;
  std::string missing = file.name() + ".d/missing.npy";
  EXPECT_EQ(messageOf(readNpy(missing).takeError()),
            missing + ": cannot be read: No such file or directory");
  EXPECT_EQ(messageOf(writeNpy(missing, Array())),
            missing + ": cannot be written: No such file or directory");
  EXPECT_EQ(messageOf(writeNpy("/dev/full", zeros(ElementType::F32, {100000}))),
            "/dev/full: cannot be written: No space left on device");
}
