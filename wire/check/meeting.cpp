// SPDX-License-Identifier: Apache-2.0
#include "wire/check/meeting.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ratio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/check/line.hpp"
#include "wire/check/measure.hpp"
#include "wire/check/report/report.hpp"
#include "wire/check/report/report_codec.hpp"
#include "wire/check/socket_facts.hpp"
#include "wire/connect/host_channels.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/reconnect/link_repair.hpp"
#include "wire/reconnect/reconnector.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/reconnect_time.hpp"

namespace impishim::check {
namespace {

/// Time within which hosts must have connected in one way or another. A job waits longer, for
/// processes that start late; here all have joined.
constexpr auto kMeetingTime = std::chrono::seconds(10);
/// Time for one direction: that after which a job turns to the relay.
constexpr auto kDirectionTime = std::chrono::seconds(3);
constexpr auto kHandshakeTime = std::chrono::seconds(60);
constexpr auto kLeastRateTime = std::chrono::milliseconds(500);
constexpr auto kMostRateTime = std::chrono::milliseconds(5000);
/// Silence after which a connection is stuck, when both ends are busy with it alone.
constexpr auto kStuckTime = std::chrono::seconds(15);
constexpr auto kCloseTime = std::chrono::seconds(2);

int milliseconds(std::chrono::milliseconds time) { return static_cast<int>(time.count()); }

class Meeting {
 public:
  Meeting(const MeetingTerms& terms, wire::HostListener listener)
      : terms_(terms), listener_(std::move(listener)) {
    for (std::int32_t host = 0; host < host_count(); ++host) {
      if (host == terms_.here) continue;
      Road& road = roads_[host];
      road.from = terms_.here;
      road.to = host;
      road.encrypted = terms_.job.values().encrypted;
    }
  }

  std::vector<Road> run() {
    connect();
    // Each host meets the others in the order of their numbers, so that no two wait for each other
    // in a circle.
    each_line([this](std::int32_t host, Line& line) { return measure(host, line); });
    // Further connections may come only when the listener belongs to the reconnector.
    each_line([](std::int32_t, Line& line) { return meet(line); });
    widen();
    each_line([this](std::int32_t host, Line& line) { return measure_streams(host, line); });
    std::vector<Road> all = tell();
    part();
    return all;
  }

 private:
  [[nodiscard]] std::int32_t host_count() const {
    return static_cast<std::int32_t>(terms_.job.hosts().size());
  }
  [[nodiscard]] wire::RepairTerms repair_terms() const {
    wire::RepairTerms repair{terms_.job, terms_.here, terms_.secret, terms_.relay, terms_.tcp};
    return repair;
  }

  /// Ends what is done with a host, and notes the reason.
  void give_up(std::int32_t host, const Error& error) {
    Road& road = roads_.at(host);
    if (road.trouble.empty()) road.trouble = printable(error.text, kMostText);
    lines_.erase(host);
  }

  /// Calls `act` for each host to which there is a line, in the order of their numbers.
  template <class Act>
  void each_line(const Act& act) {
    std::vector<std::int32_t> hosts;
    for (const auto& [host, line] : lines_) hosts.push_back(host);
    for (const std::int32_t host : hosts) {
      auto done = act(host, lines_.at(host));
      if (!done) give_up(host, done.error());
    }
  }

  /// Connects with all others, and makes the lines.
  void connect() {
    std::vector<wire::HostConnection> connections;
    wire::DanceOptions options{terms_.secret, milliseconds(kMeetingTime), terms_.watched,
                               terms_.given_up};
    options.relay = terms_.relay;
    const auto take = [&](std::int32_t host, std::int32_t, Descriptor socket) -> Result<void> {
      connections.emplace_back(host, std::move(socket));
      return {};
    };
    const auto connected = wire::connect_hosts(terms_.job, terms_.here, listener_, options, take);
    const auto repair = repair_terms();
    for (const auto& [host, socket] : connections) {
      Road& road = roads_.at(host);
      road.joined = true;
      describe_socket(socket, terms_.interfaces, road);
      links_[host] = wire::describe_link(repair, host, socket);
      road.relayed = links_[host].through_relay;
    }
    for (auto& [host, road] : roads_)
      if (!road.joined && !connected) road.why_not = printable(connected.error().text, kMostText);
    make_lines(std::move(connections));
  }

  void make_lines(std::vector<wire::HostConnection> connections) {
    const std::optional<JobSecret> secret(terms_.secret);
    auto channels =
        wire::make_host_channels(terms_.job, terms_.here, std::move(connections),
                                 {secret, milliseconds(kMeetingTime + kHandshakeTime), terms_.tcp});
    if (!channels) {
      for (auto& [host, road] : roads_)
        if (road.joined) road.trouble = printable(channels.error().text, kMostText);
      return;
    }
    for (auto& [host, channel] : *channels) {
      Line& line = lines_.emplace(host, Line(std::move(channel))).first->second;
      line.set_patience(turn_time());
    }
  }

  /// Tries out if `from`, which is this host or the other one, can connect.
  void try_direction(std::int32_t host, std::int32_t from) {
    wire::DanceOptions options{terms_.secret, milliseconds(kDirectionTime), -1, {}};
    options.is_partner = [host](std::int32_t each) { return each == host; };
    options.connector = from;
    Road& road = roads_.at(host);
    const auto take = [&](std::int32_t, std::int32_t, Descriptor socket) -> Result<void> {
      if (from == terms_.here) describe_socket(socket, terms_.interfaces, road);
      return {};
    };
    const auto connected = wire::connect_hosts(terms_.job, terms_.here, listener_, options, take);
    if (from != terms_.here) return;
    road.connects = connected.ok();
    if (!connected) road.why_not = printable(connected.error().text, kMostText);
  }

  [[nodiscard]] std::chrono::milliseconds rate_time(std::int32_t host) const {
    const auto trip = std::chrono::duration<double, std::micro>(roads_.at(host).round_trip_us);
    const auto wanted = std::chrono::duration_cast<std::chrono::milliseconds>(20 * trip);
    return std::clamp<std::chrono::milliseconds>(wanted, kLeastRateTime, kMostRateTime);
  }

  /// Calls `lead` on one end and `answer` on the other one, then the other way round.
  template <class Lead, class Answer>
  Result<void> in_turns(std::int32_t host, const Lead& lead, const Answer& answer) {
    const bool first = terms_.here < host;
    auto done = first ? lead() : answer();
    if (!done) return done;
    return first ? answer() : lead();
  }

  Result<void> measure(std::int32_t host, Line& line) {
    Road& road = roads_.at(host);
    for (const std::int32_t from : {std::min(host, terms_.here), std::max(host, terms_.here)}) {
      auto met = meet(line);
      if (!met) return met;
      try_direction(host, from);
    }
    auto met = meet(line);
    if (!met) return met;
    line.set_patience(kStuckTime);
    auto measured = measure_line(host, line, road);
    line.set_patience(turn_time());
    return measured;
  }

  /// Others are busy with each other before it is their turn.
  [[nodiscard]] std::chrono::milliseconds turn_time() const {
    return Line::kPatience + 4 * host_count() * kMostRateTime;
  }

  Result<void> measure_line(std::int32_t host, Line& line, Road& road) {
    auto timed = in_turns(
        host, [&] { return store_round_trips(line, road); },
        [&] { return answer_round_trips(line); });
    if (!timed) return timed;
    return in_turns(
        host, [&] { return store_rate(line, rate_time(host), road.rate); },
        [&] { return answer_rate(line); });
  }

  static Result<void> store_round_trips(Line& line, Road& road) {
    auto trips = lead_round_trips(line);
    if (!trips) return trips.error();
    road.round_trip_us = trips->median_us;
    road.round_trip_99_us = trips->most_us;
    road.clock_ahead_us = trips->clock_ahead_us;
    road.clock_error_us = trips->clock_error_us;
    return {};
  }

  static Result<void> store_rate(Line& line, std::chrono::milliseconds time, double& rate) {
    auto measured = lead_rate(line, time);
    if (!measured) return measured.error();
    rate = *measured;
    return {};
  }

  [[nodiscard]] bool is_widened(std::int32_t host) const {
    // Further connections keep away from the relay.
    return reconnector_ != nullptr && !roads_.at(host).relayed &&
           wire::streams_between(terms_.job, terms_.here, host) > 1;
  }

  /// Gives the lines several connections each, where a job could have them.
  void widen() {
    const bool any = std::ranges::any_of(lines_, [&](const auto& each) {
      return wire::streams_between(terms_.job, terms_.here, each.first) > 1;
    });
    if (!any) return;
    repair_.emplace(repair_terms());
    wire::ReconnectorDoors doors;
    doors.listener = std::move(listener_);
    auto made = wire::Reconnector::make(*repair_, std::move(doors));
    if (made) reconnector_ = std::move(*made);
    each_line([&](std::int32_t host, Line& line) -> Result<void> {
      if (!made) return made.error();
      if (!is_widened(host)) return {};
      auto channel = reconnector_->make_resumable(line.take(), links_.at(host));
      if (!channel) return channel.error();
      line = Line(std::move(*channel));
      line.set_patience(turn_time());
      return {};
    });
    if (reconnector_) reconnector_->start();
  }

  Result<void> measure_streams(std::int32_t host, Line& line) {
    if (!is_widened(host)) return {};
    Road& road = roads_.at(host);
    auto met = meet(line);
    if (!met) return met;
    auto measured = in_turns(
        host, [&] { return store_rate(line, rate_time(host), road.rate_streams); },
        [&] { return answer_rate(line); });
    if (measured) road.streams = wire::streams_between(terms_.job, terms_.here, host);
    return measured;
  }

  /// Tells the others what has been measured here, and returns all roads.
  std::vector<Road> tell() {
    std::vector<Road> own;
    for (const auto& [host, road] : roads_) own.push_back(road);
    std::vector<Road> all = own;
    const std::string encoded = encode_roads(own);
    each_line([&](std::int32_t, Line& line) {
      return line.send_frame(std::as_bytes(std::span(encoded)));
    });
    each_line([&](std::int32_t host, Line& line) -> Result<void> {
      auto frame = line.receive_frame(kMostReportBytes);
      if (!frame) return frame.error();
      auto roads = decode_roads(*frame);
      if (!roads) return roads.error();
      for (Road& each : *roads)
        if (each.from == host && each.to < host_count()) all.push_back(std::move(each));
      return {};
    });
    return all;
  }

  /// Keeps the connections until the others have everything, or have gone.
  void part() {
    const std::byte word{0};
    std::byte answer{0};
    for (auto& [host, line] : lines_) {
      line.set_patience(kCloseTime);
      // One that has gone already has everything that it wanted.
      [[maybe_unused]] const auto sent = line.send({&word, 1});
    }
    for (auto& [host, line] : lines_)
      [[maybe_unused]] const auto received = line.receive({&answer, 1});
    reconnector_.reset();
  }

  const MeetingTerms& terms_;
  wire::HostListener listener_;
  std::map<std::int32_t, Road> roads_;  ///< by the other host
  std::map<std::int32_t, wire::RepairedLink> links_;
  std::optional<wire::RepairTerms> repair_;  ///< the reconnector's
  std::unique_ptr<wire::Reconnector> reconnector_;
  std::map<std::int32_t, Line> lines_;  ///< before the reconnector ends
};

}  // namespace

std::vector<Road> measure_roads(const MeetingTerms& terms, wire::HostListener listener) {
  return Meeting(terms, std::move(listener)).run();
}

}  // namespace impishim::check
