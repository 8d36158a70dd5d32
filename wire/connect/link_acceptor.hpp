// SPDX-License-Identifier: Apache-2.0
/// The accepting end of connections within a job. It accepts connections whose handshake proves
/// membership, and limits the number, bytes and time that strangers can take from this process.
///
/// A stranger is a connection whose hello has not yet shown knowledge of the job's secret. There
/// are at most kMostStrangers at a time, and at most an eighth of the descriptors that this process
/// may have. One more stranger replaces the oldest one, and none stays longer than
/// kIntroductionTime.
///
/// Connections with a valid hello are not counted, because only processes of the job can make them.
/// If descriptors run out, strangers are closed first, and then the listener pauses for a while;
/// the job continues.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/accept_rest.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/stranger_report.hpp"
#include "wire/connect/link_handshake.hpp"

namespace impishim::wire {

class LinkAcceptor {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostStrangers = 64;
  /// Time limit of a handshake.
  static constexpr auto kIntroductionTime = std::chrono::seconds(10);

  struct Options {
    std::string log_prefix;
    std::optional<LinkTerms> terms;  ///< nothing if only foreign connectors are expected
    /// As LinkJudge::claim, for a connection from `from`.
    std::function<LinkJudgement(std::int32_t number, const SocketAddress& from)> judge;
    /// Takes over a connection whose handshake is complete. From then on, judge() must know about
    /// it.
    std::function<void(std::int32_t number, Descriptor socket)> take;
    /// Returns true if connectors at that address normally drop attempts; then a connection that
    /// ends early is not reported. Empty: none does.
    std::function<bool(const SocketAddress& from)> may_end_early{};
  };

  /// `listeners` must be non-blocking and outlive this object.
  LinkAcceptor(std::span<const Descriptor> listeners, Options options);
  LinkAcceptor(const LinkAcceptor&) = delete;
  LinkAcceptor& operator=(const LinkAcceptor&) = delete;
  ~LinkAcceptor() = default;

  /// Appends the entries for poll(2). The caller must wait for at most AcceptRest::kRest, unless
  /// is_idle().
  void append_polled(std::vector<pollfd>& polled);
  /// Returns true if there is nothing to do before a new connection comes.
  [[nodiscard]] bool is_idle() const {
    return strangers_.empty() && greeted_.empty() && !rest_.rests() && !report_.next();
  }
  /// Handles the result of poll(2). `polled` must be exactly the entries that append_polled()
  /// appended.
  void handle(std::span<const pollfd> polled);
  /// Begins the handshake of a connection that was accepted, or made in another way.
  void adopt(Descriptor socket, const SocketAddress& from);
  /// Closes the oldest stranger to free its descriptor. Returns false if there is none.
  bool drop_oldest_stranger(const std::string& reason);
  /// Returns the reason why no connection can be accepted, or an empty text if that is possible.
  [[nodiscard]] const std::string& trouble() const { return rest_.trouble(); }
  /// Returns true if a connection that claims this number has shown a valid hello, and its
  /// handshake goes on.
  [[nodiscard]] bool is_greeting(std::int32_t number) const;
  /// Returns the reason why the latest connection with this number was turned away, or an empty
  /// text if there was none.
  [[nodiscard]] std::string turned_away(std::int32_t number) const;
  /// Closes all pending connections. Must be called when all expected connections are complete.
  void close_rest();

 private:
  struct Pending {
    Descriptor socket;
    SocketAddress from;
    Clock::time_point deadline;
    LinkJudge judge;
    std::optional<AcceptorHandshake> handshake;
    bool greeted = false;  ///< true if it is in `greeted_`
  };
  using List = std::list<Pending>;

  void accept_some(const Descriptor& listener);
  /// Returns false if there is no connection to accept at the moment.
  bool accept_one(const Descriptor& listener);
  /// Continues the handshake of `place`, and removes the entry when the handshake ends.
  void drive(List::iterator place);
  void turn_away(List::iterator place, const Error& reason);

  std::span<const Descriptor> listeners_;
  Options options_;
  StrangerReport report_;
  std::size_t most_strangers_;
  List strangers_;  ///< the oldest first
  List greeted_;    ///< connections with a valid hello
  std::vector<List::iterator> polled_;
  std::set<LinkNonce> seen_;  ///< of valid hellos
  std::map<std::int32_t, std::string> reasons_;
  AcceptRest rest_;
};

}  // namespace impishim::wire
