// SPDX-License-Identifier: Apache-2.0
/// An open file, which the destructor closes. Reads and writes name their positions, so processes
/// do not disturb each other.
#pragma once

#include <string>

#include "darray/index/triplet.hpp"

namespace impishim::darray::file {

/// An open file. Every function throws Error(kArgument) with the path and the system's reason if it
/// fails.
class RawFile {
 public:
  /// `flags` are those of open(2).
  RawFile(const std::string& path, int flags);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  /// Writes all bytes, at a position from the beginning of the file.
  void write(Index position, const void* data, Index bytes);
  void read(Index position, void* data, Index bytes);
  void set_length(Index bytes);
  /// Closes the file, and reports write errors that only appear then.
  void finish();

 private:
  [[noreturn]] void fail_with(const char* what) const;
  std::string path_;
  int descriptor_;
};

}  // namespace impishim::darray::file
