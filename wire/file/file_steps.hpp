// SPDX-License-Identifier: Apache-2.0
/// Divides an access of any length into requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wire/file/file_message.hpp"
#include "wire/file/file_view.hpp"

namespace impishim::wire {

/// Consecutive data of an access that one server takes.
struct FileStep {
  std::size_t server = 0;
  std::vector<FilePiece> pieces;
  std::uint64_t bytes = 0;
};

/// Servers divide a file into stripes, so that adjacent data of several processes meets at one.
class FileSteps {
 public:
  static constexpr std::uint64_t kStripe = std::uint64_t{32} << 20U;

  /// Describes `bytes` bytes of a view's data from byte `first` on. There is at least one server.
  FileSteps(std::shared_ptr<const FileView> view, std::uint64_t first, std::uint64_t bytes,
            std::size_t servers)
      : view_(std::move(view)), first_(first), left_(bytes), servers_(servers) {}

  /// Returns the next step, or nothing at the end.
  [[nodiscard]] std::optional<FileStep> next();

 private:
  std::shared_ptr<const FileView> view_;
  std::uint64_t first_;
  std::uint64_t left_;
  std::size_t servers_;
};

}  // namespace impishim::wire
