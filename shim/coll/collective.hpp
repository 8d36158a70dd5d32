// SPDX-License-Identifier: Apache-2.0
/// One collective operation on a spanning communicator: its arguments, checked and described for
/// collectives/, and its task.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/collectives.hpp"
#include "shim/coll/leader_group.hpp"
#include "shim/coll/native_group.hpp"
#include "shim/datatype/reduction.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

/// The job's limits, for the clients that have members in this description.
[[nodiscard]] collectives::Limits limits_of(const Job& job, const Communicator& communicator);

/// A description's members as collectives/ sees them.
class CommunicatorTeam {
 public:
  CommunicatorTeam(Job& job, const Communicator& communicator);
  CommunicatorTeam(const CommunicatorTeam&) = delete;
  CommunicatorTeam& operator=(const CommunicatorTeam&) = delete;
  [[nodiscard]] const collectives::Team& team() const { return team_; }
  /// Moves local phases on; see NativeGroup.
  void progress() { local_.progress(); }
  /// The first error code that the vendor returned, raised through no handler, or MPI_SUCCESS.
  [[nodiscard]] int first_code() const {
    return local_.first_code() != MPI_SUCCESS ? local_.first_code() : leaders_.first_code();
  }

 private:
  collectives::Shape shape_;
  collectives::Limits limits_;
  NativeGroup local_;
  EngineLeaders leaders_;
  collectives::Team team_;
};

/// An array of counts or displacements, of whichever integer type the function has.
class Numbers {
 public:
  template <class Integer>
  Numbers(const Integer* numbers)  // NOLINT(google-explicit-constructor): stands for the pointer
      : numbers_(numbers), read_([](const void* array, std::size_t i) {
          return static_cast<std::int64_t>(static_cast<const Integer*>(array)[i]);
        }) {}
  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return read_(numbers_, i); }

 private:
  const void* numbers_;
  std::int64_t (*read_)(const void*, std::size_t);
};

/// A blocking, nonblocking or persistent operation. What the user gave is checked by the functions
/// of collective_*.cpp: an argument that fails is raised through the communicator's error handler;
/// the code is then the call's result, and the later checks do nothing. Application threads only;
/// one at a time.
class Collective {
 public:
  /// `keeps_handles`: the user may free datatypes and operations before the operation is over.
  Collective(Job& job, Communicator& communicator, const char* function, bool keeps_handles);
  ~Collective();
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  // Who takes part.
  [[nodiscard]] const Communicator& communicator() const { return communicator_; }
  [[nodiscard]] std::int32_t rank() const { return communicator_.rank; }
  /// Of an intracommunicator.
  [[nodiscard]] const collectives::Team& team() const { return own_->team(); }
  /// Of an intercommunicator, or null.
  [[nodiscard]] const collectives::InterTeam* inter() const { return inter_ ? &*inter_ : nullptr; }
  /// Members that blocks are exchanged with: all, or the other group.
  [[nodiscard]] std::int32_t peers() const { return communicator_.size(); }

  // Checks.
  /// MPI_ERR_ROOT. On an intercommunicator MPI_ROOT and MPI_PROC_NULL are taken, too.
  void check_root(int root);
  /// MPI_ERR_COMM: an operation that intercommunicators do not have.
  void check_intra();
  /// MPI_ERR_TOPOLOGY.
  void check_topology();
  /// MPI_ERR_BUFFER: MPI_IN_PLACE where it is not allowed, or one buffer given twice.
  void check_not_in_place(const void* buffer);
  void check_not_aliased(const void* send, const void* receive, std::int64_t count);
  /// MPI_ERR_BUFFER: a block to send that lies where one is received, which MPI_IN_PLACE is for.
  void check_not_overlapping(const collectives::ConstData& send,
                             const collectives::ConstData& receive);
  /// `root` of an intercommunicator in the words of collectives/.
  [[nodiscard]] static std::int32_t inter_root(int root);

  // Descriptions, which live as long as this object.
  /// MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_BUFFER (null with a count). `address` is where the block
  /// lies, displacement included.
  [[nodiscard]] collectives::Data data(const void* address, std::int64_t count,
                                       MPI_Datatype datatype);
  /// One block of `count` elements for each peer, one behind the other.
  [[nodiscard]] std::span<const collectives::Data> blocks(const void* address, std::int64_t count,
                                                          MPI_Datatype datatype);
  /// Displacements are in extents of the datatype.
  [[nodiscard]] std::span<const collectives::Data> blocks(const void* address,
                                                          const Numbers& counts,
                                                          const Numbers& displacements,
                                                          MPI_Datatype datatype);
  /// Displacements are in bytes.
  [[nodiscard]] std::span<const collectives::Data> blocks(const void* address,
                                                          const Numbers& counts,
                                                          const Numbers& displacements,
                                                          const MPI_Datatype* datatypes);
  /// The same for any number of blocks instead of one for each peer.
  [[nodiscard]] std::span<const collectives::Data> blocks(std::size_t number, const void* address,
                                                          const Numbers& counts,
                                                          const Numbers& displacements,
                                                          MPI_Datatype datatype);
  [[nodiscard]] std::span<const collectives::Data> blocks(std::size_t number, const void* address,
                                                          const Numbers& counts,
                                                          const Numbers& displacements,
                                                          const MPI_Datatype* datatypes);
  [[nodiscard]] std::span<const collectives::ConstData> as_const(
      std::span<const collectives::Data> blocks);
  /// Memory of this object's for data like `data`, contents undefined: for what the vendor wants
  /// and the user need not give.
  [[nodiscard]] collectives::Data room(const collectives::Data& data);
  /// MPI_ERR_OP; null then.
  [[nodiscard]] const collectives::Reduction* reduction(MPI_Op op, MPI_Datatype datatype);
  [[nodiscard]] std::span<const std::uint64_t> numbers(std::size_t number, const Numbers& counts);
  /// Keeps any array for the task.
  template <class Element>
  [[nodiscard]] std::span<const Element> keep(std::vector<Element> elements) {
    auto kept = std::make_shared<const std::vector<Element>>(std::move(elements));
    kept_.push_back(kept);
    return *kept;
  }

  void fail(int error_class, std::string_view text);
  /// A code of the vendor's, raised already, met on the way.
  void note_code(int code) {
    if (ok()) code_ = code;
  }
  [[nodiscard]] bool ok() const { return code_ == MPI_SUCCESS; }
  [[nodiscard]] int code() const { return code_; }

  // Its way to the end: see collective_queue.hpp.
  /// Goes on as far as possible. True: it is over.
  bool step();
  void set_task(collectives::Task task) { task_ = std::move(task); }
  /// It waits for something in the vendor's MPI, which has no descriptor to sleep on.
  [[nodiscard]] bool waits_in_vendor() const {
    return task_->awaited() == nullptr || task_->awaited()->in_vendor();
  }
  /// What it awaits is there, or is the vendor's to tell. Of the former any thread may ask.
  [[nodiscard]] bool may_go_on() const {
    collectives::Pending* awaited = task_->awaited();
    return awaited != nullptr && (awaited->in_vendor() || awaited->done());
  }
  /// What went wrong, if anything.
  struct Ending {
    int code = MPI_SUCCESS;
    bool raised = false;  ///< through an error handler: the vendor's or the operation's
    std::string text;     ///< of a code made here
  };
  [[nodiscard]] Ending ending() const;
  [[nodiscard]] const char* function() const { return function_; }

 private:
  const collectives::ElementType* describe_type(MPI_Datatype datatype);

  Communicator& communicator_;
  const char* function_;
  bool keeps_handles_;
  int code_ = MPI_SUCCESS;
  std::optional<CommunicatorTeam> own_;
  std::optional<CommunicatorTeam> local_;
  std::optional<CommunicatorTeam> both_;
  std::optional<collectives::InterTeam> inter_;
  std::list<collectives::ElementType> types_;  ///< not a deque, which takes memory when it is empty
  std::list<OpReduction> reductions_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::vector<MPI_Datatype> held_types_;
  std::vector<MPI_Op> held_ops_;
  std::optional<collectives::Task> task_;
};

/// Describes the arguments of one call and makes its task; called again at each start of a
/// persistent operation.
using Prepare = std::function<std::optional<collectives::Task>(Collective& call)>;

}  // namespace impishim::shim
