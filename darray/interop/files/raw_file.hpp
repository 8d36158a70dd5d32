// SPDX-License-Identifier: Apache-2.0
/// An open file, closed at the end; reads and writes go to positions, so that processes do not
/// disturb each other.
#pragma once

#include <string>

#include "darray/index/triplet.hpp"

namespace impishim::darray::file {

/// Every function throws Error kArgument with the path and the system's reason.
class RawFile {
 public:
  /// `flags` are those of open(2).
  RawFile(const std::string& path, int flags);
  ~RawFile();
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  /// All the bytes, at a position from the file's beginning.
  void write(Index position, const void* data, Index bytes);
  void read(Index position, void* data, Index bytes);
  void set_length(Index bytes);
  /// Closes, and reports what only then turns out not to have been written.
  void finish();

 private:
  [[noreturn]] void fail_with(const char* what) const;
  std::string path_;
  int descriptor_;
};

}  // namespace impishim::darray::file
