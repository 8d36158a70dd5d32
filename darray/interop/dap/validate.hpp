// SPDX-License-Identifier: Apache-2.0
/// Checks whether dimension dictionaries obey the protocol. Those of one process are checked
/// without communication. Those of all processes together are checked by check_processes(), which
/// receives them all; collective.hpp gathers them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "darray/interop/dap/dim_data.hpp"

namespace impishim::darray::dap {

/// How strictly the protocol's text is applied.
///
/// kLenient accepts forms that are unambiguous although the text forbids them: a list of
/// dictionaries instead of a tuple, booleans as integers, labels that occur twice in one process,
/// and communication padding wider than the neighbour's piece. It also keeps unknown keys. It
/// leaves to check_processes() the rule that the last block ends at `size` (DAP-22).
///
/// kStrict follows the text, with the interpretations that darray/README.md lists.
enum class Level { kLenient, kStrict };

/// One violated rule. `rule` is a fixed text that begins with the requirement's name.
struct Violation {
  std::optional<int> rank;       ///< the process, if several are checked together
  std::optional<int> dimension;  ///< the axis; unset for a rule about the whole array
  std::string key;               ///< the dictionary's key; empty if the rule concerns no single key
  std::string_view rule;
  std::string detail;  ///< the actual values

  /// Returns the text "dimension 1: 'stop': DAP-30 0 <= start <= stop <= size (stop 12, size 10)".
  [[nodiscard]] std::string message() const;
};
using Violations = std::vector<Violation>;

/// The result of read(): the dictionaries, and the violations for values of a wrong kind. Keys with
/// such values are unset.
struct Reading {
  std::vector<DimData> dimensions;
  Violations violations;
};

/// Converts dictionaries to values. Keys of another dist_type count as unknown. Never throws
/// because of a dictionary's content.
Reading read(std::span<const Dictionary> dictionaries, Level level);

/// Checks all rules that one process can check, for dictionaries and the shape of its buffer.
/// Returns an empty list if they are valid.
Violations validate(std::span<const DimData> dimensions, std::span<const Index> buffer_shape,
                    Level level);
/// Combines read() and validate(). Wrong kinds come first. A key of a wrong kind is not also
/// reported as missing.
Violations validate(std::span<const Dictionary> dictionaries, std::span<const Index> buffer_shape,
                    Level level);

/// Checks `__version__`: "major.minor.patch", with the major number of this protocol. kLenient also
/// accepts a suffix of semantic versioning or PEP 440.
Violations validate_version(std::string_view version, Level level);
/// The version that exports have.
inline constexpr std::string_view kVersion = "0.10.0";

/// The data of one process for check_processes(). Its position in the list is its rank.
struct ProcessPiece {
  std::vector<DimData> dimensions;
  std::vector<Index> buffer_shape;
};
/// Checks the rules that concern several processes: grid, neighbours, sizes, labels. Each piece
/// must be valid by itself; if some are not, only their violations are reported. `replicated` means
/// that each of several grids holds the whole array: rank r is grid process r modulo the grid's
/// size. This is an extension, because the protocol has no replicated arrays. Cost: O(processes x
/// axes + labels).
Violations check_processes(std::span<const ProcessPiece> pieces, Level level,
                           bool replicated = false);

/// Throws Error(kProtocol) with all messages if there are violations.
void require_none(const Violations& violations, std::string_view what);

}  // namespace impishim::darray::dap
