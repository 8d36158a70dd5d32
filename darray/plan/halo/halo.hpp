// SPDX-License-Identifier: Apache-2.0
/// Halo exchange: copies the owned cells to the ghost cells that stand for them (Adlib's WriteHalo,
/// ADL-26, ADL-27, ADL-29).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/plan/core/message_list.hpp"
#include "darray/plan/core/options.hpp"
#include "darray/plan/core/planned.hpp"

namespace impishim::darray {

/// The treatment of ghosts beyond the ends of an axis.
enum class HaloMode {
  kAuto,    ///< kCyclic for an axis that is marked as periodic, else kEdge
  kEdge,    ///< they do not change
  kCyclic,  ///< the axis is a ring
  kNone,    ///< no ghost along this axis is written, not even between parts
  kFill     ///< they are set to a value
};

struct HaloAxis {
  HaloMode mode = HaloMode::kAuto;
  /// The number of allocated ghosts to write on each side, starting next to the owned cells.
  /// Without a value: all ghosts that each part has.
  std::optional<Ghosts> widths = std::nullopt;
};

struct HaloOptions {
  std::vector<HaloAxis> axes = {};  ///< missing axes have the default
  bool corners = true;              ///< also ghosts outside along several axes; false: faces only
  FillValue fill = {};              ///< for HaloMode::kFill
  std::vector<Index> strides = {};  ///< of this rank's local buffer, as RemapSide::strides
  ScheduleOptions schedule = {};    ///< Checks have the same effect as in RemapOptions
};

/// A halo exchange, planned once, for any arrays with this layout. A ghost takes its value from the
/// owner of the cell. So a halo may be wider than the neighbour's piece, and wider than the whole
/// axis if that is a ring. The processes of each copy of a replicated array exchange among
/// themselves.
///
/// Ghosts are written once. Owned cells are only read, with one exception: the boundary cells of an
/// axis that is marked as periodic (DAP-42). They mirror the interior of the opposite end, N -
/// lower - upper cells away, and are written in cyclic mode.
class HaloPlan : public Planned {
 public:
  /// Throws Error(kArgument) if there are more axes than the array has, if widths are negative, or
  /// if fill mode has no value of the element's size. Throws Error(kLayout) if widths exceed the
  /// allocated ghosts of a part.
  HaloPlan(const Communicator& communicator, const Distribution& layout, const Element& element,
           const HaloOptions& options = {});
  HaloPlan(MPI_Comm comm, const Distribution& layout, const Element& element,
           const HaloOptions& options = {});

  /// Exchanges the halo of `data`, the local buffer with ghosts. Throws the errors of
  /// Schedule::execute().
  void execute(void* data);
  /// Starts an exchange that test() or wait() completes. Until then the program must not change
  /// owned cells near the edges, and must not read ghosts.
  void start(void* data) { Planned::start(data, data); }
  /// Exchanges several arrays with this layout in one round: one message to each neighbour carries
  /// all arrays.
  void execute(std::span<void* const> arrays);

  /// Does the reverse: combines each ghost into the cell that it stands for (ADL-29), in a fixed
  /// order. Ghosts do not change.
  void reduce_back(void* data, const Combiner& combine);
  void start_reduce_back(void* data, const Combiner& combine);
};

/// Returns the work of `rank` in a halo exchange. Local, for any rank. Throws the errors of
/// HaloPlan.
[[nodiscard]] MessageList plan_halo(int rank, const Distribution& layout,
                                    const HaloOptions& options = {});

/// Plans and executes one halo exchange.
void write_halo(const Communicator& communicator, const Distribution& layout, void* data,
                const Element& element, const HaloOptions& options = {});

}  // namespace impishim::darray
