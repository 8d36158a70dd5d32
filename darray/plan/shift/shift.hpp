// SPDX-License-Identifier: Apache-2.0
/// Shifts along an axis, by one amount or by one amount for each line (Adlib's Shift, CShift, Skew,
/// CSkew: ADL-21 to ADL-25).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "darray/plan/core/options.hpp"
#include "darray/plan/core/planned.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {

/// The value of a destination element whose source would be beyond the end of the axis.
enum class ShiftMode {
  kEdge,    ///< it does not change
  kCyclic,  ///< the axis is a ring
  kNone,    ///< nothing is shifted
  kFill     ///< it is set to a value (Fortran's EOSHIFT)
};

struct ShiftOptions {
  ShiftMode mode = ShiftMode::kEdge;
  FillValue fill = {};            ///< for ShiftMode::kFill
  ScheduleOptions schedule = {};  ///< Checks have the same effect as in RemapOptions
};

/// The execution of a planned shift or skew.
class PlannedShift : public Planned {
 public:
  /// Executes the plan. Throws the errors of Schedule::execute().
  void execute(const void* source, void* destination) {
    Planned::execute(std::span(&source, 1), std::span(&destination, 1));
  }
  using Planned::start;

 protected:
  using Planned::Planned;
};

/// destination[x] = source[x + amount] along one axis, planned once. The amount may be negative or
/// beyond the extent. Both arrays have the same shape, with any layouts. They must not overlap.
class ShiftPlan : public PlannedShift {
 public:
  /// Throws the errors of RemapPlan for whole arrays. Throws Error(kArgument) if the axis does not
  /// exist, or if fill mode has no value of the element's size. Throws Error(kUnsupported) for an
  /// unstructured axis and for sections.
  ShiftPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source,
            int axis, Index amount, const Element& element, const ShiftOptions& options = {});
};

/// A shift with a separate amount for each line along the axis. Both arrays have the same grid and
/// maps; ghosts may differ.
class SkewPlan : public PlannedShift {
 public:
  /// `amounts` holds one amount for each line that this rank has, in row-major order over its owned
  /// part without the axis. Processes along the axis must give the same amounts (kArgument, with
  /// checks). Throws Error(kLayout) if the layouts differ. Throws Error(kShape) if the number of
  /// amounts is not the number of lines. Also throws the errors of ShiftPlan.
  SkewPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source,
           int axis, std::span<const Index> amounts, const Element& element,
           const ShiftOptions& options = {});
};

/// Return the work of `rank` in a shift and in a skew. Local, for any rank. Throw the errors of the
/// plans.
[[nodiscard]] MessageList plan_shift(int rank, const Systems& systems, const RemapSide& destination,
                                     const RemapSide& source, int axis, Index amount,
                                     ShiftMode mode);
[[nodiscard]] MessageList plan_skew(int rank, const RemapSide& destination, const RemapSide& source,
                                    int axis, std::span<const Index> amounts, ShiftMode mode);

/// One-shot forms: plan and execute once. shift() and skew() use the mode of `options`; cshift()
/// and cskew() use cyclic mode.
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
