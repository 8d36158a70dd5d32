// SPDX-License-Identifier: Apache-2.0
#include "wire/server/own_server.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "wire/base/log.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/tls/shared_secret.hpp"

namespace impishim::wire {

OwnServer::OwnServer(Rendezvous rendezvous, const AuthenticationMethods& methods)
    : rendezvous_(std::move(rendezvous)),
      methods_(methods),
      thread_(quiet_thread("impishim-server", [this] {
        auto served = rendezvous_.serve();
        if (!served) log(LogArea::kStartup, LogLevel::kWarn, "{}", served.error().text);
      })) {}

OwnServer::~OwnServer() { thread_.join(); }

Result<std::unique_ptr<OwnServer>> OwnServer::open(int timeout_ms, const SharedSecret& shared) {
  std::array<std::byte, sizeof(std::uint64_t)> key;
  auto filled = fill_with_random(key);
  if (!filled) return filled.error();
  RendezvousOptions options;
  options.this_machine = true;
  options.timeout_ms = timeout_ms;
  options.name = "impishim";
  options.methods.shared.is_off = shared.is_off;
  options.methods.shared.secret = shared.secret;
  if (shared.certificates) {
    // Both ends of the only connection are in this process, and need not prove who they are.
    auto own = JobSecret::random();
    if (!own) return own.error();
    options.methods.shared.secret = *own;
  }
  options.methods.key = true;
  options.methods.key_value = std::bit_cast<std::uint64_t>(key);
  options.preference = {kAuthKey};
  auto rendezvous = Rendezvous::open(options);
  if (!rendezvous) return rendezvous.error();
  return std::unique_ptr<OwnServer>(new OwnServer(std::move(*rendezvous), options.methods));
}

}  // namespace impishim::wire
