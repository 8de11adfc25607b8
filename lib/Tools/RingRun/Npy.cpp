//===- Npy.cpp - NumPy array files ------------------------------*- C++ -*-===//
//
// Part of the Ring project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ring/Tools/RingRun/Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <optional>

using namespace ring::tools;

namespace {

constexpr llvm::StringLiteral kMagic = "\x93NUMPY";

/// What the dictionary of a header says.
struct Header {
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
  bool fortranOrder = false;
};

llvm::Error fail(llvm::StringRef path, const llvm::Twine &message) {
  return llvm::createStringError(path + ": " + message);
}

/// Reads the header's dictionary: `{'descr': '<f4', 'fortran_order': False,
/// 'shape': (2, 3), }`. Only the literals that NumPy writes are known.
class DictionaryParser {
public:
  explicit DictionaryParser(llvm::StringRef text) : rest(text) {}

  llvm::Expected<Header> parse() {
    Header header;
    bool hasType = false, hasOrder = false, hasShape = false;
    if (!consume('{'))
      return malformed("no dictionary");
    while (!consume('}')) {
      std::optional<llvm::StringRef> key = string();
      if (!key || !consume(':'))
        return malformed("expected a key");
      if (*key == "descr") {
        if (llvm::Error error = elementType(header.type))
          return error;
        hasType = true;
      } else if (*key == "fortran_order") {
        if (!boolean(header.fortranOrder))
          return malformed("'fortran_order' is neither True nor False");
        hasOrder = true;
      } else if (*key == "shape") {
        if (!tuple(header.shape))
          return malformed("'shape' is not a tuple of sizes");
        hasShape = true;
      } else {
        return malformed("unknown key '" + *key + "'");
      }
      if (!consume(',') && !peek('}'))
        return malformed("expected ',' or '}'");
    }
    if (!rest.trim(" \n\r\t\0").empty())
      return malformed("text after the dictionary");
    if (!hasType || !hasOrder || !hasShape)
      return malformed("expected the keys 'descr', 'fortran_order', 'shape'");
    return header;
  }

private:
  static llvm::Error malformed(const llvm::Twine &reason) {
    return llvm::createStringError("malformed .npy header: " + reason);
  }

  bool peek(char c) {
    rest = rest.ltrim();
    return rest.starts_with(llvm::StringRef(&c, 1));
  }
  bool consume(char c) {
    if (!peek(c))
      return false;
    rest = rest.drop_front();
    return true;
  }

  std::optional<llvm::StringRef> string() {
    char quote = peek('"') ? '"' : '\'';
    if (!consume(quote))
      return std::nullopt;
    size_t end = rest.find(quote);
    if (end == llvm::StringRef::npos)
      return std::nullopt;
    llvm::StringRef text = rest.take_front(end);
    rest = rest.drop_front(end + 1);
    return text;
  }

  bool boolean(bool &value) {
    rest = rest.ltrim();
    value = rest.consume_front("True");
    return value || rest.consume_front("False");
  }

  bool tuple(std::vector<int64_t> &sizes) {
    sizes.clear();
    if (!consume('('))
      return false;
    while (!consume(')')) {
      int64_t size;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, size) || size < 0)
        return false;
      rest.consume_front("L"); // Python 2 wrote long integers so
      sizes.push_back(size);
      if (!consume(',') && !peek(')'))
        return false;
    }
    return true;
  }

  llvm::Error elementType(ElementType &type) {
    if (peek('['))
      return llvm::createStringError(
          "structured element types are not supported");
    std::optional<llvm::StringRef> descriptor = string();
    if (!descriptor)
      return malformed("'descr' is not a string");
    struct Known {
      const char *descriptor;
      ElementType type;
    };
    // Single bytes have no order, so NumPy writes '|'; some writers do not.
    static constexpr Known kKnown[] = {
        {"f2", ElementType::F16}, {"f4", ElementType::F32},
        {"f8", ElementType::F64}, {"b1", ElementType::I1},
        {"i1", ElementType::I8},  {"i2", ElementType::I16},
        {"i4", ElementType::I32}, {"i8", ElementType::I64},
        {"u1", ElementType::U8},  {"u2", ElementType::U16},
        {"u4", ElementType::U32}, {"u8", ElementType::U64},
        {"V2", ElementType::BF16}};
    llvm::StringRef name = *descriptor;
    if (name == "bfloat16") {
      type = ElementType::BF16;
      return llvm::Error::success();
    }
    if (name.starts_with(">"))
      return llvm::createStringError("big-endian element type '" + name +
                                     "' is not supported");
    bool ordered = name.consume_front("<");
    if (!ordered)
      name.consume_front("|");
    for (const Known &known : kKnown)
      if (name == known.descriptor) {
        type = known.type;
        return llvm::Error::success();
      }
    return llvm::createStringError("unsupported element type '" + *descriptor +
                                   "'");
  }

  llvm::StringRef rest;
};

/// The descriptor under which an element type is written.
llvm::StringRef descriptorOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return "<f2";
  case ElementType::BF16:
  case ElementType::U16:
    return "<u2";
  case ElementType::F32:
    return "<f4";
  case ElementType::F64:
    return "<f8";
  case ElementType::I1:
    return "|b1";
  case ElementType::I8:
    return "|i1";
  case ElementType::I16:
    return "<i2";
  case ElementType::I32:
    return "<i4";
  case ElementType::I64:
    return "<i8";
  case ElementType::U8:
    return "|u1";
  case ElementType::U32:
    return "<u4";
  case ElementType::U64:
    return "<u8";
  }
  llvm_unreachable("unknown element type");
}

/// Copies elements stored with the first index running fastest.
void copyFromFortranOrder(const char *source, Array &array) {
  int64_t width = byteWidth(array.elementType());
  std::vector<int64_t> strides(array.rank()), index(array.rank(), 0);
  int64_t stride = 1;
  for (int64_t axis = 0; axis < array.rank(); ++axis) {
    strides[axis] = stride;
    stride *= array.dim(axis);
  }
  int64_t offset = 0;
  for (int64_t i = 0; i < array.size(); ++i) {
    std::memcpy(array.data() + i * width, source + offset * width, width);
    for (int64_t axis = array.rank() - 1; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < array.dim(axis))
        break;
      offset -= strides[axis] * array.dim(axis);
      index[axis] = 0;
    }
  }
}

} // namespace

llvm::Expected<Array> ring::tools::readNpy(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(path, "cannot be read: " + file.getError().message());
  llvm::StringRef bytes = (*file)->getBuffer();

  if (!bytes.consume_front(kMagic))
    return fail(path, "not a NumPy .npy file");
  if (bytes.size() < 4)
    return fail(path, "truncated .npy header");
  int major = static_cast<unsigned char>(bytes[0]);
  if (major < 1 || major > 3)
    return fail(path, "expected version 1, 2 or 3 of the .npy format, got " +
                          llvm::Twine(major));
  bytes = bytes.drop_front(2);
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (bytes.size() < lengthBytes)
    return fail(path, "truncated .npy header");
  size_t length = major == 1 ? llvm::support::endian::read16le(bytes.data())
                             : llvm::support::endian::read32le(bytes.data());
  bytes = bytes.drop_front(lengthBytes);
  if (length > bytes.size())
    return fail(path, "truncated .npy header: expected " + llvm::Twine(length) +
                          " bytes, got " + llvm::Twine(bytes.size()));

  llvm::Expected<Header> header =
      DictionaryParser(bytes.take_front(length)).parse();
  if (!header)
    return fail(path, llvm::toString(header.takeError()));
  bytes = bytes.drop_front(length);

  llvm::Expected<int64_t> count = elementCount(header->shape, header->type);
  if (!count)
    return fail(path, llvm::toString(count.takeError()));
  uint64_t expected = *count * byteWidth(header->type);
  if (bytes.size() != expected)
    return fail(path, "expected " + llvm::Twine(expected) + " bytes for " +
                          typeString(header->shape, header->type) + ", got " +
                          llvm::Twine(bytes.size()));

  llvm::Expected<Array> array = Array::allocate(header->type, header->shape);
  if (!array)
    return fail(path, llvm::toString(array.takeError()));
  if (header->fortranOrder)
    copyFromFortranOrder(bytes.data(), *array);
  else
    std::memcpy(array->data(), bytes.data(), expected);
  if (header->type == ElementType::I1)
    for (int64_t i = 0; i < array->size(); ++i)
      array->dataAs<uint8_t>()[i] = array->dataAs<uint8_t>()[i] != 0;
  return array;
}

llvm::Error ring::tools::writeNpy(llvm::StringRef path, const Array &array) {
  std::string dictionary = "{'descr': '";
  dictionary += descriptorOf(array.elementType());
  dictionary += "', 'fortran_order': False, 'shape': (";
  for (int64_t size : array.shape())
    dictionary += std::to_string(size) + (array.rank() == 1 ? "," : ", ");
  if (array.rank() > 1) // (2, 3) but (2,)
    dictionary.resize(dictionary.size() - 2);
  dictionary += "), }";
  // The elements begin at a multiple of 64 bytes, after a newline.
  size_t prefix = kMagic.size() + 4;
  size_t padding = 63 - (prefix + dictionary.size()) % 64;
  dictionary.append(padding, ' ');
  dictionary += '\n';
  if (dictionary.size() > UINT16_MAX)
    return fail(path, "shape of rank " + llvm::Twine(array.rank()) +
                          " does not fit an .npy header");

  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return fail(path, "cannot be written: " + error.message());
  char length[2];
  llvm::support::endian::write16le(length,
                                   static_cast<uint16_t>(dictionary.size()));
  file << kMagic << '\1' << '\0' << llvm::StringRef(length, 2) << dictionary;
  file.write(reinterpret_cast<const char *>(array.data()), array.sizeInBytes());
  file.close();
  if (file.has_error()) {
    error = file.error();
    file.clear_error(); // else its destructor ends the process
    return fail(path, "cannot be written: " + error.message());
  }
  return llvm::Error::success();
}
