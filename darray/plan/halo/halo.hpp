/// Halo exchange: ghost cells become copies of the cells that they stand for (Adlib's WriteHalo,
/// ADL-26, ADL-27, ADL-29).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/plan/core/options.hpp"
#include "darray/plan/core/rank_plan.hpp"

namespace impishim::darray {

/// What ghosts beyond the ends of an axis become.
enum class HaloMode {
  kAuto,    ///< kCyclic for an axis that is marked as periodic, else kEdge
  kEdge,    ///< left as they are
  kCyclic,  ///< the axis is a ring
  kNone,    ///< no ghost along this axis is written, inner ones neither
  kFill     ///< a value
};

struct HaloAxis {
  HaloMode mode = HaloMode::kAuto;
  /// How many of the allocated ghosts are written on either side; nothing: all that each part has.
  /// Those next to the owned cells.
  std::optional<Ghosts> widths = std::nullopt;
};

struct HaloOptions {
  std::vector<HaloAxis> axes = {};  ///< missing ones are default
  bool corners = true;              ///< also ghosts outside along several axes; without: faces only
  FillValue fill = {};              ///< for HaloMode::kFill
  std::vector<Index> strides = {};  ///< of this rank's local buffer, as RemapSide::strides
  ScheduleOptions schedule = {};    ///< Checks as in RemapOptions
};

/// A halo exchange, planned once, for any arrays with this layout. A ghost takes its value from
/// whoever owns the cell, so a halo may be wider than the neighbour's piece, and than the whole
/// axis if that is a ring. Each copy of a replicated array is served by its own processes. Ghosts
/// are written once; owned cells are read only, with one exception: the boundary cells of an axis
/// that is marked as periodic (DAP-42), which mirror the interior of the opposite end, N - lower -
/// upper cells away, and are written in cyclic mode.
class HaloPlan {
 public:
  /// Errors: kArgument for more axes than the array has, widths that are negative, or fill mode
  /// without a value of the element's size; kLayout for widths above the allocated ghosts of a
  /// part.
  HaloPlan(const Communicator& communicator, const Distribution& layout, const Element& element,
           const HaloOptions& options = {});
  HaloPlan(MPI_Comm comm, const Distribution& layout, const Element& element,
           const HaloOptions& options = {});
  ~HaloPlan();
  HaloPlan(HaloPlan&&) noexcept;
  HaloPlan& operator=(HaloPlan&&) noexcept;

  /// `data`: the local buffer, ghosts included. Errors: as Schedule::execute().
  void execute(void* data);
  /// In two parts. Between them neither the owned cells near the edges may be changed nor the
  /// ghosts read.
  void start(void* data);
  bool test();
  void wait();
  /// Several arrays with this layout in one round: one message for each neighbour carries all.
  void execute(std::span<void* const> arrays);

  /// The reverse: each ghost is combined into the cell that it stands for (ADL-29), in a fixed
  /// order. Ghosts stay as they are.
  void reduce_back(void* data, const Combiner& combine);
  void start_reduce_back(void* data, const Combiner& combine);

  [[nodiscard]] const Statistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What `rank` does in a halo exchange. Local, for any rank. Errors: as HaloPlan.
[[nodiscard]] RankPlan plan_halo(int rank, const Distribution& layout,
                                 const HaloOptions& options = {});

/// One-shot form.
void write_halo(const Communicator& communicator, const Distribution& layout, void* data,
                const Element& element, const HaloOptions& options = {});

}  // namespace impishim::darray
