/// How an array is dealt out to the processes of a communicator: d2o's four strategies (D2O-01 to
/// D2O-05), or any distribution.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "darray/index/distribution.hpp"

namespace impishim::darray {

/// A strategy: a cheap value. Those that are called global derive the pieces from a global shape;
/// freeform takes what every process brings.
class Strategy {
 public:
  enum class Kind : std::uint8_t {
    kNot,       ///< every process holds the whole array
    kEqual,     ///< slices of axis 0, the first extent mod P processes have one row more
    kFftw,      ///< slices of axis 0 by ceil(extent / P), as FFTW-MPI has them by default; late
                ///< processes may have none
    kFreeform,  ///< slices of axis 0 as the processes bring them
    kLayout,    ///< a distribution of the index layer: any maps, any grid
  };

  /// equal, the default.
  Strategy() = default;
  Strategy(Kind kind);  // NOLINT: a kind is a strategy. @throws Error kArgument for kLayout
  Strategy(DistributionPtr
               distribution);  // NOLINT: so is a distribution. @throws Error kArgument for none
  Strategy(std::string_view name);                                  // NOLINT: so is a name
  Strategy(const char* name) : Strategy(std::string_view(name)) {}  // NOLINT

  [[nodiscard]] Kind kind() const { return kind_; }
  /// not, equal, fftw, freeform or layout.
  [[nodiscard]] std::string_view name() const;
  /// Of kLayout; null for the others.
  [[nodiscard]] const DistributionPtr& distribution() const { return distribution_; }
  /// The pieces follow from the global shape: all but freeform (D2O-05).
  [[nodiscard]] bool is_global() const { return kind_ != Kind::kFreeform; }
  /// Cuts axis 0 in slices: equal, fftw and freeform (D2O-05).
  [[nodiscard]] bool is_slicing() const;

  /// The same on all machines for equal strategies.
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

/// The distribution of an array of that shape over processes 0, 1, ... An array without axes is on
/// every process, whatever the strategy (D2O-13: d2o refuses it).
/// @throws Error kShape for freeform, which needs what the processes bring, and for a distribution
/// of another shape.
[[nodiscard]] DistributionPtr distribution_of(const Strategy& strategy,
                                              std::span<const Index> shape, int processes);

}  // namespace impishim::darray
