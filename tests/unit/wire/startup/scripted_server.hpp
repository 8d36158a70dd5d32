// SPDX-License-Identifier: Apache-2.0
/// A server on the loopback address that does to its one client what a test wants.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/startup/support.hpp"
#include "wire/base/descriptor.hpp"

namespace impishim::wire::test {

/// The server's end of the connection. What cannot be received any more comes as fewer bytes.
class Peer {
 public:
  explicit Peer(Descriptor socket) : socket_(std::move(socket)) {}
  void send(const Bytes& bytes) {
    static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  /// Nothing more will be sent.
  void end_output() { shutdown(socket_.get(), SHUT_WR); }
  Bytes receive(std::size_t size) {
    Bytes bytes(size);
    const ssize_t got = recv(socket_.get(), bytes.data(), size, MSG_WAITALL);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }
  /// Everything until the client has sent `end`.
  Bytes receive_until(const Bytes& end) {
    Bytes all;
    while (
        all.size() < end.size() ||
        !std::equal(end.begin(), end.end(), all.end() - static_cast<std::ptrdiff_t>(end.size()))) {
      const Bytes one = receive(1);
      if (one.empty()) break;
      all.push_back(one.front());
    }
    return all;
  }

 private:
  Descriptor socket_;
};

/// Treats its clients, one after the other, as the scripts say; then it listens no more.
class ScriptedServer {
 public:
  using Script = std::function<void(Peer&)>;

  explicit ScriptedServer(Script script) : ScriptedServer(std::vector<Script>{std::move(script)}) {}
  explicit ScriptedServer(std::vector<Script> scripts) {
    listener_ = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(here);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof(here)), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    EXPECT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&here), &size), 0);
    address = "127.0.0.1:" + std::to_string(ntohs(here.sin_port));
    thread_ = std::thread([this, scripts = std::move(scripts)] {
      for (std::size_t i = 0; i < scripts.size(); ++i) {
        Peer peer(Descriptor(accept(listener_.get(), nullptr, nullptr)));
        if (i + 1 == scripts.size()) listener_.reset();
        scripts[i](peer);
      }
    });
  }
  ~ScriptedServer() { thread_.join(); }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string address;

 private:
  Descriptor listener_;
  std::thread thread_;
};

}  // namespace impishim::wire::test
