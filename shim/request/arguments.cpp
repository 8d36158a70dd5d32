// SPDX-License-Identifier: Apache-2.0
#include "shim/request/arguments.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "shim/datatype/datatype.hpp"
#include "shim/datatype/datatype_predefined.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {
namespace {

// The error paths are separate functions, so that they do not burden the checks of every call.
[[gnu::cold]] int refuse_data(const Communicator& communicator, const char* function, int count) {
  if (count < 0)
    return raise(communicator.handle, MPI_ERR_COUNT, function,
                 fmt::format("count {} is negative", count));
  return raise(communicator.handle, MPI_ERR_TYPE, function, "the datatype is MPI_DATATYPE_NULL");
}

[[gnu::cold]] int refuse_tag(const Job& job, const Communicator& communicator, const char* function,
                             int tag) {
  return raise(
      communicator.handle, MPI_ERR_TAG, function,
      fmt::format("tag {} is not within 0 ... {} (MPI_TAG_UB)", tag, job.map.values().tag_ub));
}

[[gnu::cold]] int refuse_rank(const Communicator& communicator, const char* function, int rank) {
  return raise(communicator.handle, MPI_ERR_RANK, function,
               fmt::format("rank {} is not within 0 ... {}", rank, communicator.size() - 1));
}

// MPI allows no null datatype, but MPICH accepts one for zero elements, and programs pass it.
#ifdef OPEN_MPI
constexpr bool kNothingNeedsType = true;
#else
constexpr bool kNothingNeedsType = false;
#endif

/// Returns true for zero elements of the null datatype where the vendor accepts them.
bool is_nothing(std::int64_t count, MPI_Datatype datatype) {
  return !kNothingNeedsType && count == 0 && datatype == MPI_DATATYPE_NULL;
}

bool is_data(int count, MPI_Datatype datatype) {
  return count >= 0 && (datatype != MPI_DATATYPE_NULL || is_nothing(count, datatype));
}
bool is_tag(const Job& job, int tag) { return tag >= 0 && tag <= job.map.values().tag_ub; }
bool is_rank(const Communicator& communicator, int rank) {
  return communicator.valid_rank(rank) || rank == MPI_PROC_NULL;
}

}  // namespace

int check_send(const Job& job, const Communicator& communicator, const char* function, int count,
               MPI_Datatype datatype, int dest, int tag) {
  if (!is_data(count, datatype)) return refuse_data(communicator, function, count);
  if (!is_tag(job, tag)) return refuse_tag(job, communicator, function, tag);
  if (!is_rank(communicator, dest)) return refuse_rank(communicator, function, dest);
  if (communicator.revoked.load(std::memory_order_relaxed)) [[unlikely]]
    return raise_revoked(communicator.handle, function);
  return MPI_SUCCESS;
}

int check_receive(const Job& job, const Communicator& communicator, const char* function, int count,
                  MPI_Datatype datatype, int source, int tag) {
  if (!is_data(count, datatype)) return refuse_data(communicator, function, count);
  if (tag != MPI_ANY_TAG && !is_tag(job, tag)) return refuse_tag(job, communicator, function, tag);
  if (source != MPI_ANY_SOURCE && !is_rank(communicator, source))
    return refuse_rank(communicator, function, source);
  if (communicator.revoked.load(std::memory_order_relaxed)) [[unlikely]]
    return raise_revoked(communicator.handle, function);
  return MPI_SUCCESS;
}

namespace {

template <class Address, class Buffer>
int describe(const char* function, Address address, std::int64_t count, MPI_Datatype datatype,
             Buffer& buffer) {
  buffer.layout = predefined_layout(is_nothing(count, datatype) ? MPI_BYTE : datatype);
  if (buffer.layout != nullptr) [[likely]] {
    if (address == nullptr && count != 0)
      return error_code(MPI_ERR_BUFFER, function, "the address of the data is null");
    buffer.keep_alive.reset();
  } else {
    auto derived = derived_layout(datatype);
    if (!derived) return error_code(MPI_ERR_TYPE, function, derived.error().text);
    buffer.layout = derived->layout;
    buffer.keep_alive = std::move(derived->keep_alive);
  }
  buffer.base = static_cast<decltype(buffer.base)>(address);
  buffer.count = static_cast<std::uint64_t>(count);
  return MPI_SUCCESS;
}

}  // namespace

int describe_buffer(const char* function, const void* address, std::int64_t count,
                    MPI_Datatype datatype, wire::ConstBuffer& buffer) {
  return describe(function, address, count, datatype, buffer);
}

int describe_buffer(const char* function, void* address, std::int64_t count, MPI_Datatype datatype,
                    wire::MutableBuffer& buffer) {
  return describe(function, address, count, datatype, buffer);
}

}  // namespace impishim::shim
