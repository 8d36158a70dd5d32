// SPDX-License-Identifier: Apache-2.0
/// Whether dimension dictionaries obey the protocol: one process's (here; no communication), and
/// those of all processes together (check_processes(), which is given all of them; collective.hpp
/// fetches them).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "darray/interop/dap/dim_data.hpp"

namespace impishim::darray::dap {

/// kLenient accepts what is understood without doubt though the text forbids it: a list of
/// dictionaries in place of a tuple, booleans as integers, labels that occur twice in one process,
/// communication padding wider than the neighbour's piece; and keeps unknown keys. That the last
/// block ends at `size` (DAP-22) it leaves to check_processes(). kStrict follows the text, with the
/// readings that darray/README.md lists.
enum class Level { kLenient, kStrict };

/// One broken rule. `rule` is a fixed text that begins with the requirement's name.
struct Violation {
  std::optional<int> rank;       ///< the process, when several are looked at together
  std::optional<int> dimension;  ///< the axis; none: a rule for the whole
  std::string key;               ///< the dictionary's key; empty: none in particular
  std::string_view rule;
  std::string detail;  ///< the values found

  /// "dimension 1: 'stop': DAP-30 0 <= start <= stop <= size (stop 12, size 10)"
  [[nodiscard]] std::string message() const;
};
using Violations = std::vector<Violation>;

/// What reading found: the dictionaries, with keys of a wrong kind left unset, and those kinds as
/// violations.
struct Reading {
  std::vector<DimData> dimensions;
  Violations violations;
};

/// Turns dictionaries into values. Keys of another dist_type count as unknown. Never throws for a
/// dictionary's content.
Reading read(std::span<const Dictionary> dictionaries, Level level);

/// All rules that one process can check, for dictionaries and the shape of its buffer. Empty:
/// valid.
Violations validate(std::span<const DimData> dimensions, std::span<const Index> buffer_shape,
                    Level level);
/// read() and validate() in one: kinds first; a key of a wrong kind is not reported as missing,
/// too.
Violations validate(std::span<const Dictionary> dictionaries, std::span<const Index> buffer_shape,
                    Level level);

/// `__version__`: "major.minor.patch" (lenient: also a suffix of semantic versioning or PEP 440),
/// the major equal to this protocol's.
Violations validate_version(std::string_view version, Level level);
/// The version that exports carry.
inline constexpr std::string_view kVersion = "0.10.0";

/// What check_processes() has of one process; its place in the list is its rank.
struct ProcessPiece {
  std::vector<DimData> dimensions;
  std::vector<Index> buffer_shape;
};
/// The rules that concern several processes: grid, neighbours, sizes, labels. Each piece must be
/// valid by itself; those that are not are reported first, and alone. `replicated`: the array lies
/// on each of several grids; rank r is grid process r modulo the grid's size (an extension: the
/// protocol knows no replicated arrays). Cost: O(processes x axes + labels).
Violations check_processes(std::span<const ProcessPiece> pieces, Level level,
                           bool replicated = false);

/// Throws Error kProtocol with all messages unless there are none.
void require_none(const Violations& violations, std::string_view what);

}  // namespace impishim::darray::dap
