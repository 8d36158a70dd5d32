#include "shim/arguments.hpp"

#include <fmt/format.h>

#include "shim/datatype.hpp"
#include "shim/datatype_predefined.hpp"
#include "shim/errors.hpp"

namespace impishim::shim {
namespace {

int check_count_and_type(const Communicator& communicator, const char* function, int count, MPI_Datatype datatype) {
  if (count < 0) return raise(communicator.handle, MPI_ERR_COUNT, function, fmt::format("count {} is negative", count));
  if (datatype == MPI_DATATYPE_NULL)
    return raise(communicator.handle, MPI_ERR_TYPE, function, "the datatype is MPI_DATATYPE_NULL");
  return MPI_SUCCESS;
}

int check_tag(const Job& job, const Communicator& communicator, const char* function, int tag) {
  const int upper = job.map.values().tag_ub;
  if (tag >= 0 && tag <= upper) return MPI_SUCCESS;
  return raise(communicator.handle, MPI_ERR_TAG, function,
               fmt::format("tag {} is not within 0 ... {} (MPI_TAG_UB)", tag, upper));
}

int check_rank(const Communicator& communicator, const char* function, int rank) {
  if (communicator.valid_rank(rank) || rank == MPI_PROC_NULL) return MPI_SUCCESS;
  return raise(communicator.handle, MPI_ERR_RANK, function,
               fmt::format("rank {} is not within 0 ... {}", rank, communicator.size() - 1));
}

}  // namespace

int check_send(const Job& job, const Communicator& communicator, const char* function, int count, MPI_Datatype datatype,
               int dest, int tag) {
  if (count >= 0 && datatype != MPI_DATATYPE_NULL && tag >= 0 && tag <= job.map.values().tag_ub &&
      communicator.valid_rank(dest)) [[likely]]
    return MPI_SUCCESS;
  int code = check_count_and_type(communicator, function, count, datatype);
  if (code == MPI_SUCCESS) code = check_tag(job, communicator, function, tag);
  return code == MPI_SUCCESS ? check_rank(communicator, function, dest) : code;
}

int check_receive(const Job& job, const Communicator& communicator, const char* function, int count, MPI_Datatype datatype,
                  int source, int tag) {
  int code = check_count_and_type(communicator, function, count, datatype);
  if (code == MPI_SUCCESS && tag != MPI_ANY_TAG) code = check_tag(job, communicator, function, tag);
  return code == MPI_SUCCESS && source != MPI_ANY_SOURCE ? check_rank(communicator, function, source) : code;
}

namespace {

/// Data of a predefined type, which needs no more than its layout. False: something else, or an error.
template <class Address, class Buffer>
bool describe_predefined(Address address, std::int64_t count, MPI_Datatype datatype, Buffer& buffer) {
  const wire::TypeLayout* layout = predefined_layout(datatype);
  if (layout == nullptr || (address == nullptr && count != 0)) return false;
  buffer.base = static_cast<decltype(buffer.base)>(address);
  buffer.count = static_cast<std::uint64_t>(count);
  buffer.layout = layout;
  buffer.keep_alive.reset();
  return true;
}

template <class Buffer>
int describe(const char* function, Result<Buffer> described, Buffer& buffer) {
  if (!described) return error_code(MPI_ERR_TYPE, function, described.error().text);
  buffer = std::move(*described);
  // Only derived types have a layout to keep alive.
  if (buffer.base != nullptr || buffer.count == 0 || buffer.keep_alive != nullptr) [[likely]]
    return MPI_SUCCESS;
  return error_code(MPI_ERR_BUFFER, function, "the address of the data is null");
}

}  // namespace

int describe_buffer(const char* function, const void* address, std::int64_t count, MPI_Datatype datatype,
                    wire::ConstBuffer& buffer) {
  if (describe_predefined(address, count, datatype, buffer)) [[likely]]
    return MPI_SUCCESS;
  return describe(function, const_buffer(address, count, datatype), buffer);
}

int describe_buffer(const char* function, void* address, std::int64_t count, MPI_Datatype datatype,
                    wire::MutableBuffer& buffer) {
  if (describe_predefined(address, count, datatype, buffer)) [[likely]]
    return MPI_SUCCESS;
  return describe(function, mutable_buffer(address, count, datatype), buffer);
}

}  // namespace impishim::shim
