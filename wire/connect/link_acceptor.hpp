/// The accepting end of connections within a job: takes in the right ones by their handshake, and
/// bounds what strangers can take of this process in number, bytes and time.
///
/// A stranger is a connection whose hello has not shown that it knows the job's secret. There are
/// at most kMostStrangers at a time, and never more than an eighth of the descriptors that this
/// process may have. The oldest goes when there is one more, and none stays longer than
/// kIntroductionTime. Connections with a right hello are not counted: only processes of the job
/// make them. Without descriptors strangers are closed first, and then the listener rests for a
/// while; the job goes on.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/stranger_report.hpp"
#include "wire/channel/accept_rest.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/link_handshake.hpp"

namespace impishim::wire {

class LinkAcceptor {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostStrangers = 64;
  /// How long a connection may take for its handshake.
  static constexpr auto kIntroductionTime = std::chrono::seconds(10);

  struct Options {
    std::string log_prefix;
    std::optional<LinkTerms> terms;  ///< none: only foreign connectors are awaited
    /// As LinkJudge::claim, for a connection from `from`.
    std::function<LinkJudgement(std::int32_t number, const SocketAddress& from)> judge;
    /// Takes a connection whose handshake is over; judge() knows of it from then on.
    std::function<void(std::int32_t number, Descriptor socket)> take;
    /// Connectors drop attempts as a matter of course: one that ends early is no news.
    bool may_end_early = false;
  };

  /// `listener` is non-blocking and outlives this object.
  LinkAcceptor(const Descriptor& listener, Options options);
  LinkAcceptor(const LinkAcceptor&) = delete;
  LinkAcceptor& operator=(const LinkAcceptor&) = delete;
  ~LinkAcceptor() = default;

  /// Appends what poll(2) shall wait for, for at most AcceptRest::kRest.
  void append_polled(std::vector<pollfd>& polled);
  /// After poll(2). `polled`: exactly what append_polled() appended.
  void handle(std::span<const pollfd> polled);
  /// Closes the oldest stranger, for its descriptor. False: there is none.
  bool drop_oldest_stranger(const std::string& reason);
  /// Why no connection can be accepted; empty: it is possible.
  [[nodiscard]] const std::string& trouble() const { return rest_.trouble(); }
  /// Why the latest connection that claimed this number was turned away; empty: there was none.
  [[nodiscard]] std::string turned_away(std::int32_t number) const;
  /// Closes all that is not over; to be called when all that was awaited is there.
  void close_rest();

 private:
  struct Pending {
    Descriptor socket;
    SocketAddress from;
    Clock::time_point deadline;
    LinkJudge judge;
    std::optional<AcceptorHandshake> handshake;
    bool greeted = false;  ///< in `greeted_`
  };
  using List = std::list<Pending>;

  void accept_some();
  /// False: there is none at the moment.
  bool accept_one();
  void begin(Descriptor socket, const SocketAddress& from);
  /// Drives the handshake of `place`, and removes it when it is over.
  void drive(List::iterator place);
  void turn_away(List::iterator place, const Error& reason);

  const Descriptor& listener_;
  Options options_;
  StrangerReport report_;
  std::size_t most_strangers_;
  List strangers_;  ///< the oldest first
  List greeted_;    ///< with a right hello
  std::vector<List::iterator> polled_;
  std::set<LinkNonce> seen_;  ///< of right hellos
  std::map<std::int32_t, std::string> reasons_;
  AcceptRest rest_;
};

}  // namespace impishim::wire
