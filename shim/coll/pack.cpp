// SPDX-License-Identifier: Apache-2.0
// MPI_Pack, MPI_Unpack and MPI_Pack_size (MPI-3.1 4.2).
//
// On a spanning communicator, packed data has the format that is used between its systems. The
// format is native if all systems have the same data representation. The packed and the typed end
// of a message then match as they do within one system. Otherwise all systems can read the format;
// for foreign implementations it is external32 without a header.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "collectives/core/packed_blocks.hpp"
#include "shim/coll/collective.hpp"
#include "shim/datatype/datatype.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/request.hpp"
#include "shim/vendor.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {
namespace {

wire::Format packed_format(const Job& job, const Communicator& communicator) {
  const bool inter = communicator.inter != nullptr;
  return collectives::transit_format(
      limits_of(job, inter ? *communicator.inter->both : communicator));
}

/// The remaining part of a packed buffer of `size` bytes, from `position` on.
template <class Byte, class Count>
struct Room {
  Byte* base;
  Count size;
  Count* position;

  [[nodiscard]] std::span<Byte> rest() const {
    return {base + *position, static_cast<std::size_t>(size) - static_cast<std::size_t>(*position)};
  }
  [[nodiscard]] int check(MPI_Comm comm, const char* function) const {
    if (position == nullptr) return raise(comm, MPI_ERR_ARG, function, "the position is null");
    if (*position < 0 || *position > size) {
      return raise(comm, MPI_ERR_ARG, function,
                   fmt::format("position {} is not within a buffer of {} bytes", *position, size));
    }
    if (base == nullptr && size > 0)
      return raise(comm, MPI_ERR_BUFFER, function, "the address of the packed data is null");
    return MPI_SUCCESS;
  }
  [[nodiscard]] int check_fits(MPI_Comm comm, const char* function, std::uint64_t bytes) const {
    if (bytes <= rest().size()) return MPI_SUCCESS;
    return raise(comm, MPI_ERR_TRUNCATE, function,
                 fmt::format("{} bytes do not fit into the {} that are left from position {} on",
                             bytes, rest().size(), *position));
  }
};

int check_data(MPI_Comm comm, const char* function, MPI_Count count, MPI_Datatype datatype) {
  if (count < 0)
    return raise(comm, MPI_ERR_COUNT, function, fmt::format("count {} is negative", count));
  if (datatype == MPI_DATATYPE_NULL)
    return raise(comm, MPI_ERR_TYPE, function, "the datatype is MPI_DATATYPE_NULL");
  return MPI_SUCCESS;
}

struct Packing {
  using Data = const void*;
  using Byte = std::byte;
  using Buffer = wire::ConstBuffer;
  using Cursor = wire::PackCursor;
  static auto move(Cursor& cursor, std::span<Byte> packed) { return cursor.pack(packed); }
};

struct Unpacking {
  using Data = void*;
  using Byte = const std::byte;
  using Buffer = wire::MutableBuffer;
  using Cursor = wire::UnpackCursor;
  static auto move(Cursor& cursor, std::span<Byte> packed) { return cursor.unpack(packed); }
};

/// Moves all of the user's data into the packed buffer, or out of it. Returns MPI_SUCCESS or an
/// error code that has been raised.
template <class Direction, class Count>
int convert(wire::Format format, MPI_Comm comm, const char* function, typename Direction::Data data,
            Count count, MPI_Datatype datatype, const Room<typename Direction::Byte, Count>& room) {
  if (const int code = check_data(comm, function, count, datatype); code != MPI_SUCCESS)
    return code;
  if (const int code = room.check(comm, function); code != MPI_SUCCESS) return code;
  typename Direction::Buffer buffer;
  if (const int code = describe_buffer(function, data, count, datatype, buffer);
      code != MPI_SUCCESS) {
    return raise_if_own(comm, code);
  }
  typename Direction::Cursor cursor(buffer, format);
  if (const int code = room.check_fits(comm, function, cursor.total()); code != MPI_SUCCESS)
    return code;
  const auto moved = Direction::move(cursor, room.rest().first(cursor.total()));
  if (!moved) return raise(comm, function, moved.error());
  *room.position += static_cast<Count>(cursor.total());
  return MPI_SUCCESS;
}

template <class Count>
int packed_size(wire::Format format, MPI_Comm comm, const char* function, Count count,
                MPI_Datatype datatype, Count* size) {
  if (const int code = check_data(comm, function, count, datatype); code != MPI_SUCCESS)
    return code;
  if (size == nullptr) return raise(comm, MPI_ERR_ARG, function, "the address of the size is null");
  const auto type = layout_of(datatype);
  if (!type) return raise(comm, MPI_ERR_TYPE, function, type.error().text);
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * type->layout->packed_size(format);
  *size = bytes > static_cast<std::uint64_t>(std::numeric_limits<Count>::max())
              ? static_cast<Count>(MPI_UNDEFINED)
              : static_cast<Count>(bytes);
  return MPI_SUCCESS;
}

// Each function exists with two types of counts. `vendor_function` runs if all members are in this
// system.

template <class Count, class VendorFunction>
int pack(const char* function, const VendorFunction& vendor_function, Job& job, const void* inbuf,
         Count incount, MPI_Datatype datatype, void* outbuf, Count outsize, Count* position,
         MPI_Comm comm) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr)
    return vendor_function(inbuf, incount, datatype, outbuf, outsize, position, comm);
  return convert<Packing>(packed_format(job, *communicator), comm, function, inbuf, incount,
                          datatype, {static_cast<std::byte*>(outbuf), outsize, position});
}

template <class Count, class VendorFunction>
int unpack(const char* function, const VendorFunction& vendor_function, Job& job, const void* inbuf,
           Count insize, Count* position, void* outbuf, Count outcount, MPI_Datatype datatype,
           MPI_Comm comm) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr)
    return vendor_function(inbuf, insize, position, outbuf, outcount, datatype, comm);
  return convert<Unpacking>(packed_format(job, *communicator), comm, function, outbuf, outcount,
                            datatype, {static_cast<const std::byte*>(inbuf), insize, position});
}

template <class Count, class VendorFunction>
int pack_size(const char* function, const VendorFunction& vendor_function, Job& job, Count incount,
              MPI_Datatype datatype, MPI_Comm comm, Count* size) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor_function(incount, datatype, comm, size);
  return packed_size(packed_format(job, *communicator), comm, function, incount, datatype, size);
}

}  // namespace

namespace calls {

int Pack(Job& job, const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize,
         int* position, MPI_Comm comm) {
  return pack("MPI_Pack", vendor::Pack, job, inbuf, incount, datatype, outbuf, outsize, position,
              comm);
}

int Unpack(Job& job, const void* inbuf, int insize, int* position, void* outbuf, int outcount,
           MPI_Datatype datatype, MPI_Comm comm) {
  return unpack("MPI_Unpack", vendor::Unpack, job, inbuf, insize, position, outbuf, outcount,
                datatype, comm);
}

int Pack_size(Job& job, int incount, MPI_Datatype datatype, MPI_Comm comm, int* size) {
  return pack_size("MPI_Pack_size", vendor::Pack_size, job, incount, datatype, comm, size);
}

#ifdef IMPISHIM_HAVE_MPI_Pack_c
int Pack_c(Job& job, const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
           MPI_Count outsize, MPI_Count* position, MPI_Comm comm) {
  return pack("MPI_Pack_c", vendor::Pack_c, job, inbuf, incount, datatype, outbuf, outsize,
              position, comm);
}

int Unpack_c(Job& job, const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
             MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm) {
  return unpack("MPI_Unpack_c", vendor::Unpack_c, job, inbuf, insize, position, outbuf, outcount,
                datatype, comm);
}

int Pack_size_c(Job& job, MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm,
                MPI_Count* size) {
  return pack_size("MPI_Pack_size_c", vendor::Pack_size_c, job, incount, datatype, comm, size);
}
#endif

}  // namespace calls
}  // namespace impishim::shim
