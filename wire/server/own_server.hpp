// SPDX-License-Identifier: Apache-2.0
/// The rendezvous server of a job of one system, in a process of the job: for a program that no
/// impirun has started, and that meets other jobs later (MPI-3.1 10.4).
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "wire/base/result.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/startup/authentication.hpp"

namespace impishim::wire {

/// Serves one client, with a key that only this process knows, at the loopback address, in a thread
/// of its own. The client must have finished or closed its connection before the server is
/// destroyed: the destructor waits for the thread.
class OwnServer {
 public:
  /// Opens the server and starts its thread. It gives up if the client has not joined after
  /// `timeout_ms`. With a secret or certificates, the job is encrypted. Fails with kSystem.
  [[nodiscard]] static Result<std::unique_ptr<OwnServer>> open(int timeout_ms,
                                                               const SharedSecret& shared = {});
  OwnServer(const OwnServer&) = delete;
  OwnServer& operator=(const OwnServer&) = delete;
  ~OwnServer();
  /// Returns "address:port" for the client.
  [[nodiscard]] const std::string& address() const { return rendezvous_.address(); }
  [[nodiscard]] const AuthenticationMethods& methods() const { return methods_; }

 private:
  OwnServer(Rendezvous rendezvous, const AuthenticationMethods& methods);

  Rendezvous rendezvous_;
  AuthenticationMethods methods_;
  std::thread thread_;  ///< ends before the members above
};

}  // namespace impishim::wire
