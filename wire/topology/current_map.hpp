// SPDX-License-Identifier: Apache-2.0
/// The job map as it is now. It grows when processes of another job are connected (MPI_Comm_accept,
/// MPI_Comm_connect, MPI_Comm_spawn).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// A map that is replaced as a whole. Reading takes no lock. References to parts of a map that was
/// replaced stay valid, since growth is rare and maps are kept.
class CurrentMap {
 public:
  CurrentMap() : CurrentMap(JobMap()) {}
  // A map stands for itself where nothing grows.
  CurrentMap(JobMap map) { replace(std::move(map)); }  // NOLINT(google-explicit-constructor)
  /// No other thread may use either.
  CurrentMap(CurrentMap&& other) noexcept : CurrentMap() { *this = std::move(other); }
  CurrentMap& operator=(CurrentMap&& other) noexcept;
  CurrentMap(const CurrentMap&) = delete;
  CurrentMap& operator=(const CurrentMap&) = delete;
  ~CurrentMap() = default;

  /// Makes `map` the current one. It has all processes of the map before, with the same numbers.
  void replace(JobMap map);

  [[nodiscard]] const JobMap& now() const { return *now_.load(std::memory_order_acquire); }
  /// Returns the map before it grew: the job itself, without processes of other jobs.
  [[nodiscard]] const JobMap& at_start() const { return *first_; }
  operator const JobMap&() const { return now(); }  // NOLINT(google-explicit-constructor)

  // What JobMap has.
  [[nodiscard]] const std::vector<Client>& clients() const { return now().clients(); }
  [[nodiscard]] const std::vector<Host>& hosts() const { return now().hosts(); }
  [[nodiscard]] const std::vector<Proc>& procs() const { return now().procs(); }
  [[nodiscard]] const Client& client(std::int32_t number) const { return now().client(number); }
  [[nodiscard]] const Host& host(std::int32_t number) const { return now().host(number); }
  [[nodiscard]] const Proc& proc(WorldRank rank) const { return now().proc(rank); }
  [[nodiscard]] const NegotiatedValues& values() const { return now().values(); }
  [[nodiscard]] const std::string& node_name(std::int32_t host) const {
    return now().node_name(host);
  }
  [[nodiscard]] WorldRank size() const { return now().size(); }
  [[nodiscard]] WorldRank rank_of(const ProcId& id) const { return now().rank_of(id); }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<const JobMap>> all_ IMPISHIM_GUARDED_BY(mutex_);
  std::atomic<const JobMap*> now_{nullptr};
  const JobMap* first_ = nullptr;  ///< set by the constructor, or by assignment
};

}  // namespace impishim::wire
