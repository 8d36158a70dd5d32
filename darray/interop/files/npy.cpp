// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/files/npy.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cstring>

#include "darray/interop/files/raw_file.hpp"

namespace impishim::darray::file::npy {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kAlignment = 64;
constexpr Index kLongestHeader = Index{1} << 20;

struct TypeName {
  Scalar scalar;
  std::string_view name;  // without the byte order
};
constexpr std::array<TypeName, 14> kTypes{{{Scalar::kBool, "b1"},
                                           {Scalar::kInt8, "i1"},
                                           {Scalar::kInt16, "i2"},
                                           {Scalar::kInt32, "i4"},
                                           {Scalar::kInt64, "i8"},
                                           {Scalar::kUint8, "u1"},
                                           {Scalar::kUint16, "u2"},
                                           {Scalar::kUint32, "u4"},
                                           {Scalar::kUint64, "u8"},
                                           {Scalar::kFloat, "f4"},
                                           {Scalar::kDouble, "f8"},
                                           {Scalar::kLongDouble, "f16"},
                                           {Scalar::kComplexFloat, "c8"},
                                           {Scalar::kComplexDouble, "c16"}}};
constexpr char kNativeOrder = std::endian::native == std::endian::little ? '<' : '>';

std::string header_text(const Header& header) {
  std::string_view name;
  for (const TypeName& type : kTypes) {
    if (type.scalar == header.scalar) name = type.name;
  }
  const char order = name.ends_with('1') ? '|' : kNativeOrder;
  std::string shape = fmt::format("{}", fmt::join(header.shape, ", "));
  if (header.shape.size() == 1) shape += ",";
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 order, name, shape);
  const std::size_t before = kMagic.size() + 4;
  text.append((kAlignment - (before + text.size() + 1) % kAlignment) % kAlignment, ' ');
  return text + '\n';
}

// Returns the text that follows 'key': in a header.
std::string_view value_of(std::string_view text, std::string_view key, const std::string& path) {
  const std::size_t at = text.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos)
    fail(ErrorKind::kArgument, "{}: the header does not tell {}", path, key);
  text.remove_prefix(at + key.size() + 3);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

Scalar scalar_in(std::string_view text, const std::string& path) {
  const std::size_t end = text.size() < 2 ? std::string_view::npos : text.find('\'', 1);
  if (end == std::string_view::npos || text[0] != '\'') {
    fail(ErrorKind::kUnsupported, "{}: elements are records", path);
  }
  const std::string_view name = text.substr(1, end - 1);
  for (const TypeName& type : kTypes) {
    if (name.size() < 2 || name.substr(1) != type.name) continue;
    if (name[0] == kNativeOrder || name[0] == '=' || type.name.ends_with('1')) return type.scalar;
  }
  fail(ErrorKind::kUnsupported, "{}: elements of type '{}' are not read", path, name);
}

std::vector<Index> shape_in(std::string_view text, const std::string& path) {
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos)
    fail(ErrorKind::kArgument, "{}: no shape in the header", path);
  std::vector<Index> shape;
  std::string list(text.substr(1, end - 1));
  for (const char* next = list.c_str(); *next != '\0';) {
    char* after = nullptr;
    const Index extent = std::strtoll(next, &after, 10);
    if (after == next) break;
    shape.push_back(extent);
    next = after + std::strspn(after, " ,");
  }
  return shape;
}

// Throws Error(kUnsupported) unless the version is one that NumPy defines. Version 2.0 has a longer
// length of the header, 3.0 a header in UTF-8; both are read alike.
void require_known_version(Index major, Index minor, const std::string& path) {
  if (major >= 1 && major <= 3 && minor == 0) return;
  fail(ErrorKind::kUnsupported,
       "{}: the file has version {}.{} of the .npy format, but only versions 1.0, 2.0 and 3.0 are "
       "read: write the file again with a NumPy that knows this version, as 1.0 to 3.0",
       path, major, minor);
}

}  // namespace

Header read_header(const std::string& path) {
  RawFile file(path, O_RDONLY);
  std::array<char, 12> start{};
  file.read(0, start.data(), 10);
  if (std::string_view(start.data(), kMagic.size()) != kMagic)
    fail(ErrorKind::kArgument, "{}: is no .npy file", path);
  const auto byte = [&](std::size_t at) {
    return static_cast<Index>(static_cast<unsigned char>(start[at]));
  };
  require_known_version(byte(6), byte(7), path);
  Header header;
  Index length = byte(8) | byte(9) << 8;
  header.offset = 10;
  if (byte(6) > 1) {
    file.read(10, start.data() + 10, 2);
    length |= byte(10) << 16 | byte(11) << 24;
    header.offset = 12;
  }
  if (length > kLongestHeader) fail(ErrorKind::kArgument, "{}: a header of {} bytes", path, length);
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(header.offset, text.data(), length);
  header.offset += length;
  header.scalar = scalar_in(value_of(text, "descr", path), path);
  if (!value_of(text, "fortran_order", path).starts_with("False")) {
    fail(ErrorKind::kUnsupported, "{}: elements are in Fortran order", path);
  }
  header.shape = shape_in(value_of(text, "shape", path), path);
  return header;
}

void create(const std::string& path, Header& header, bool overwrite) {
  const std::string text = header_text(header);
  if (text.size() > 0xffff)
    fail(ErrorKind::kShape, "{}: the shape does not fit the file's header", path);
  std::string start(kMagic);
  start +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  start += text;
  header.offset = static_cast<Index>(start.size());
  RawFile file(path, O_WRONLY | O_CREAT | (overwrite ? O_TRUNC : O_EXCL));
  file.write(0, start.data(), header.offset);
  file.set_length(header.offset +
                  element_count(header.shape) * static_cast<Index>(size_of(header.scalar)));
  file.finish();
}

}  // namespace impishim::darray::file::npy
