// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/startup_watch.hpp"

#include <time.h>
#include <optional>

#include "shim/startup/native_exchange.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/startup/startup_client.hpp"

namespace impishim::shim {
namespace {

bool is_complete(MPI_Request& request) {
  int done = 0;
  return vendor::Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
}

/// Sleeps briefly. The vendor's progress has no event to wait for.
void pause() {
  const timespec time{0, 200'000};
  nanosleep(&time, nullptr);
}

}  // namespace

StartupWatch::StartupWatch(MPI_Comm comm, int speaker, wire::ServerConnection* server)
    : all_(comm), speaker_(speaker), server_(server) {
  verdicts_ = duplicate(all_);
  if (server_ == nullptr) {
    vendor::Ibcast(&verdict_, 1, MPI_INT, speaker_, verdicts_, &request_);
    return;
  }
  auto watched = server_->watch();
  if (watched)
    descriptor_ = *watched;
  else
    log(LogArea::kStartup, LogLevel::kWarn, "{}",
        watched.error().text);  // it is polled nevertheless
}

StartupWatch::~StartupWatch() { vendor::Comm_free(&verdicts_); }

/// Sends the verdict from the speaker to the others.
void StartupWatch::tell() {
  verdict_ = error_ ? 1 : 0;
  vendor::Ibcast(&verdict_, 1, MPI_INT, speaker_, verdicts_, &request_);
}

std::optional<Error> StartupWatch::given_up() {
  if (error_) return error_;
  if (server_ != nullptr) {
    error_ = server_->given_up();
    if (error_) tell();
  } else if (is_complete(request_) && verdict_ != 0) {
    error_ = Error{ErrorKind::kAborted, "the rendezvous server has given the job up"};
  }
  return error_;
}

Result<void> StartupWatch::conclude() {
  MPI_Request everybody = MPI_REQUEST_NULL;
  vendor::Ibarrier(all_, &everybody);
  bool over = false;
  while (!over) {
    static_cast<void>(given_up());  // the verdict is kept, and returned below
    over = is_complete(everybody);
    if (!over) pause();
  }
  if (server_ != nullptr && !error_) tell();
  while (!is_complete(request_)) pause();
  if (auto error = given_up()) return *error;
  return {};
}

}  // namespace impishim::shim
