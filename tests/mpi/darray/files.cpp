// SPDX-License-Identifier: Apache-2.0
// Arrays in HDF5 and .npy files: what is written and read in every layout, what is refused, what
// stays.
//   files                        checks itself
//   files copy type from to ...  loads arrays of that type and saves them under the other name: for
//   files_test.py
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "darray/interop/files/hdf5.hpp"
#include "tests/mpi/darray/array_checks.hpp"

namespace impishim::darray {
namespace {

using checks::is;

const MPI_Comm kWorld = MPI_COMM_WORLD;

/// A folder that no other test has, gone at the end.
class Folder {
 public:
  Folder() {
    const char* parent = std::getenv("TMPDIR");
    path_ = fmt::format("{}/darray_files_XXXXXX", parent == nullptr ? "/tmp" : parent);
    if (checks::rank == 0 && ::mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), path_);
    MPI_Bcast(path_.data(), static_cast<int>(path_.size()), MPI_CHAR, 0, kWorld);
  }
  ~Folder() {
    MPI_Barrier(kWorld);
    if (checks::rank == 0) std::filesystem::remove_all(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The error has that kind, and says that.
bool refused(ErrorKind kind, const std::string& words, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    const bool right =
        error.kind() == kind && std::string(error.what()).find(words) != std::string::npos;
    if (!right) std::fprintf(stderr, "rank %d: %s\n", checks::rank, error.what());
    return right;
  }
  return false;
}

template <class T>
void same_again(const std::string& path, const DistArray<T>& array) {
  save(array, path, true);
  EXPECT(load<T>(kWorld, path).get_full() == array.get_full());
}

template <class... T>
void types(const std::string& path) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 0}, Shape{5}, Shape{7, 2}}) {
    (same_again(path, DistArray<T>::arange(kWorld, shape)), ...);
    same_again(path, DistArray<bool>::arange(kWorld, shape));
  }
}

void layouts(const std::string& path) {
  const auto array = DistArray<double>::arange(kWorld, Shape{3, 4});
  const std::vector<double> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (const Strategy& strategy : checks::strategies({3, 4}, checks::size)) {
    save(array.copy(strategy), path, true);
    const auto again = load<double>(kWorld, path, strategy);
    EXPECT(again.strategy() == strategy && is(again, {3, 4}, numbers));
  }
  EXPECT(is(load<double>(kWorld, path, kFreeform), {3, 4}, numbers));
  EXPECT(is(make_array<double>(kWorld, {.file = path, .global_shape = Shape{1}}), {3, 4}, numbers));
  // A file counts before data (D2O-10).
  const std::vector<double> others{7, 8};
  const StridedView<const double> data(others.data(), Shape{2});
  EXPECT(is(make_array<double>(kWorld, {.file = path, .global_data = data}), {3, 4}, numbers));
}

void refusals(const Folder& folder, const std::string& extension) {
  const std::string path = folder / ("refused" + extension);
  EXPECT(
      refused(ErrorKind::kArgument, path, [&] { static_cast<void>(load<double>(kWorld, path)); }));
  const auto array = DistArray<double>::arange(kWorld, Shape{3, 4});
  const DistArray<double> doubled = 2.0 * array;
  save(array, path);
  EXPECT(refused(ErrorKind::kArgument, path, [&] { save(doubled, path); }));
  EXPECT(refused(ErrorKind::kType, "double, not float",
                 [&] { static_cast<void>(load<float>(kWorld, path)); }));
  auto other = DistArray<double>::full(kWorld, Shape{4, 3}, 1.0);
  EXPECT(refused(ErrorKind::kShape, "(3, 4), not (4, 3)", [&] { load(other, path); }));
  EXPECT(is(other, {4, 3}, std::vector<double>(12, 1.0)));
  EXPECT(load<double>(kWorld, path).get_full() == array.get_full());  // nothing was lost
  save(doubled, path, true);
  EXPECT(load<double>(kWorld, path).get_full() == doubled.get_full());
  EXPECT(refused(ErrorKind::kArgument, "nowhere",
                 [&] { save(array, folder / ("nowhere/array" + extension)); }));
  MPI_Barrier(kWorld);
  // Cut off in the middle: the file system has lost the end.
  if (checks::rank == 0) std::filesystem::resize_file(path, std::filesystem::file_size(path) - 40);
  MPI_Barrier(kWorld);
  EXPECT(
      refused(ErrorKind::kArgument, path, [&] { static_cast<void>(load<double>(kWorld, path)); }));
}

// What NumPy 1.24 writes, byte by byte.
void numpy_header(const Folder& folder) {
  const std::string path = folder / "header.npy";
  save(DistArray<double>::arange(kWorld, Shape{3, 4}), path);
  std::string expected(
      "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }", 69);
  expected.resize(127, ' ');
  expected += '\n';
  for (int k = 0; k < 12; ++k) {
    const double number = k;
    expected.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  EXPECT(content(path) == expected);
}

void datasets(const Folder& folder) {
  const std::string path = folder / "many.hdf5";
  const auto first = DistArray<int>::arange(kWorld, Shape{6});
  const auto second = DistArray<std::complex<double>>::arange(kWorld, Shape{2, 2});
  save(first, path);
  save(second, path + ":step/17/density");
  save(DistArray<int>(first + first), path + ":step/18");
  EXPECT(refused(ErrorKind::kArgument, "'step/18' is there already",
                 [&] { save(first, path + ":step/18"); }));
  save(first, path + ":step/18", true);
  EXPECT(load<int>(kWorld, path).get_full() == first.get_full());
  EXPECT(load<int>(kWorld, path + ":data").get_full() == first.get_full());
  EXPECT(load<int>(kWorld, path + ":/step/18").get_full() == first.get_full());
  EXPECT(load<std::complex<double>>(kWorld, path + ":step/17/density").get_full() ==
         second.get_full());
  EXPECT(refused(ErrorKind::kArgument, "step/19",
                 [&] { static_cast<void>(load<int>(kWorld, path + ":step/19")); }));
  EXPECT(refused(ErrorKind::kArgument, "no dataset's name",
                 [&] { static_cast<void>(load<int>(kWorld, path + ":")); }));
}

void foreign_file(const Folder& folder) {
  const std::string path = folder / "letter.h5";
  if (checks::rank == 0) std::ofstream(path) << "Dear reader";
  MPI_Barrier(kWorld);
  const auto array = DistArray<int>::arange(kWorld, Shape{6});
  EXPECT(refused(ErrorKind::kArgument, "letter.h5", [&] { save(array, path, true); }));
  EXPECT(refused(ErrorKind::kArgument, "letter.h5",
                 [&] { static_cast<void>(load<int>(kWorld, path)); }));
  EXPECT(content(path) == "Dear reader");
}

void format(const Folder& folder, const std::string& extension) {
  types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
        std::uint32_t, std::uint64_t, float, double, long double, std::complex<float>,
        std::complex<double>>(folder / ("types" + extension));
  layouts(folder / ("layouts" + extension));
  refusals(folder, extension);
}

void without_hdf5(const Folder& folder) {
  const auto array = DistArray<int>::arange(kWorld, Shape{6});
  EXPECT(
      refused(ErrorKind::kUnsupported, "without HDF5", [&] { save(array, folder / "array.h5"); }));
}

template <class T>
bool copied(const std::string& type, const char* name, const std::string& from,
            const std::string& to) {
  if (type == name) save(load<T>(kWorld, from), to);
  return type == name;
}

void copy_all(int count, char** words) {
  for (int k = 0; k + 3 <= count; k += 3) {
    const std::string type = words[k];
    const std::string from = words[k + 1];
    const std::string to = words[k + 2];
    if (!copied<bool>(type, "bool", from, to) && !copied<std::int16_t>(type, "int16", from, to) &&
        !copied<std::int64_t>(type, "int64", from, to) &&
        !copied<std::uint8_t>(type, "uint8", from, to) &&
        !copied<float>(type, "float32", from, to) && !copied<double>(type, "float64", from, to) &&
        !copied<long double>(type, "longdouble", from, to) &&
        !copied<std::complex<float>>(type, "complex64", from, to) &&
        !copied<std::complex<double>>(type, "complex128", from, to)) {
      fail(ErrorKind::kArgument, "no type '{}'", type);
    }
  }
}

/// False: what all ranks have been told is on standard error. Nothing is aborted: a launcher may
/// lose what was said just before.
bool copy(int count, char** words) {
  try {
    copy_all(count, words);
  } catch (const Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", checks::rank, error.what());
    return false;
  }
  return true;
}

void check() {
  const Folder folder;
  checks::part(".npy", [&] { format(folder, ".npy"); });
  checks::part("header", [&] { numpy_header(folder); });
  if (!file::hdf5::is_available()) {
    checks::part("without HDF5", [&] { without_hdf5(folder); });
    return;
  }
  checks::part("HDF5", [&] { format(folder, ".h5"); });
  checks::part("datasets", [&] { datasets(folder); });
  checks::part("somebody else's file", [&] { foreign_file(folder); });
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  checks::begin(&argc, &argv);
  if (argc > 2 && std::string(argv[1]) == "copy") {
    checks::part("copy", [&] { EXPECT(impishim::darray::copy(argc - 2, argv + 2)); });
  } else {
    impishim::darray::check();
  }
  return checks::end();
}
