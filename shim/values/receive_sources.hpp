// SPDX-License-Identifier: Apache-2.0
/// Receives that the vendor carries for a communicator whose ranks it counts otherwise.
///
/// Such a receive stays a request of the vendor's, since one of ours around it would halve the rate
/// of messages inside a system; only the source in its status has another name. How far that is
/// from the vendor's rank is known when the user has named the source in MPI_Irecv (one from
/// MPI_ANY_SOURCE is a request of ours), and is kept beside the handle as long as the request
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

/// Vendor's request -> the source's rank as the user knows it, less its rank at the vendor. For one
/// thread at a time.
///
/// Stands in the way of every such receive. Most are from a rank of MPI_COMM_WORLD or a copy of it,
/// which have one offset in common, are gone when they are over, and are completed in the order in
/// which they were started: the latest of these stand in a row, whose first is looked at first. All
/// others, and the whole row once one of its requests is asked for out of turn, have places by
/// their handles' bits, one for each since vendors hand out neighbouring handles; those whose place
/// is taken stand elsewhere.
class ReceiveSources {
 public:
  /// Of a request that is not in here: its source needs no other name.
  static constexpr std::int32_t kNone = 0;

  ReceiveSources() = default;
  /// `world_offset`: that of MPI_COMM_WORLD.
  explicit ReceiveSources(std::int32_t world_offset) : row_offset_(world_offset) {}

  [[nodiscard]] bool empty() const { return row_end_ == 0 && placed_ == 0; }
  /// `request` is not in here.
  void put(MPI_Request request, std::int32_t offset) {
    if (offset == row_offset_ && offset != kNone) return put_of_world(request);
    put_to_stay(request, offset);
  }
  /// The same for one that may live on when it is over.
  void put_to_stay(MPI_Request request, std::int32_t offset) {
    if (offset != kNone) put_in_place(request, offset);
  }
  /// The same for the offset of MPI_COMM_WORLD, and a request that does not.
  void put_of_world(MPI_Request request) {
    if (row_end_ == kRow) [[unlikely]]
      return put_in_new_row(request);
    row_[row_end_++] = request;
  }
  /// The offset, or kNone.
  [[nodiscard]] std::int32_t find(MPI_Request request);
  /// The same, and forgets it.
  std::int32_t take(MPI_Request request) {
    if (row_begin_ == row_end_ || row_[row_begin_] != request) return take_out_of_turn(request);
    ++row_begin_;
    forget_empty_row();
    return row_offset_;
  }
  /// Takes `count` requests if they are the first in the row, in its order, as those of most
  /// windows are. Else false, and nothing has been taken.
  bool take_in_turn(int count, const MPI_Request* requests);
  /// What `take_in_turn` has taken.
  [[nodiscard]] std::int32_t world_offset() const { return row_offset_; }

 private:
  struct Kept {
    MPI_Request request{};  ///< 0: none. No vendor has such a handle
    std::int32_t offset = kNone;
  };
  static constexpr std::size_t kRow = 256;
  static constexpr unsigned kPlaceBits = 10;
  static constexpr std::size_t kPlaces = 1U << kPlaceBits;
  /// Where handles are addresses, their lowest bits are all the same.
  static constexpr unsigned kSameBits = std::is_pointer_v<MPI_Request> ? 6 : 0;

  /// Neighbours stay neighbours; blocks of them are scattered.
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
  std::size_t row_end_ = 0;  ///< 0 if nothing is in the row
  std::array<Kept, kPlaces> places_;
  std::unordered_map<std::uintptr_t, std::int32_t> crowded_;
  std::size_t placed_ = 0;  ///< what is not in the row
};

/// Gives the source of a completed receive its name. One of a persistent request that is inactive
/// has none.
inline void name_source(std::int32_t offset, MPI_Status& status) {
  if (status.MPI_SOURCE >= 0) status.MPI_SOURCE += offset;
}

/// What a call that may complete `requests` does with their sources: takes them before the vendor
/// is called, since another request may get a completed one's handle at once, and gives back those
/// of requests that live on.
class CompletingSources {
 public:
  CompletingSources(ReceiveSources& sources, int count, const MPI_Request* requests);
  CompletingSources(const CompletingSources&) = delete;
  CompletingSources& operator=(const CompletingSources&) = delete;
  ~CompletingSources();

  /// Names the source in the status of the request at `index`, which has completed. `status` may be
  /// MPI_STATUS_IGNORE.
  void name(int index, MPI_Status* status) const;
  /// In the statuses of all, once all have completed. `statuses` may be MPI_STATUSES_IGNORE.
  void name_all(MPI_Status* statuses);
  /// In what MPI_Waitany and MPI_Waitsome, or their tests, have given, which after an error may be
  /// anything.
  void name_any(const int* index, MPI_Status* status) const;
  void name_some(const int* outcount, const int* indices, MPI_Status* statuses) const;

 private:
  void give_back();

  ReceiveSources& sources_;
  const MPI_Request* requests_;
  CallArray<std::int32_t> taken_;  ///< of nothing, if there are no sources at all
  bool given_back_ = false;
};

/// The same for requests that `sources.take_in_turn()` has taken, after the vendor has completed
/// all of them or, by its `code`, failed to.
void finish_in_turn(int code, ReceiveSources& sources, int count, const MPI_Request* requests,
                    MPI_Status* statuses);

}  // namespace impishim::shim
