// SPDX-License-Identifier: Apache-2.0
/// Receives that the vendor carries for a communicator whose ranks differ from the vendor's ranks.
///
/// Such a receive stays a vendor request, since an own request around it would halve the message
/// rate inside a system. Only the source in its status has another rank. The offset from the
/// vendor's rank is known when the user has named the source in MPI_Irecv; a receive from
/// MPI_ANY_SOURCE is an own request. This offset is stored under the handle as long as the request
/// lives.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <unordered_map>

#include "shim/handle/call_array.hpp"
#include "shim/handle/handle_bits.hpp"

namespace impishim::shim {

/// Map from a vendor request to the difference of the source's rank as the user knows it and its
/// rank at the vendor. One thread at a time.
///
/// Every such receive uses this map, so it is on the critical path. Most receives are from a rank
/// of MPI_COMM_WORLD or a copy of it. They have one common offset, do not exist after completion,
/// and are completed in the order in which they were started. The latest of them form a row, whose
/// first request is looked up first. All other requests are in a table that is indexed by the bits
/// of the handle. The whole row moves there once one of its requests is asked for out of turn.
/// Vendors allocate neighbouring handles, so each has an entry of its own; requests whose entry is
/// taken are in `crowded_`.
class ReceiveSources {
 public:
  /// Offset of a request that is not in the map: its source needs no translation.
  static constexpr std::int32_t kNone = 0;

  ReceiveSources() = default;
  /// `world_offset` is the offset of MPI_COMM_WORLD.
  explicit ReceiveSources(std::int32_t world_offset) : row_offset_(world_offset) {}

  [[nodiscard]] bool empty() const { return row_end_ == 0 && placed_ == 0; }
  /// Adds `request`, which must not be in the map.
  void put(MPI_Request request, std::int32_t offset) {
    if (offset == row_offset_ && offset != kNone) return put_of_world(request);
    put_to_stay(request, offset);
  }
  /// Adds a request that may exist after its completion.
  void put_to_stay(MPI_Request request, std::int32_t offset) {
    if (offset != kNone) put_in_place(request, offset);
  }
  /// Adds a request with the offset of MPI_COMM_WORLD that does not exist after its completion.
  void put_of_world(MPI_Request request) {
    if (row_end_ == kRow) [[unlikely]]
      return put_in_new_row(request);
    row_[row_end_++] = request;
  }
  /// Returns the offset, or kNone.
  [[nodiscard]] std::int32_t find(MPI_Request request);
  /// Removes the request; returns its offset, or kNone.
  std::int32_t take(MPI_Request request) {
    if (row_begin_ == row_end_ || row_[row_begin_] != request) return take_out_of_turn(request);
    ++row_begin_;
    forget_empty_row();
    return row_offset_;
  }
  /// Removes `count` requests if they are the first in the row, in its order, as those of most
  /// windows are. Otherwise returns false, and removes nothing.
  bool take_in_turn(int count, const MPI_Request* requests);
  /// Returns the offset of the requests that take_in_turn() has removed.
  [[nodiscard]] std::int32_t world_offset() const { return row_offset_; }

 private:
  struct Kept {
    MPI_Request request{};  ///< 0: none, since no vendor has such a handle
    std::int32_t offset = kNone;
  };
  static constexpr std::size_t kRow = 256;
  static constexpr unsigned kPlaceBits = 10;
  static constexpr std::size_t kPlaces = 1U << kPlaceBits;
  /// Where handles are addresses, their lowest bits are all the same.
  static constexpr unsigned kSameBits = std::is_pointer_v<MPI_Request> ? 6 : 0;

  /// Returns the index of a request in the table. Neighbours stay neighbours; blocks of them are
  /// scattered.
  [[nodiscard]] static std::size_t place_of(std::uintptr_t request) {
    const std::uint64_t number = request >> kSameBits;
    const std::uint64_t block = (number >> kPlaceBits) * 0x9E3779B97F4A7C15ULL;
    return (number ^ (block >> (64 - kPlaceBits))) % kPlaces;
  }
  void forget_empty_row() {
    if (row_begin_ == row_end_) row_begin_ = row_end_ = 0;
  }
  void leave_row();
  [[gnu::noinline]] void put_in_new_row(MPI_Request request);
  void put_in_place(MPI_Request request, std::int32_t offset);
  std::int32_t take_out_of_turn(MPI_Request request);

  std::int32_t row_offset_ = kNone;
  std::array<MPI_Request, kRow> row_{};
  std::size_t row_begin_ = 0;
  std::size_t row_end_ = 0;  ///< 0 if the row is empty
  std::array<Kept, kPlaces> places_;
  std::unordered_map<std::uintptr_t, std::int32_t> crowded_;
  std::size_t placed_ = 0;  ///< number of requests that are not in the row
};

/// Translates the source of a completed receive. An inactive persistent request has no source.
inline void name_source(std::int32_t offset, MPI_Status& status) {
  if (status.MPI_SOURCE >= 0) status.MPI_SOURCE += offset;
}

/// Handles the sources of `requests` for a call that may complete them. Removes them before the
/// vendor is called, since another request may get the handle of a completed one at once. Puts back
/// the sources of requests that stay alive.
class CompletingSources {
 public:
  CompletingSources(ReceiveSources& sources, int count, const MPI_Request* requests);
  CompletingSources(const CompletingSources&) = delete;
  CompletingSources& operator=(const CompletingSources&) = delete;
  ~CompletingSources();

  /// Translates the source in the status of the request at `index`, which has completed. `status`
  /// may be MPI_STATUS_IGNORE.
  void name(int index, MPI_Status* status) const;
  /// Translates the sources in the statuses of all requests, once all have completed. `statuses`
  /// may be MPI_STATUSES_IGNORE.
  void name_all(MPI_Status* statuses);
  /// Translate the sources in the results of MPI_Waitany and MPI_Waitsome, or of their tests. After
  /// an error, these results may have any value.
  void name_any(const int* index, MPI_Status* status) const;
  void name_some(const int* outcount, const int* indices, MPI_Status* statuses) const;

 private:
  void give_back();

  ReceiveSources& sources_;
  const MPI_Request* requests_;
  CallArray<std::int32_t> taken_;  ///< empty if there are no sources at all
  bool given_back_ = false;
};

/// Does the same for requests that `sources.take_in_turn()` has removed. To be called after the
/// vendor has completed all of them or, as `code` tells, failed.
void finish_in_turn(int code, ReceiveSources& sources, int count, const MPI_Request* requests,
                    MPI_Status* statuses);

}  // namespace impishim::shim
