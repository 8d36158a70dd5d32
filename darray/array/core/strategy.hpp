// SPDX-License-Identifier: Apache-2.0
/// The distribution of an array over the processes of a communicator: d2o's four strategies (D2O-01
/// to D2O-05), or any distribution.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "darray/index/distribution.hpp"

namespace impishim::darray {

/// A strategy, which is a cheap value. Global strategies derive the pieces from a global shape.
/// Freeform uses the pieces that the processes pass.
class Strategy {
 public:
  enum class Kind : std::uint8_t {
    kNot,       ///< every process holds the whole array
    kEqual,     ///< slices of axis 0; the first (extent mod P) processes have one more row
    kFftw,      ///< slices of axis 0 of ceil(extent / P) rows, the default of FFTW-MPI; the last
                ///< processes may have none
    kFreeform,  ///< slices of axis 0 as the processes pass them
    kLayout,    ///< a distribution of the index layer: any maps, any grid
  };

  /// The default strategy: equal.
  Strategy() = default;
  Strategy(Kind kind);  // NOLINT: implicit, because a kind is a strategy. Throws Error(kArgument)
                        // for kLayout.
  Strategy(DistributionPtr
               distribution);  // NOLINT: implicit, as above. Throws Error(kArgument) if it is null.
  Strategy(std::string_view name);                                  // NOLINT: implicit, as above
  Strategy(const char* name) : Strategy(std::string_view(name)) {}  // NOLINT

  [[nodiscard]] Kind kind() const { return kind_; }
  /// Returns not, equal, fftw, freeform or layout.
  [[nodiscard]] std::string_view name() const;
  /// Returns the distribution of kLayout; null for the other strategies.
  [[nodiscard]] const DistributionPtr& distribution() const { return distribution_; }
  /// Returns true if the pieces follow from the global shape: for all strategies except freeform
  /// (D2O-05).
  [[nodiscard]] bool is_global() const { return kind_ != Kind::kFreeform; }
  /// Returns true if the strategy cuts axis 0 in slices: equal, fftw and freeform (D2O-05).
  [[nodiscard]] bool is_slicing() const;

  /// Returns a hash that is the same on all machines for equal strategies.
  [[nodiscard]] std::uint64_t hash() const;
  bool operator==(const Strategy& other) const;

 private:
  Kind kind_ = Kind::kEqual;
  DistributionPtr distribution_;
};

inline constexpr Strategy::Kind kNot = Strategy::Kind::kNot;
inline constexpr Strategy::Kind kEqual = Strategy::Kind::kEqual;
inline constexpr Strategy::Kind kFftw = Strategy::Kind::kFftw;
inline constexpr Strategy::Kind kFreeform = Strategy::Kind::kFreeform;

/// Returns the distribution of an array of this shape over processes 0, 1, ... An array without
/// axes is on every process, with any strategy (D2O-13: d2o rejects it). Throws Error(kShape) for
/// freeform, which needs the processes' pieces, and for a distribution of another shape.
[[nodiscard]] DistributionPtr distribution_of(const Strategy& strategy,
                                              std::span<const Index> shape, int processes);

}  // namespace impishim::darray
