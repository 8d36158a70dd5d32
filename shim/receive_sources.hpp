/// Receives that the vendor carries for a communicator whose ranks it counts otherwise.
///
/// Such a receive stays a request of the vendor's, since one of ours around it would halve the rate of messages inside a
/// system; only the source in its status has another name. The user has named it in MPI_Irecv (one from MPI_ANY_SOURCE is a
/// request of ours), so it is kept beside the handle as long as the request lives.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/call_array.hpp"
#include "shim/handle_bits.hpp"

namespace impishim::shim {

/// Vendor's request -> the source's rank as the user knows it. For one thread at a time.
class ReceiveSources {
 public:
  static constexpr std::int32_t kNone = -1;

  [[nodiscard]] bool empty() const { return used_ == 0; }
  /// `request` is not in here.
  void put(MPI_Request request, std::int32_t source);
  /// The source, or kNone.
  [[nodiscard]] std::int32_t find(MPI_Request request) const;
  /// The same, and forgets it.
  std::int32_t take(MPI_Request request);

 private:
  static constexpr std::size_t kFirstSlots = 256;
  struct Slot {
    std::uintptr_t request = 0;  ///< 0: free. No vendor has such a handle
    std::int32_t source = kNone;
  };
  [[nodiscard]] std::size_t home_of(MPI_Request request) const { return hash_of(request) & (slots_.size() - 1); }
  [[nodiscard]] std::size_t behind(std::size_t place) const { return (place + 1) & (slots_.size() - 1); }
  /// Where it is, or would be.
  [[nodiscard]] std::size_t place_of(MPI_Request request) const;
  void close_gap(std::size_t gap);
  void grow();

  std::vector<Slot> slots_;  ///< a power of two, at most half of them used
  std::size_t used_ = 0;
};

/// What a call that may complete `requests` does with their sources: takes them before the vendor is called, since another
/// request may get a completed one's handle at once, and gives back those of requests that live on.
class CompletingSources {
 public:
  CompletingSources(ReceiveSources& sources, int count, const MPI_Request* requests);
  CompletingSources(const CompletingSources&) = delete;
  CompletingSources& operator=(const CompletingSources&) = delete;
  ~CompletingSources();

  /// Names the source in the status of the request at `index`, which has completed. `status` may be MPI_STATUS_IGNORE.
  void name(int index, MPI_Status* status) const;
  /// In the statuses of all. `statuses` may be MPI_STATUSES_IGNORE.
  void name_all(MPI_Status* statuses) const;
  /// In what MPI_Waitany and MPI_Waitsome, or their tests, have given, which after an error may be anything.
  void name_any(const int* index, MPI_Status* status) const;
  void name_some(const int* outcount, const int* indices, MPI_Status* statuses) const;

 private:
  ReceiveSources& sources_;
  const MPI_Request* requests_;
  CallArray<std::int32_t> taken_;  ///< of nothing, if there are no sources at all
};

}  // namespace impishim::shim
