// SPDX-License-Identifier: Apache-2.0
/// Copies between two distributed arrays, any layout to any layout (Adlib's Remap, ADL-20; DIS-04).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/plan/core/message_list.hpp"
#include "darray/plan/core/options.hpp"

namespace impishim::darray {

/// One side of a remap: an array's layout, the elements that take part, and the memory layout of
/// its local buffers.
struct RemapSide {
  const Distribution& layout;  ///< used only during construction
  /// One triplet for each axis. Empty: the whole array. For an unstructured axis, a triplet selects
  /// labels.
  Section section = {};
  /// The distance, in elements, between neighbours along each axis in this rank's local buffer
  /// (ghosts included). For buffers that are not row-major or have gaps; empty means row-major.
  /// Addresses at execution point to the element whose local indices are all 0.
  std::vector<Index> strides = {};
};

/// The source element that counts if several parts have a label of an unstructured source axis.
enum class Duplicates {
  kLowest,  ///< the element of the lowest part
  kAll  ///< all arrive, in the order of their ranks, for execution with an operator; without one,
        ///< the highest rank's element stays
};

/// In RemapOptions::permutation: this destination axis has no source axis. Source elements are
/// repeated along it.
inline constexpr int kRepeated = -1;

struct RemapOptions {
  /// Destination axis k is source axis permutation[k] (a transposition), or kRepeated. Source axes
  /// that are not named take part with one element. Empty: the same axes in the same order.
  std::vector<int> permutation = {};
  Duplicates duplicates = Duplicates::kLowest;
  /// True if the plan will also be executed backward. This costs more only for plans with
  /// replicated arrays or shared labels.
  bool backward = true;
  /// With Checks::kOn, construction is collective: the ranks compare their arguments, and all throw
  /// the same error. With kOff, it is local work without messages, except at the first use of a
  /// communicator and of a set of copies of a replicated array.
  ScheduleOptions schedule = {};
};

/// A remap that is planned once and executed many times, for any arrays with these layouts.
/// Execution works as in Schedule. Every element of the destination's section becomes the element
/// of the source's section at the same position. The grids may consist of different processes of
/// the communicator. Ranks in neither grid take part with nothing to do.
///
/// Source and destination may be one array if the sections do not overlap. A destination takes the
/// nearest copy of a replicated source: its own, one in its system, or any. A replicated
/// destination receives one copy in each system, which a tree broadcasts there. So data enters a
/// system once. Elements that are already at their place are copied locally, without messages.
class RemapPlan {
 public:
  /// Throws Error(kShape) if sections have different counts or whole arrays have different extents.
  /// Throws Error(kKey) if a section is outside of its axis, or if only one side has a label that
  /// no section excludes. Throws Error(kArgument) if the permutation is invalid, the number of
  /// strides is wrong, or there are ranks outside of the communicator.
  RemapPlan(const Communicator& communicator, const RemapSide& destination, const RemapSide& source,
            const Element& element, const RemapOptions& options = {});
  RemapPlan(MPI_Comm comm, const RemapSide& destination, const RemapSide& source,
            const Element& element, const RemapOptions& options = {});
  /// Plans a reshape: whole arrays of any shapes with the same number of elements, in flat
  /// row-major order (DIS-04). Throws Error(kShape) if the numbers of elements differ. Throws
  /// Error(kUnsupported) for unstructured axes, sections and permutations.
  static RemapPlan reshape(const Communicator& communicator, const RemapSide& destination,
                           const RemapSide& source, const Element& element,
                           const RemapOptions& options = {});
  ~RemapPlan();
  RemapPlan(RemapPlan&&) noexcept;
  RemapPlan& operator=(RemapPlan&&) noexcept;

  /// Copies the source to the destination. With an operator, arriving elements are combined with
  /// the destination elements. Throws the errors of Schedule::execute().
  void execute(const void* source, void* destination, const Combiner& combine = {});
  /// Copies the destination to the source. Also throws Error(kUnsupported) if the plan was made
  /// without `backward`.
  void execute_backward(void* source, const void* destination, const Combiner& combine = {});
  /// Start an execution, which test() or wait() completes. If copies of replicated arrays are
  /// written, all ranks must start concurrent remaps in the same order, like everything that uses
  /// collectives (see ReduceSchedule). A plan has at most one execution in progress, in either
  /// direction.
  void start(const void* source, void* destination, const Combiner& combine = {});
  void start_backward(void* source, const void* destination, const Combiner& combine = {});
  bool test();
  void wait();
  /// Copies several arrays with these layouts in one round.
  void execute(std::span<const void* const> sources, std::span<void* const> destinations,
               const Combiner& combine = {});

  /// Returns the statistics of this rank for a forward execution of one array; see total().
  [[nodiscard]] const Statistics& statistics() const;

 private:
  struct State;
  explicit RemapPlan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Says which destination elements need a source.
enum class Coverage {
  kAll,   ///< all: a label that only one side has is an error
  kSome,  ///< elements without a source do not change
};

/// Returns the work of `rank` in a remap: the list of its messages (DIS-04, T10). Local, for any
/// rank. Throws the errors of RemapPlan.
[[nodiscard]] MessageList plan_remap(int rank, const Systems& systems, const RemapSide& destination,
                                     const RemapSide& source, const RemapOptions& options = {},
                                     Coverage coverage = Coverage::kAll);
/// Returns the same for RemapPlan::reshape().
[[nodiscard]] MessageList plan_reshape(int rank, const Systems& systems,
                                       const RemapSide& destination, const RemapSide& source);

/// One-shot forms: make a plan, execute it and discard it.
void remap(const Communicator& communicator, const RemapSide& destination, void* destination_data,
           const RemapSide& source, const void* source_data, const Element& element,
           RemapOptions options = {});
void reshape(const Communicator& communicator, const RemapSide& destination, void* destination_data,
             const RemapSide& source, const void* source_data, const Element& element,
             RemapOptions options = {});

}  // namespace impishim::darray
