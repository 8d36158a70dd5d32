/// Shifts along an axis, by one amount or one for each line (Adlib's Shift, CShift, Skew, CSkew:
/// ADL-21 to ADL-25).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "darray/plan/core/options.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

class PlannedExchange;

/// What a destination element becomes whose source would lie beyond the end of the axis.
enum class ShiftMode {
  kEdge,    ///< it stays as it is
  kCyclic,  ///< the axis is a ring
  kNone,    ///< nothing is shifted at all
  kFill     ///< a value (Fortran's EOSHIFT)
};

struct ShiftOptions {
  ShiftMode mode = ShiftMode::kEdge;
  FillValue fill = {};            ///< for ShiftMode::kFill
  ScheduleOptions schedule = {};  ///< Checks as in RemapOptions
};

/// How a planned shift of either kind is run.
class PlannedShift {
 public:
  ~PlannedShift();
  PlannedShift(PlannedShift&&) noexcept;
  PlannedShift& operator=(PlannedShift&&) noexcept;

  /// Errors: as Schedule::execute().
  void execute(const void* source, void* destination);
  void start(const void* source, void* destination);
  bool test();
  void wait();
  [[nodiscard]] const Statistics& statistics() const;

 protected:
  explicit PlannedShift(PlannedExchange exchange);

 private:
  std::unique_ptr<PlannedExchange> exchange_;
};

/// destination[x] = source[x + amount] along one axis, planned once; the amount may be negative or
/// beyond the extent. Both arrays have the same shape, and any layouts; they do not overlap.
class ShiftPlan : public PlannedShift {
 public:
  /// Errors: as RemapPlan for whole arrays; kArgument for an axis that is not there, and for fill
  /// mode without a value of the element's size; kUnsupported for an unstructured axis, or
  /// sections.
  ShiftPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source,
            int axis, Index amount, const Element& element, const ShiftOptions& options = {});
};

/// A shift with an amount of its own for each line along the axis. Both arrays have the same grid
/// and maps (ghosts may differ).
class SkewPlan : public PlannedShift {
 public:
  /// `amounts`: those of the lines that this rank has, in row-major order over its owned part
  /// without the axis; the processes along the axis give the same ones (kArgument, with checks).
  /// Errors: kLayout for layouts that differ; kShape for another number of amounts than lines; and
  /// as ShiftPlan.
  SkewPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source,
           int axis, std::span<const Index> amounts, const Element& element,
           const ShiftOptions& options = {});
};

/// What `rank` does in a shift, and in a skew. Local, for any rank. Errors: as the plans.
[[nodiscard]] RankPlan plan_shift(int rank, const Systems& systems, const RemapSide& destination,
                                  const RemapSide& source, int axis, Index amount, ShiftMode mode);
[[nodiscard]] RankPlan plan_skew(int rank, const RemapSide& destination, const RemapSide& source,
                                 int axis, std::span<const Index> amounts, ShiftMode mode);

/// One-shot forms: mode edge, mode cyclic, and the same with an amount for each line.
void shift(const Communicator& communicator, const RemapSide& destination, void* destination_data,
           const RemapSide& source, const void* source_data, int axis, Index amount,
           const Element& element, const ShiftOptions& options = {});
void cshift(const Communicator& communicator, const RemapSide& destination, void* destination_data,
            const RemapSide& source, const void* source_data, int axis, Index amount,
            const Element& element);
void skew(const Communicator& communicator, const RemapSide& destination, void* destination_data,
          const RemapSide& source, const void* source_data, int axis,
          std::span<const Index> amounts, const Element& element, const ShiftOptions& options = {});
void cskew(const Communicator& communicator, const RemapSide& destination, void* destination_data,
           const RemapSide& source, const void* source_data, int axis,
           std::span<const Index> amounts, const Element& element);

}  // namespace impishim::darray
