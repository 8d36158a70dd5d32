// SPDX-License-Identifier: Apache-2.0
/// The requests of one origin for one window, from their arrival until they are applied.
///
/// Requests are applied in the order in which they arrive, with one exception: a put or an
/// accumulate whose data follows is applied when the data has arrived. Accumulates wait for the
/// accumulates before them, since those of one origin are ordered (MPI-4.0 12.7.2). What tells the
/// end of others (flush, unlock, complete) waits for all requests before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/window/window_channel.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::wire {

/// Not thread-safe: its owner's lock protects it.
class IncomingRequests {
 public:
  /// Takes requests of `origin` for `target`, and answers them on `channel`.
  IncomingRequests(WindowTarget& target, WindowChannel& channel, WorldRank origin)
      : target_(target), channel_(channel), origin_(origin), format_(channel.format_of(origin)) {}
  IncomingRequests(const IncomingRequests&) = delete;
  IncomingRequests& operator=(const IncomingRequests&) = delete;

  /// Takes a data request (put, get, accumulate, compare-and-swap), a flush, an unlock or the end
  /// of an epoch (kComplete), and applies it at once if it need not wait. Appends it to `ended` as
  /// advance() does.
  void arrived(const WindowRequest& request, std::span<const std::byte> data,
               std::vector<WindowRequest>& ended);
  /// Applies and answers what can be. Returns the number of requests that are over. Appends those
  /// to `ended` that the owner has to act on: kUnlock and kComplete.
  std::size_t advance(std::vector<WindowRequest>& ended);
  /// Returns the number of requests that have accessed the window's memory since the start, and no
  /// longer do.
  [[nodiscard]] std::uint64_t applied() const { return applied_; }
  [[nodiscard]] bool idle() const { return entries_.empty(); }

 private:
  struct Entry {
    WindowRequest request;
    std::vector<std::byte> data;  ///< that came with it, or that is received to be combined
    std::unique_ptr<DataTransfer> receive;      ///< of data that follows
    WindowStatus status = WindowStatus::kDone;  ///< of a request whose data follows
    std::unique_ptr<DataTransfer> send;         ///< of an answer's data
  };
  using Place = std::list<Entry>::iterator;

  [[nodiscard]] bool blocked(Place entry) const;
  void is_over(const WindowRequest& request, std::vector<WindowRequest>& ended);
  void begin_receive(Entry& entry);
  [[nodiscard]] bool finish(Entry& entry);
  [[nodiscard]] bool apply(Entry& entry, std::span<const std::byte> data);
  [[nodiscard]] WindowStatus change(const WindowRequest& request, std::span<const std::byte> data,
                                    std::vector<std::byte>& before);
  [[nodiscard]] bool apply_get(Entry& entry);
  [[nodiscard]] bool answer_long(Entry& entry, const ConstBuffer& data);
  void answer(const WindowRequest& request, WindowStatus status, std::span<const std::byte> data);

  WindowTarget& target_;
  WindowChannel& channel_;
  WorldRank origin_;
  Format format_;
  std::list<Entry> entries_;
  std::vector<std::byte> message_;  ///< an answer; kept for its memory
  std::vector<std::byte> values_;   ///< an answer's data; likewise
  std::uint64_t applied_ = 0;
};

}  // namespace impishim::wire
