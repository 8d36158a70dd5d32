#include "shim/collective_call.hpp"

#include <fmt/format.h>

#include "shim/datatype.hpp"
#include "shim/errors.hpp"
#include "shim/handle_bits.hpp"
#include "shim/vendor.hpp"
#include "shim/wait.hpp"

namespace impishim::shim {
namespace {

collectives::Shape shape_of(const Communicator& communicator) {
  return {communicator.rank, communicator.masters, communicator.master_of, communicator.local_ranks,
          communicator.spanning_ranks};
}

}  // namespace

CollectiveCall::CollectiveCall(Job& job, Communicator& communicator, std::string_view function)
    : job_(job),
      communicator_(communicator),
      function_(function),
      shape_(shape_of(communicator)),
      limits_{job.map.values().coll_maxlinear, job.map.values().coll_xsize},
      local_(communicator.handle, shape_.local_rank(shape_.rank), static_cast<int>(communicator.spanning_ranks.size())),
      leaders_(*job.engine, communicator),
      team_{shape_, limits_, local_, leaders_} {}

void CollectiveCall::fail(int error_class, std::string_view text) {
  if (ok()) code_ = raise(communicator_.handle, error_class, function_, text);
}

void CollectiveCall::check_root(int root) {
  if (communicator_.valid_rank(root)) return;
  fail(MPI_ERR_ROOT, fmt::format("root is {}: not a rank of a communicator of {} processes", root, communicator_.size()));
}

void CollectiveCall::check_op(MPI_Op op) {
  if (op == MPI_OP_NULL) fail(MPI_ERR_OP, "the operation is MPI_OP_NULL");
}

void CollectiveCall::check_not_in_place(const void* buffer) {
  if (buffer == MPI_IN_PLACE) fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed for this argument of this process");
}

void CollectiveCall::check_not_aliased(const void* send, const void* receive, std::int64_t count) {
  if (send == receive && count > 0 && send != MPI_BOTTOM) {
    fail(MPI_ERR_BUFFER, "send and receive buffer are the same: pass MPI_IN_PLACE as send buffer");
  }
}

collectives::Data CollectiveCall::data(const void* address, std::int64_t count, MPI_Datatype datatype,
                                       collectives::ElementType& type) {
  if (count < 0) {
    fail(MPI_ERR_COUNT, fmt::format("the count is {}", count));
    return {};
  }
  auto layout = layout_of(datatype);
  if (!layout) {
    fail(MPI_ERR_TYPE, layout.error().text);
    return {};
  }
  MPI_Aint true_lower_bound = 0;
  MPI_Aint true_extent = 0;
  vendor::Type_get_true_extent(datatype, &true_lower_bound, &true_extent);
  type = {layout->layout, std::move(layout->keep_alive), true_lower_bound, true_extent, to_bits(datatype)};
  // A type with absolute addresses starts at MPI_BOTTOM, which is null; one that starts at its origin cannot lie there.
  if (address == nullptr && count > 0 && type.layout->basic_count() > 0 && true_lower_bound == 0) {
    fail(MPI_ERR_BUFFER, "the buffer is a null pointer");
    return {};
  }
  // The standard takes send buffers as const; a collective writes only to receive buffers.
  auto* base = static_cast<std::byte*>(const_cast<void*>(address));
  return {base, static_cast<std::uint64_t>(count), &type};
}

int CollectiveCall::run(collectives::Task task, const int* operation_code) {
  while (!task.step()) {
    collectives::Pending& awaited = *task.awaited();
    drive_until(job_, awaited.in_vendor(), [&awaited] { return awaited.done(); });
  }
  if (local_.first_code() != MPI_SUCCESS) return local_.first_code();
  if (operation_code != nullptr && *operation_code != MPI_SUCCESS) return *operation_code;
  if (const auto outcome = task.outcome(); !outcome) return raise(communicator_.handle, function_, outcome.error());
  return MPI_SUCCESS;
}

}  // namespace impishim::shim
