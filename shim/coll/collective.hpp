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
#include "shim/coll/engine_transport.hpp"
#include "shim/coll/vendor_local_group.hpp"
#include "shim/datatype/reduction.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

/// Returns the job's limits, adapted to the clients that have members in `communicator`.
[[nodiscard]] collectives::Limits limits_of(const Job& job, const Communicator& communicator);

/// The members of a communicator in the form that collectives/ expects.
class CommunicatorTeam {
 public:
  CommunicatorTeam(Job& job, const Communicator& communicator);
  CommunicatorTeam(const CommunicatorTeam&) = delete;
  CommunicatorTeam& operator=(const CommunicatorTeam&) = delete;
  [[nodiscard]] const collectives::Team& team() const { return team_; }
  /// Progresses local phases; see VendorLocalGroup.
  void progress() { local_.progress(); }
  /// Cancels all messages that can be cancelled.
  void give_up() {
    leaders_.give_up();
    local_.give_up();
  }
  [[nodiscard]] bool is_quiet() { return leaders_.is_quiet() && local_.is_quiet(); }
  /// Returns the first error code that the vendor returned, or MPI_SUCCESS. It has not been raised
  /// through an error handler.
  [[nodiscard]] int first_code() const {
    return local_.first_code() != MPI_SUCCESS ? local_.first_code() : leaders_.first_code();
  }

 private:
  collectives::Membership membership_;
  collectives::Limits limits_;
  VendorLocalGroup local_;
  EngineTransport leaders_;
  collectives::Team team_;
};

/// An array of counts or displacements of any integer type.
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

/// The operations whose data has the same length at all members. Systems exchange the values.
enum class Operation : std::uint32_t { kBcast = 1, kReduce, kAllreduce, kScan, kExscan };

/// A blocking, nonblocking or persistent operation. The functions of collective_*.cpp check the
/// user's arguments. A wrong argument is raised through the communicator's error handler. Its error
/// code becomes the result of the call, and later checks have no effect. Application threads only;
/// one at a time.
class Collective {
 public:
  /// Constructs an operation. If `keeps_handles` is true, the user may free datatypes and
  /// operations before the operation is complete.
  Collective(Job& job, Communicator& communicator, const char* function, bool keeps_handles);
  ~Collective();
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  // Participants.
  [[nodiscard]] const Communicator& communicator() const { return communicator_; }
  [[nodiscard]] std::int32_t rank() const { return communicator_.rank; }
  /// Returns the team of an intracommunicator.
  [[nodiscard]] const collectives::Team& team() const { return own_->team(); }
  /// Returns the team of an intercommunicator, or null.
  [[nodiscard]] const collectives::InterTeam* inter() const { return inter_ ? &*inter_ : nullptr; }
  /// Returns the number of members to exchange blocks with: all members, or the remote group.
  [[nodiscard]] std::int32_t peers() const { return communicator_.size(); }

  // Checks. Each raises the error class that its comment names.
  /// Raises MPI_ERR_ROOT if `root` is invalid. On an intercommunicator, MPI_ROOT and MPI_PROC_NULL
  /// are valid, too.
  void check_root(int root);
  /// Raises MPI_ERR_COMM on an intercommunicator, for operations that it does not support.
  void check_intra();
  /// Raises MPI_ERR_TOPOLOGY if the communicator has no topology.
  void check_topology();
  /// These two raise MPI_ERR_BUFFER if MPI_IN_PLACE is not allowed, or if one buffer was passed
  /// twice.
  void check_not_in_place(const void* buffer);
  void check_not_aliased(const void* send, const void* receive, std::int64_t count);
  /// Raises MPI_ERR_BUFFER if a block to send starts at the address of a block to receive. The user
  /// must pass MPI_IN_PLACE instead.
  void check_not_overlapping(const collectives::ConstData& send,
                             const collectives::ConstData& receive);
  /// Converts `root` of an intercommunicator to the values that collectives/ uses.
  [[nodiscard]] static std::int32_t inter_root(int root);

  // Descriptions. They live as long as this object.
  /// Describes one block. Raises MPI_ERR_COUNT, MPI_ERR_TYPE or MPI_ERR_BUFFER (null pointer with a
  /// nonzero count). `address` is the address of the block, displacement included.
  [[nodiscard]] collectives::Data data(const void* address, std::int64_t count,
                                       MPI_Datatype datatype);
  /// Describes one block of `count` elements for each peer. The blocks are consecutive.
  [[nodiscard]] std::span<const collectives::Data> blocks(const void* address, std::int64_t count,
                                                          MPI_Datatype datatype);
  /// Describes one block for each peer. Displacements are in extents of the datatype.
  [[nodiscard]] std::span<const collectives::Data> blocks(const void* address,
                                                          const Numbers& counts,
                                                          const Numbers& displacements,
                                                          MPI_Datatype datatype);
  /// Describes one block for each peer. Displacements are in bytes.
  [[nodiscard]] std::span<const collectives::Data> blocks(const void* address,
                                                          const Numbers& counts,
                                                          const Numbers& displacements,
                                                          const MPI_Datatype* datatypes);
  /// These two do the same for `number` blocks instead of one block for each peer.
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
  /// Returns memory for data like `data`, owned by this object, with undefined contents. It
  /// replaces a buffer that the vendor needs but the user need not pass.
  [[nodiscard]] collectives::Data room(const collectives::Data& data);
  /// Describes an operation. Raises MPI_ERR_OP and returns null if it is invalid or does not fit
  /// the datatype.
  [[nodiscard]] const collectives::Reduction* reduction(MPI_Op op, MPI_Datatype datatype);
  [[nodiscard]] std::span<const std::uint64_t> numbers(std::size_t number, const Numbers& counts);
  /// Keeps `elements` as long as this object lives, for use by the task.
  template <class Element>
  [[nodiscard]] std::span<const Element> keep(std::vector<Element> elements) {
    auto kept = std::make_shared<const std::vector<Element>>(std::move(elements));
    kept_.push_back(kept);
    return *kept;
  }

  void fail(int error_class, std::string_view text);
  /// Notes the arguments that must be the same at all members: the operation, the root or -1, and
  /// the data's number of elements. For intracommunicators.
  void sign(Operation operation, std::int32_t root, const collectives::ConstData& data);
  /// Returns the number that signature_of() makes of them, or 0.
  [[nodiscard]] std::uint64_t signature() const { return signature_; }
  /// Records an error code of the vendor that has been raised already.
  void note_code(int code) {
    if (ok()) code_ = code;
  }
  [[nodiscard]] bool ok() const { return code_ == MPI_SUCCESS; }
  [[nodiscard]] int code() const { return code_; }

  // Progress; see collective_queue.hpp.
  /// Proceeds as far as possible. Returns true if the operation is complete.
  bool step();
  void set_task(collectives::Task task) { task_ = std::move(task); }
  /// Returns true if the operation waits for an event in the vendor's MPI, which has no descriptor
  /// to sleep on.
  [[nodiscard]] bool waits_in_vendor() const {
    return task_->awaited() == nullptr || task_->awaited()->in_vendor();
  }
  /// Returns true if the awaited event has occurred, or if only the vendor can tell. Any thread may
  /// make the first check.
  [[nodiscard]] bool may_go_on() const {
    collectives::Pending* awaited = task_->awaited();
    return awaited != nullptr && (awaited->in_vendor() || awaited->done());
  }
  /// The error of the operation, if any.
  struct Ending {
    int code = MPI_SUCCESS;
    bool raised = false;  ///< through an error handler: the vendor's or the operation's
    std::string text;     ///< text of a code made here; empty otherwise
  };
  [[nodiscard]] Ending ending() const;
  /// Ends the operation in an error that another member has found. Cancels its messages. The object
  /// must live until the job ends: the engine and the vendor may still use it.
  void give_up(int error_class, std::string text);
  /// Returns true if no message of a given-up operation is in progress any more.
  [[nodiscard]] bool is_quiet();
  /// Returns the messages to the remote group of an intercommunicator.
  [[nodiscard]] EngineTransport& leaders_across();
  [[nodiscard]] bool given_up() const { return given_up_.has_value(); }
  /// Returns how often the task has begun to wait.
  [[nodiscard]] std::uint64_t waits() const { return task_->waits(); }
  /// Returns the text of the first wrong argument.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] const char* function() const { return function_; }

 private:
  const collectives::ElementType* describe_type(MPI_Datatype datatype);
  void release_handles();

  Job& job_;
  Communicator& communicator_;
  const char* function_;
  bool keeps_handles_;
  int code_ = MPI_SUCCESS;
  std::string reason_;
  std::uint64_t signature_ = 0;
  std::optional<Ending> given_up_;
  std::optional<CommunicatorTeam> own_;
  std::optional<CommunicatorTeam> local_;
  std::optional<CommunicatorTeam> both_;
  std::optional<collectives::InterTeam> inter_;
  std::optional<EngineTransport> across_;
  /// Not a deque, which allocates memory even when empty.
  std::list<collectives::ElementType> types_;
  std::list<OpReduction> reductions_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::vector<MPI_Datatype> held_types_;
  std::vector<MPI_Op> held_ops_;
  std::optional<collectives::Task> task_;
};

/// Describes the arguments of one call and returns its task. It is called again at each start of a
/// persistent operation.
using Prepare = std::function<std::optional<collectives::Task>(Collective& call)>;

}  // namespace impishim::shim
