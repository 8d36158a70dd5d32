// SPDX-License-Identifier: Apache-2.0
/// Progress of the vendor's MPI during one of its functions that blocks without progress.
#pragma once

#include <mpi.h>

#include <atomic>
#include <optional>
#include <thread>

#include "shim/job/vendor_progress.hpp"
#include "wire/base/quiet_thread.hpp"

namespace impishim::shim {

struct Job;

/// Progresses the vendor's MPI in a thread of its own until the destructor is called. Needs
/// MPI_THREAD_MULTIPLE. The constructor throws std::system_error if the thread cannot be created.
class VendorPoller {
 public:
  explicit VendorPoller(const VendorProgress& vendor)
      : thread_(quiet_thread("impishim-poll", [this, &vendor] {
          while (!ends_.load(std::memory_order_relaxed)) {
            vendor.make();
            std::this_thread::yield();
          }
        })) {}
  ~VendorPoller() {
    ends_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  VendorPoller(const VendorPoller&) = delete;
  VendorPoller& operator=(const VendorPoller&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

/// Starts a poller. Returns MPI_SUCCESS, or a code that has been raised on `comm` if there can be
/// no more threads.
[[nodiscard]] int start_poller(const Job& job, MPI_Comm comm, std::optional<VendorPoller>& poller);

}  // namespace impishim::shim
