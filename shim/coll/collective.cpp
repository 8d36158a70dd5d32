// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/collective.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/select.hpp"
#include "shim/datatype/datatype.hpp"
#include "shim/datatype/datatype_predefined.hpp"
#include "shim/datatype/element_type.hpp"
#include "shim/datatype/reduction.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/handle_bits.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/handle_uses.hpp"
#include "shim/job/job.hpp"
#include "shim/values/failure_notice.hpp"
#include "shim/vendor.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

using collectives::ConstData;
using collectives::Data;
using collectives::ElementType;

namespace {

collectives::Membership membership_of(const Communicator& communicator) {
  return {communicator.rank, communicator.masters, communicator.master_of, communicator.local_ranks,
          communicator.spanning_ranks};
}

std::byte* at(const void* address, std::int64_t bytes) {
  // MPI declares send buffers as const; a collective writes only to receive buffers. MPI_BOTTOM may
  // be null.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(address) + bytes);
}

}  // namespace

collectives::Limits limits_of(const Job& job, const Communicator& communicator) {
  collectives::Limits limits = job.limits;
  const auto client_of = [&](std::int32_t master) -> const wire::Client& {
    const wire::WorldRank proc = communicator.world_rank(master);
    const std::int32_t client = job.map.proc(proc).client;
    return job.map.client(client);
  };
  bool foreign = false;
  for (const std::int32_t master : communicator.masters) {
    const wire::Client& client = client_of(master);
    foreign = foreign || !client.impishim;
    limits.same_representation =
        limits.same_representation &&
        client.representation == client_of(communicator.masters.front()).representation;
  }
  limits.impi_only = limits.impi_only || foreign;
  limits.as_lam = limits.as_lam && foreign;
  // The data representation of a foreign implementation is unknown. If the server was a foreign
  // one, even this system's own representation is unknown.
  limits.same_representation = limits.same_representation && !foreign;
  limits.lengths_may_differ = !limits.impi_only;
  return limits;
}

CommunicatorTeam::CommunicatorTeam(Job& job, const Communicator& communicator)
    : membership_(membership_of(communicator)),
      limits_(limits_of(job, communicator)),
      local_(communicator.companion, membership_.local_rank(membership_.rank),
             static_cast<int>(communicator.spanning_ranks.size())),
      leaders_(*job.engine, communicator, limits_.as_lam),
      team_{membership_, limits_, local_, leaders_} {}

Collective::Collective(Job& job, Communicator& communicator, const char* function,
                       bool keeps_handles)
    : job_(job), communicator_(communicator), function_(function), keeps_handles_(keeps_handles) {
  if (communicator.inter == nullptr) {
    own_.emplace(job, communicator);
    return;
  }
  const Intergroups& groups = *communicator.inter;
  local_.emplace(job, *groups.local);
  both_.emplace(job, *groups.both);
  inter_.emplace(collectives::InterTeam{local_->team(), both_->team(), groups.first_local,
                                        groups.first_remote});
}

Collective::~Collective() { release_handles(); }

void Collective::release_handles() {
  for (const MPI_Datatype type : held_types_) job_.datatype_uses.release(type, vendor::Type_free);
  for (const MPI_Op op : held_ops_) job_.op_uses.release(op, vendor::Op_free);
  held_types_.clear();
  held_ops_.clear();
}

void Collective::fail(int error_class, std::string_view text) {
  if (!ok()) return;
  reason_ = text;
  code_ = raise(communicator_.error_handle(), error_class, function_, text);
}

void Collective::sign(Operation operation, std::int32_t root, const ConstData& data) {
  if (inter() != nullptr || !ok() || data.type == nullptr) return;
  const MPI_Datatype type = datatype_of(*data.type);
  // Bytes stand for data of any type.
  if (type == MPI_BYTE || type == MPI_PACKED) return;
  signature_ = signature_of(static_cast<std::uint32_t>(operation), root,
                            data.count * data.type->layout->basic_count());
}

void Collective::check_root(int root) {
  if (communicator_.valid_rank(root)) return;
  if (inter() != nullptr && (root == MPI_ROOT || root == MPI_PROC_NULL)) return;
  fail(MPI_ERR_ROOT, fmt::format("root is {}: not a rank of a communicator of {} processes", root,
                                 communicator_.size()));
}

void Collective::check_intra() {
  if (inter() != nullptr) fail(MPI_ERR_COMM, "there is no such operation on intercommunicators");
}

void Collective::check_topology() {
  if (communicator_.topology == nullptr) fail(MPI_ERR_TOPOLOGY, "the communicator has no topology");
}

void Collective::check_not_in_place(const void* buffer) {
  if (buffer == MPI_IN_PLACE)
    fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed for this argument of this process");
}

void Collective::check_not_aliased(const void* send, const void* receive, std::int64_t count) {
  if (send == receive && count > 0 && send != MPI_BOTTOM) {
    fail(MPI_ERR_BUFFER, "send and receive buffer are the same: pass MPI_IN_PLACE as send buffer");
  }
}

void Collective::check_not_overlapping(const ConstData& send, const ConstData& receive) {
  const auto is_empty = [](const ConstData& block) {
    return block.count == 0 || block.type->layout->basic_count() == 0;
  };
  if (!ok() || is_empty(send) || is_empty(receive) || send.first_byte() != receive.first_byte())
    return;
  fail(MPI_ERR_BUFFER,
       "a block is sent from where one is received: pass MPI_IN_PLACE as send buffer (scatter: "
       "receive buffer)");
}

std::int32_t Collective::inter_root(int root) {
  if (root == MPI_ROOT) return collectives::inter::kIsRoot;
  return root == MPI_PROC_NULL ? collectives::inter::kIsBystander : root;
}

const ElementType* Collective::describe_type(MPI_Datatype datatype) {
  for (const ElementType& known : types_) {
    if (datatype_of(known) == datatype) return &known;
  }
  if (datatype == MPI_DATATYPE_NULL) {
    fail(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
    return nullptr;
  }
  auto layout = layout_of(datatype);
  if (!layout) {
    fail(MPI_ERR_TYPE, layout.error().text);
    return nullptr;
  }
  MPI_Aint true_lower_bound = 0;
  MPI_Aint true_extent = 0;
  vendor::Type_get_true_extent(datatype, &true_lower_bound, &true_extent);
  if (keeps_handles_ && predefined_layout(datatype) == nullptr) {
    job_.datatype_uses.hold(datatype);
    held_types_.push_back(datatype);
  }
  return &types_.emplace_back(ElementType{layout->layout, std::move(layout->keep_alive),
                                          true_lower_bound, true_extent, to_bits(datatype)});
}

Data Collective::data(const void* address, std::int64_t count, MPI_Datatype datatype) {
  if (count < 0) {
    fail(MPI_ERR_COUNT, fmt::format("the count is {}", count));
    return {};
  }
  const ElementType* type = describe_type(datatype);
  if (type == nullptr) return {};
  // A type with absolute addresses starts at MPI_BOTTOM, which is null. A type that starts at its
  // origin cannot start there. `address` is the address of the block itself: MPI_BOTTOM with an
  // absolute displacement is not a null pointer.
  if (address == nullptr && count > 0 && type->layout->basic_count() > 0 &&
      type->true_lower_bound == 0) {
    fail(MPI_ERR_BUFFER, "the buffer is a null pointer");
    return {};
  }
  return {at(address, 0), static_cast<std::uint64_t>(count), type};
}

std::span<const Data> Collective::blocks(const void* address, std::int64_t count,
                                         MPI_Datatype datatype) {
  const Data first = data(address, count, datatype);
  if (!ok() || first.type == nullptr) return {};
  std::vector<Data> all;
  all.reserve(static_cast<std::size_t>(peers()));
  for (std::int32_t peer = 0; peer < peers(); ++peer) all.push_back(first.block(peer));
  return keep(std::move(all));
}

std::span<const Data> Collective::blocks(const void* address, const Numbers& counts,
                                         const Numbers& displacements, MPI_Datatype datatype) {
  return blocks(static_cast<std::size_t>(peers()), address, counts, displacements, datatype);
}

std::span<const Data> Collective::blocks(const void* address, const Numbers& counts,
                                         const Numbers& displacements,
                                         const MPI_Datatype* datatypes) {
  return blocks(static_cast<std::size_t>(peers()), address, counts, displacements, datatypes);
}

std::span<const Data> Collective::blocks(std::size_t number, const void* address,
                                         const Numbers& counts, const Numbers& displacements,
                                         MPI_Datatype datatype) {
  const ElementType* type = describe_type(datatype);
  std::vector<Data> all;
  all.reserve(number);
  for (std::size_t i = 0; i < number && ok(); ++i) {
    all.push_back(
        data(at(address, displacements[i] * type->layout->extent()), counts[i], datatype));
  }
  return keep(std::move(all));
}

std::span<const Data> Collective::blocks(std::size_t number, const void* address,
                                         const Numbers& counts, const Numbers& displacements,
                                         const MPI_Datatype* datatypes) {
  std::vector<Data> all;
  all.reserve(number);
  for (std::size_t i = 0; i < number && ok(); ++i) {
    all.push_back(data(at(address, displacements[i]), counts[i], datatypes[i]));
  }
  return keep(std::move(all));
}

std::span<const ConstData> Collective::as_const(std::span<const Data> blocks) {
  return keep(std::vector<ConstData>(blocks.begin(), blocks.end()));
}

Data Collective::room(const Data& data) {
  auto made = std::make_shared<collectives::TypedRoom>(*data.type, data.count);
  const Data room = made->data();
  kept_.push_back(std::move(made));
  return room;
}

const collectives::Reduction* Collective::reduction(MPI_Op op, MPI_Datatype datatype) {
  if (op == MPI_OP_NULL) fail(MPI_ERR_OP, "the operation is MPI_OP_NULL");
  if (ok() && !fits(op, datatype))
    fail(MPI_ERR_OP, "the operation has no meaning for this datatype");
  if (!ok()) return nullptr;
  if (keeps_handles_) {
    job_.op_uses.hold(op);
    held_ops_.push_back(op);
  }
  return &reductions_.emplace_back(op, datatype);
}

std::span<const std::uint64_t> Collective::numbers(std::size_t number, const Numbers& counts) {
  std::vector<std::uint64_t> all;
  all.reserve(number);
  for (std::size_t i = 0; i < number; ++i) {
    if (counts[i] < 0) fail(MPI_ERR_COUNT, fmt::format("count {} of rank {}", counts[i], i));
    all.push_back(static_cast<std::uint64_t>(counts[i]));
  }
  return keep(std::move(all));
}

bool Collective::step() {
  // Other members may wait for a phase that this member has started but does not await yet.
  for (auto* team : {&own_, &local_, &both_}) {
    if (*team) (*team)->progress();
  }
  return task_->step();
}

Collective::Ending Collective::ending() const {
  const auto made_here = [&](int error_class, std::string text) {
    const int code = error_code(error_class, function_, text);
    return Ending{code, false, fmt::format("{}: {}", function_, text)};
  };
  if (given_up_) return *given_up_;
  if (code_ != MPI_SUCCESS) return {code_, true, {}};
  for (const auto* team : {&own_, &local_, &both_}) {
    if (!*team || (*team)->first_code() == MPI_SUCCESS) continue;
    const int code = (*team)->first_code();
    return made_here(vendor_error_class(code), "inside this system: " + vendor_error_text(code));
  }
  for (const OpReduction& reduction : reductions_) {
    if (*reduction.code() != MPI_SUCCESS) return {*reduction.code(), true, {}};
  }
  const auto outcome = task_->outcome();
  return outcome ? Ending() : made_here(error_class_of(outcome.error().kind), outcome.error().text);
}

EngineTransport& Collective::leaders_across() {
  if (!across_) across_.emplace(*job_.engine, communicator_);
  return *across_;
}

bool Collective::is_quiet() {
  for (auto* team : {&own_, &local_, &both_}) {
    if (*team && !(*team)->is_quiet()) return false;
  }
  return !across_ || across_->is_quiet();
}

void Collective::give_up(int error_class, std::string text) {
  for (auto* team : {&own_, &local_, &both_}) {
    if (*team) (*team)->give_up();
  }
  if (across_) across_->give_up();
  // The vendor keeps the handles that its operations in progress use.
  release_handles();
  const int code = error_code(error_class, function_, text);
  communicator_.broken.store(true, std::memory_order_release);
  given_up_ = Ending{code, false, fmt::format("{}: {}", function_, text)};
}

}  // namespace impishim::shim
