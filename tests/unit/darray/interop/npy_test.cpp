// SPDX-License-Identifier: Apache-2.0
// Versions of the .npy format: those that NumPy defines are read, others are refused by name.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "darray/interop/files/npy.hpp"
#include "tests/unit/darray/errors.hpp"

namespace impishim::darray::file::npy {
namespace {

/// A file in the folder for temporary files, which ends with the object.
class NpyFile {
 public:
  /// Writes a header of this version, and three doubles.
  NpyFile(char major, char minor) {
    std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n";
    std::string content = std::string("\x93NUMPY") + major + minor;
    content += static_cast<char>(text.size());
    content.append(major == 1 ? 1 : 3, '\0');  // a length of 2 or 4 bytes
    header_ = static_cast<Index>(content.size() + text.size());
    content += text + std::string(24, '\0');
    const int descriptor = ::mkstemp(path_.data());
    EXPECT_EQ(::write(descriptor, content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    ::close(descriptor);
  }
  ~NpyFile() { std::remove(path_.c_str()); }
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Index header() const { return header_; }

 private:
  std::string path_ = testing::TempDir() + "impishim_npy_XXXXXX";
  Index header_ = 0;
};

TEST(NpyVersion, ReadsWhatNumPyDefines) {
  for (const char major : {1, 2, 3}) {
    const NpyFile file(major, 0);
    const Header header = read_header(file.path());
    EXPECT_EQ(header.scalar, Scalar::kDouble);
    EXPECT_EQ(header.shape, std::vector<Index>{3});
    EXPECT_EQ(header.offset, file.header());
  }
}

TEST(NpyVersion, RefusesOthersByName) {
  const std::pair<int, int> unknown[] = {{0, 0}, {1, 1}, {2, 7}, {4, 0}, {255, 0}};
  for (const auto& [major, minor] : unknown) {
    const NpyFile file(static_cast<char>(major), static_cast<char>(minor));
    const std::string text = impishim_test::error_of(
        ErrorKind::kUnsupported, [&] { static_cast<void>(read_header(file.path())); });
    EXPECT_EQ(text, file.path() + ": the file has version " + std::to_string(major) + "." +
                        std::to_string(minor) +
                        " of the .npy format, but only versions 1.0, 2.0 and 3.0 are read: write "
                        "the file again with a NumPy that knows this version, as 1.0 to 3.0");
  }
}

}  // namespace
}  // namespace impishim::darray::file::npy
