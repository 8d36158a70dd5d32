// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_idup, MPI_Comm_idup_with_info: MPI-3.1 6.4.2.
//
// Any number of duplications may be outstanding. Each member may start those of different
// communicators in its own order. IMPI's rule for context ids, in which the greatest proposal wins,
// could then give one id to two of them. One member therefore assigns an id that no other process
// assigns.
//
// For the same reason no code here may block in the vendor's MPI: two members could wait there for
// each other in duplications of different communicators. The vendor's duplication starts when all
// members have made the call, so it never waits for a member that has not. It does not start while
// a blocking function of the vendor's is entered (creation_order.hpp).
//
// In MPICH 4.0.2, a nonblocking duplication of a process's own communicator fails while other
// threads create communicators: wrong context ids, a crash, or no completion. Such a duplication
// waits for no other process, so the blocking form replaces it. If the process has nonblocking
// duplications that all members have started, the blocking form waits until they are complete, but
// makes no progress. Another thread therefore does.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "shim/coll/collective.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/comm/vendor_poller.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {
namespace {

/// A nonblocking call of the vendor's.
class VendorCall final : public collectives::Pending {
 public:
  /// Starts a duplication.
  template <class Call>
  void start(Call&& call) {
    code_ = call(&request_);
  }
  /// Carries out a duplication.
  template <class Call>
  void run(Call&& call) {
    code_ = call();
  }
  bool done() override {
    if (code_ != MPI_SUCCESS || request_ == MPI_REQUEST_NULL) return true;
    int complete = 0;
    code_ = vendor::Test(&request_, &complete, MPI_STATUS_IGNORE);
    return complete != 0 || code_ != MPI_SUCCESS;
  }
  Result<void> outcome() override { return {}; }
  [[nodiscard]] bool in_vendor() const override { return true; }
  [[nodiscard]] int code() const { return code_; }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
  int code_ = MPI_SUCCESS;
};

#ifdef OPEN_MPI
constexpr bool kIdupAloneFailsBesideThreads = false;
#else
constexpr bool kIdupAloneFailsBesideThreads = true;
#endif

/// Returns true if the vendor's blocking form must duplicate a communicator (see above).
bool needs_blocking_form(const Job& job, MPI_Comm comm) {
  return kIdupAloneFailsBesideThreads && job.thread_level == MPI_THREAD_MULTIPLE &&
         has_one_member(comm);
}

/// Duplicates a communicator by the vendor's blocking form. Returns a code that has been raised on
/// it.
template <class VendorDup>
int dup_alone(const Job& job, MPI_Comm comm, VendorDup&& vendor_dup) {
  std::optional<VendorPoller> poller;
  const int code = start_poller(job, comm, poller);
  return code == MPI_SUCCESS ? vendor_dup() : code;
}

/// Forbids changes of the attributes until they have been copied, since the copies must have the
/// values at the time of the call.
class AttributesHeld {
 public:
  explicit AttributesHeld(Communicator& communicator) : communicator_(&communicator) {
    ++communicator.duplications;
  }
  ~AttributesHeld() { release(); }
  AttributesHeld(const AttributesHeld&) = delete;
  AttributesHeld& operator=(const AttributesHeld&) = delete;
  void release() {
    if (Communicator* held = std::exchange(communicator_, nullptr)) --held->duplications;
  }

 private:
  Communicator* communicator_;
};

/// The event that the vendor's duplication may start.
class Turn final : public collectives::Pending {
 public:
  explicit Turn(Job& job) : order_(job.creation_order) {}
  ~Turn() { end(); }
  bool done() override {
    if (!number_) number_ = order_.begin_duplication();
    return number_.has_value();
  }
  Result<void> outcome() override { return {}; }
  [[nodiscard]] bool in_vendor() const override { return true; }
  void end() {
    if (number_) order_.end_duplication(*number_);
    number_.reset();
  }

 private:
  CreationOrder& order_;
  std::optional<std::uint64_t> number_;
};

/// Keeps the parent's handle if the user frees it meanwhile.
class HandleKept {
 public:
  explicit HandleKept(Communicator& communicator) : communicator_(&communicator) {
    ++communicator.handle_uses;
  }
  ~HandleKept() { release(); }
  HandleKept(const HandleKept&) = delete;
  HandleKept& operator=(const HandleKept&) = delete;
  void release() {
    if (Communicator* kept = std::exchange(communicator_, nullptr)) --kept->handle_uses;
  }

 private:
  Communicator* communicator_;
};

/// The data that a duplication needs until it is complete.
struct Duplication {
  Duplication(Job& job_, Communicator& parent_, MPI_Comm* newcomm_,
              std::function<int(MPI_Request*)> duplicate_handle_,
              std::function<int()> duplicate_handle_at_once_)
      : job(job_),
        parent(parent_),
        newcomm(newcomm_),
        duplicate_handle(std::move(duplicate_handle_)),
        duplicate_handle_at_once(std::move(duplicate_handle_at_once_)),
        attributes(parent_),
        handle(parent_),
        turn(job_) {}

  Job& job;
  Communicator& parent;
  MPI_Comm* newcomm;
  std::function<int(MPI_Request*)> duplicate_handle;  ///< calls the vendor's function
  std::function<int()> duplicate_handle_at_once;      ///< calls its blocking form
  AttributesHeld attributes;
  HandleKept handle;
  Turn turn;
  wire::ContextId proposal = 0;  ///< nonzero on the member that assigns the id
  wire::ContextId context = 0;
  HiddenHandles hidden = {};
  VendorCall vendor_call = {};
};

/// Duplicates one handle.
template <class VendorDup, class VendorIdup>
void start_duplicate(VendorCall& vendor_call, const Job& job, MPI_Comm from, VendorDup&& vendor_dup,
                     VendorIdup&& vendor_idup) {
  const DuplicationStart start;
  if (needs_blocking_form(job, from)) {
    vendor_call.run([&] { return dup_alone(job, from, vendor_dup); });
  } else {
    vendor_call.start(vendor_idup);
  }
}

/// Duplicates all handles one after the other. The first code that is not MPI_SUCCESS ends it.
collectives::Task duplicate_handles(Collective& call, Duplication& duplication) {
  VendorCall& vendor_call = duplication.vendor_call;
  const Job& job = duplication.job;
  start_duplicate(vendor_call, job, duplication.parent.handle, duplication.duplicate_handle_at_once,
                  duplication.duplicate_handle);
  duplication.attributes.release();
  co_await vendor_call;
  call.note_code(vendor_call.code());
  for (const auto& [from, to] : hidden_handles(duplication.parent)) {
    MPI_Comm* const made = &(duplication.hidden.*to);
    start_duplicate(
        vendor_call, job, from, [parent = from, made] { return vendor::Comm_dup(parent, made); },
        [parent = from, made](MPI_Request* request) {
          return vendor::Comm_idup(parent, made, request);
        });
    co_await vendor_call;
    if (call.ok())
      call.note_code(raise_hidden_error(duplication.parent.error_handle(), vendor_call.code()));
  }
}

/// The result of the reduction is available when all members have made the call.
collectives::Task duplicate(Collective& call, const collectives::Team& team,
                            collectives::Data proposal, collectives::Data id,
                            const collectives::Reduction& greatest,
                            std::shared_ptr<Duplication> duplication) {
  co_await collectives::allreduce(team, proposal, id, greatest);
  co_await duplication->turn;
  co_await duplicate_handles(call, *duplication);
  duplication->turn.end();
  if (call.ok()) {
    call.note_code(describe_duplicate(duplication->job, duplication->parent, *duplication->newcomm,
                                      duplication->hidden, duplication->context));
  } else {
    duplication->hidden.free();
  }
  duplication->handle.release();
}

/// Duplicates a native communicator.
template <class VendorDup, class VendorIdup>
int idup_native(Job& job, MPI_Comm comm, MPI_Request* request, VendorDup&& vendor_dup,
                VendorIdup&& vendor_idup) {
  if (!needs_blocking_form(job, comm)) return vendor_idup(request);
  complete_duplications(job);
  const int code = dup_alone(job, comm, vendor_dup);
  // Returns a complete request.
  return code == MPI_SUCCESS ? vendor::Irecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, request)
                             : code;
}

template <class VendorDup, class VendorIdup>
int idup(Job& job, MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request, const char* function,
         VendorDup&& vendor_dup, VendorIdup&& vendor_idup) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) return idup_native(job, comm, request, vendor_dup, vendor_idup);
  return start_collective(
      job, *parent, function, request, [&](Collective& call) -> std::optional<collectives::Task> {
        auto duplication =
            std::make_shared<Duplication>(job, *parent, newcomm, vendor_idup, vendor_dup);
        const collectives::Team& team = call.inter() != nullptr ? call.inter()->both : call.team();
        if (team.membership.rank == 0) duplication->proposal = give_context(job);
        const collectives::Data proposal = call.data(&duplication->proposal, 1, MPI_UINT64_T);
        const collectives::Data id = call.data(&duplication->context, 1, MPI_UINT64_T);
        const collectives::Reduction* greatest = call.reduction(MPI_MAX, MPI_UINT64_T);
        return duplicate(call, team, proposal, id, *greatest, std::move(duplication));
      });
}

/// A copy of an info object. The user may change and free the original as soon as the call has
/// returned (MPI-3.1 9).
class InfoCopy {
 public:
  explicit InfoCopy(MPI_Info info)
      : code_(info == MPI_INFO_NULL ? MPI_SUCCESS : vendor::Info_dup(info, &copy_)) {}
  ~InfoCopy() {
    if (copy_ != MPI_INFO_NULL) vendor::Info_free(&copy_);
  }
  InfoCopy(const InfoCopy&) = delete;
  InfoCopy& operator=(const InfoCopy&) = delete;
  [[nodiscard]] MPI_Info handle() const { return copy_; }
  /// Returns the vendor's error code from the copy.
  [[nodiscard]] int code() const { return code_; }

 private:
  MPI_Info copy_ = MPI_INFO_NULL;
  int code_;
};

}  // namespace

namespace calls {

int Comm_idup(Job& job, MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  return idup(
      job, comm, newcomm, request, "MPI_Comm_idup", [=] { return vendor::Comm_dup(comm, newcomm); },
      [=](MPI_Request* of_vendor) { return vendor::Comm_idup(comm, newcomm, of_vendor); });
}

#ifdef IMPISHIM_HAVE_MPI_Comm_idup_with_info
int Comm_idup_with_info(Job& job, MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm,
                        MPI_Request* request) {
  const auto hints = std::make_shared<const InfoCopy>(info);
  if (hints->code() != MPI_SUCCESS) return hints->code();
  return idup(
      job, comm, newcomm, request, "MPI_Comm_idup_with_info",
      [=] { return vendor::Comm_dup_with_info(comm, hints->handle(), newcomm); },
      [=](MPI_Request* of_vendor) {
        return vendor::Comm_idup_with_info(comm, hints->handle(), newcomm, of_vendor);
      });
}
#endif

}  // namespace calls
}  // namespace impishim::shim
