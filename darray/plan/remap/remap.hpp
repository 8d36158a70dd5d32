/// Copies between two distributed arrays, any layout to any layout (Adlib's Remap, ADL-20; DIS-04).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/plan/core/options.hpp"
#include "darray/plan/core/rank_plan.hpp"

namespace impishim::darray {

/// One side of a remap: an array's layout, which of its elements take part, and how its local
/// buffers lie in memory.
struct RemapSide {
  const Distribution& layout;  ///< needed during construction alone
  /// One triplet for each axis; none: the whole array. Of an unstructured axis a triplet selects
  /// labels.
  Section section = {};
  /// Elements between neighbours of each axis in this rank's local buffer (ghosts included), for
  /// buffers in another order than row-major or with gaps; none: row-major. Addresses at execution
  /// are those of the element with all local indices 0.
  std::vector<Index> strides = {};
};

/// Which of several source elements counts if a label of an unstructured source axis is several
/// parts'.
enum class Duplicates {
  kLowest,  ///< that of the lowest part
  kAll  ///< all arrive, in the order of their ranks: for execution with an operator. Without one,
        ///< the highest rank's stays
};

/// In RemapOptions::permutation: this destination axis has no source axis; source elements are
/// repeated along it.
inline constexpr int kRepeated = -1;

struct RemapOptions {
  /// Destination axis k is source axis permutation[k] (a transposition), or kRepeated. Source axes
  /// that are not named take part with one element. None: the same axes in the same order.
  std::vector<int> permutation = {};
  Duplicates duplicates = Duplicates::kLowest;
  /// Whether the plan will also be run backwards. Only plans with replicated arrays or shared
  /// labels cost more for it.
  bool backward = true;
  /// With Checks::kOn, construction is collective: one error for all, and a comparison of the
  /// arguments. With kOff it is local work without messages, but for the first use of a
  /// communicator and of a set of copies of a replicated array.
  ScheduleOptions schedule = {};
};

/// A remap that is planned once and executed many times, for any arrays with these layouts.
/// Execution: as Schedule. Every element of the destination's section becomes the element of the
/// source's section at the same position. Grids may be of different processes of the communicator,
/// and ranks in neither take part with nothing to do.
///
/// Source and destination may be one array if the sections do not overlap. Of a replicated source,
/// a destination takes the nearest copy: its own, one in its system, or any. A replicated
/// destination is sent one copy for each system, which a tree spreads there; so data enters a
/// system once. Elements that are already at their place move by a plain copy, without messages.
class RemapPlan {
 public:
  /// Errors: kShape for sections with different counts or whole arrays with different extents; kKey
  /// for sections outside of their axes, and for a label of one side that the other one does not
  /// have, unless a section leaves it out; kArgument for a permutation that is none, strides of the
  /// wrong number, or ranks outside of the communicator.
  RemapPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source,
            const Element& element, const RemapOptions& options = {});
  RemapPlan(MPI_Comm comm, const RemapSide& destination, const RemapSide& source,
            const Element& element, const RemapOptions& options = {});
  /// Whole arrays of any shapes with the same number of elements, in flat row-major order (DIS-04).
  /// Errors: kShape when they have not; kUnsupported for unstructured axes, sections and
  /// permutations.
  static RemapPlan reshape(const Communicator& communicator, const RemapSide& destination,
                           const RemapSide& source, const Element& element,
                           const RemapOptions& options = {});
  ~RemapPlan();
  RemapPlan(RemapPlan&&) noexcept;
  RemapPlan& operator=(RemapPlan&&) noexcept;

  /// Source to destination. With an operator, what arrives is combined with what is there. Errors:
  /// as Schedule::execute().
  void execute(const void* source, void* destination, const Combiner& combine = {});
  /// Destination to source. Errors also: kUnsupported when the plan was made without `backward`.
  void execute_backward(void* source, const void* destination, const Combiner& combine = {});
  /// The same in two parts. Where copies of replicated arrays are written, remaps that are under
  /// way at once are started in the same order on all ranks, as all that uses collectives (see
  /// ReduceSchedule). One execution at a time, whatever its direction.
  void start(const void* source, void* destination, const Combiner& combine = {});
  void start_backward(void* source, const void* destination, const Combiner& combine = {});
  bool test();
  void wait();
  /// Several arrays with these layouts in one round.
  void execute(std::span<const void* const> sources, std::span<void* const> destinations,
               const Combiner& combine = {});

  /// Of this rank and a forward execution of one array; see total().
  [[nodiscard]] const Statistics& statistics() const;

 private:
  struct State;
  explicit RemapPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What `rank` does in a remap: the list of its messages (DIS-04, T10). Local, for any rank.
/// Errors: as RemapPlan.
[[nodiscard]] RankPlan plan_remap(int rank, const Systems& systems, const RemapSide& destination,
                                  const RemapSide& source, const RemapOptions& options = {});
/// The same of RemapPlan::reshape().
[[nodiscard]] RankPlan plan_reshape(int rank, const Systems& systems, const RemapSide& destination,
                                    const RemapSide& source);

/// One-shot forms: plan, execute, forget.
void remap(const Communicator& communicator, const RemapSide& destination, void* destination_data,
           const RemapSide& source, const void* source_data, const Element& element,
           RemapOptions options = {});
void reshape(const Communicator& communicator, const RemapSide& destination, void* destination_data,
             const RemapSide& source, const void* source_data, const Element& element,
             RemapOptions options = {});

}  // namespace impishim::darray
