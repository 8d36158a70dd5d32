#include "darray/array/npy.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

namespace impishim::darray::npy {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kAlignment = 64;
constexpr Index kMostAtOnce = Index{1} << 30;

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

// An open file, closed at the end.
class File {
 public:
  File(const std::string& path, int flags) : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail_with("cannot be opened");
  }
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(Index position, const char* data, Index bytes) {
    for (Index done = 0; done < bytes;) {
      const auto count = static_cast<std::size_t>(std::min(bytes - done, kMostAtOnce));
      const ssize_t written = ::pwrite(descriptor_, data + done, count, position + done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail_with("cannot be written");
      done += written;
    }
  }
  void read(Index position, char* data, Index bytes) {
    for (Index done = 0; done < bytes;) {
      const auto count = static_cast<std::size_t>(std::min(bytes - done, kMostAtOnce));
      const ssize_t got = ::pread(descriptor_, data + done, count, position + done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with("cannot be read");
      if (got == 0) fail(ErrorKind::kArgument, "{}: ends after {} of {} bytes", path_, position + done, position + bytes);
      done += got;
    }
  }
  void set_length(Index bytes) {
    if (::ftruncate(descriptor_, bytes) != 0) fail_with("cannot be made long enough");
  }
  // Where close() reports what could not be written.
  void finish() {
    const int closed = ::close(std::exchange(descriptor_, -1));
    if (closed != 0) fail_with("cannot be closed");
  }

 private:
  [[noreturn]] void fail_with(const char* what) const {
    fail(ErrorKind::kArgument, "{}: {}: {}", path_, what, std::strerror(errno));
  }
  std::string path_;
  int descriptor_;
};

std::string header_text(const Header& header) {
  std::string_view name;
  for (const TypeName& type : kTypes) {
    if (type.scalar == header.scalar) name = type.name;
  }
  const char order = name.ends_with('1') ? '|' : kNativeOrder;
  std::string shape = fmt::format("{}", fmt::join(header.shape, ", "));
  if (header.shape.size() == 1) shape += ",";
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, name, shape);
  const std::size_t before = kMagic.size() + 4;
  text.append((kAlignment - (before + text.size() + 1) % kAlignment) % kAlignment, ' ');
  return text + '\n';
}

// What follows 'key': in a header.
std::string_view value_of(std::string_view text, std::string_view key, const std::string& path) {
  const std::size_t at = text.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) fail(ErrorKind::kArgument, "{}: the header does not tell {}", path, key);
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

Shape shape_in(std::string_view text, const std::string& path) {
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos)
    fail(ErrorKind::kArgument, "{}: no shape in the header", path);
  Shape shape;
  std::string list(text.substr(1, end - 1));
  for (const char* next = list.c_str(); *next != '\0';) {
    char* after = nullptr;
    const Index extent = std::strtoll(next, &after, 10);
    if (after == next) break;
    shape.push_back(extent);
    next = after + std::strspn(after, " ,");
  }
  static_cast<void>(element_count(shape));
  return shape;
}

Header parse_file(const std::string& path) {
  File file(path, O_RDONLY);
  std::array<char, 12> start{};
  file.read(0, start.data(), 10);
  if (std::string_view(start.data(), kMagic.size()) != kMagic) fail(ErrorKind::kArgument, "{}: is no .npy file", path);
  const auto byte = [&](std::size_t at) { return static_cast<Index>(static_cast<unsigned char>(start[at])); };
  Header header;
  Index length = byte(8) | byte(9) << 8;
  header.offset = 10;
  if (byte(6) > 1) {
    file.read(10, start.data() + 10, 2);
    length |= byte(10) << 16 | byte(11) << 24;
    header.offset = 12;
  }
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

}  // namespace

Header read_header(const Communicator& communicator, const std::string& path) {
  Header header;
  agreed(communicator, Checks::kOn, [&] {
    if (communicator.rank() == 0) header = parse_file(path);
  });
  std::array<Index, 3> numbers{static_cast<Index>(header.scalar), static_cast<Index>(header.shape.size()), header.offset};
  check_mpi(MPI_Bcast(numbers.data(), 3, MPI_INT64_T, 0, communicator.get()), "MPI_Bcast");
  header.scalar = static_cast<Scalar>(numbers[0]);
  header.shape.resize(static_cast<std::size_t>(numbers[1]));
  header.offset = numbers[2];
  check_mpi(MPI_Bcast(header.shape.data(), static_cast<int>(numbers[1]), MPI_INT64_T, 0, communicator.get()), "MPI_Bcast");
  return header;
}

void create(const Communicator& communicator, const std::string& path, Header& header, bool overwrite) {
  const std::string text = header_text(header);
  header.offset = static_cast<Index>(kMagic.size() + 4 + text.size());
  agreed(communicator, Checks::kOn, [&] {
    if (communicator.rank() != 0) return;
    if (text.size() > 0xffff) fail(ErrorKind::kShape, "{}: the shape does not fit the file's header", path);
    std::string start(kMagic);
    start += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
    start += text;
    File file(path, O_WRONLY | O_CREAT | (overwrite ? O_TRUNC : O_EXCL));
    file.write(0, start.data(), static_cast<Index>(start.size()));
    file.set_length(header.offset + element_count(header.shape) * static_cast<Index>(element_of(header.scalar).size));
    file.finish();
  });
}

void write(const Communicator& communicator, const std::string& path, Index position, const void* data, Index bytes) {
  agreed(communicator, Checks::kOn, [&] {
    if (bytes == 0) return;
    File file(path, O_WRONLY);
    file.write(position, static_cast<const char*>(data), bytes);
    file.finish();
  });
}

void read(const Communicator& communicator, const std::string& path, Index position, void* data, Index bytes) {
  agreed(communicator, Checks::kOn, [&] {
    if (bytes == 0) return;
    File file(path, O_RDONLY);
    file.read(position, static_cast<char*>(data), bytes);
  });
}

std::pair<Index, Index> slice_of(const Layout& layout, std::size_t element_size, bool once) {
  const auto size = static_cast<Index>(element_size);
  if (layout.is_everywhere()) return {0, once && layout.rank() != 0 ? 0 : layout.size() * size};
  const auto bounds = layout.slice_bounds();
  if (!bounds) fail(ErrorKind::kLayout, "an array that is not cut in slices of axis 0 has no slice in a file");
  const Index rows = bounds->back();
  const Index row = rows == 0 ? 0 : layout.size() / rows;
  return {(*bounds)[static_cast<std::size_t>(layout.rank())] * row * size, layout.owned_size() * size};
}

void check(const Header& header, const std::string& path, Scalar scalar, std::span<const Index> shape) {
  if (header.scalar != scalar) {
    fail(ErrorKind::kType, "{}: has elements of type {}, not {}", path, name_of(header.scalar), name_of(scalar));
  }
  if (!std::ranges::equal(header.shape, shape)) {
    fail(ErrorKind::kShape, "{}: has shape ({}), not ({})", path, fmt::join(header.shape, ", "), fmt::join(shape, ", "));
  }
}

}  // namespace impishim::darray::npy
