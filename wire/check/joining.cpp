// SPDX-License-Identifier: Apache-2.0
#include "wire/check/joining.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/log.hpp"
#include "wire/base/node_name.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/check/facts.hpp"
#include "wire/check/meeting.hpp"
#include "wire/check/options.hpp"
#include "wire/check/report/diagnosis.hpp"
#include "wire/check/report/report.hpp"
#include "wire/check/report/report_codec.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/packet/packet.hpp"
#include "wire/settings/join_settings.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/tls/shared_secret.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::check {
namespace {

constexpr int kConnectTimeoutMs = 60000;
/// Connections that are measured together if the user has not chosen a number.
constexpr std::int32_t kStreamsToMeasure = 4;

/// A failure, and the step that it ended.
struct Failure {
  Step step;
  Error error;
};
using Outcome = std::optional<Failure>;

/// Returns the host names that the address of the server and the variable contain, and this
/// machine's own.
std::vector<HostName> names_in_use(const std::string& server, const wire::JoinSettings& settings,
                                   const std::vector<Interface>& interfaces) {
  std::vector<std::string> names{printable(node_name())};
  if (const auto parts = wire::split_address_and_port(server)) names.push_back(parts->first);
  std::istringstream stream(settings.address);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  std::vector<HostName> resolved;
  for (const std::string& name : names) {
    const bool is_interface =
        std::ranges::find(interfaces, name, &Interface::name) != interfaces.end();
    const bool is_number = name.find_first_not_of("0123456789.") == std::string::npos ||
                           name.find(':') != std::string::npos;
    const bool is_known = std::ranges::find(resolved, name, &HostName::name) != resolved.end();
    if (!name.empty() && !is_interface && !is_number && !is_known)
      resolved.push_back(resolve(name));
  }
  return resolved;
}

/// One check, step by step.
class Check {
 public:
  Check(const CheckOptions& options, const std::string& version) : options_(options) {
    report_.here = options.client;
    own().system = options.client;
    own().version = version;
    own().protocol = wire::impishim_protocol();
  }

  Report run() {
    for (const auto step : {&Check::describe, &Check::enter, &Check::compare, &Check::agree}) {
      const Outcome failed = (this->*step)();
      if (!failed) continue;
      report_.findings.push_back(finding_of(failed->step, options_.client, failed->error));
      break;
    }
    if (job_) measure();
    if (server_) leave();
    auto found = diagnose(report_);
    report_.findings.insert(report_.findings.end(), found.begin(), found.end());
    put_breaks_first(report_.findings);
    return std::move(report_);
  }

 private:
  [[nodiscard]] SystemReport& own() {
    if (report_.systems.empty()) report_.systems.emplace_back();
    const auto found = std::ranges::find(report_.systems, options_.client, &SystemReport::system);
    return found == report_.systems.end() ? report_.systems.front() : *found;
  }

  /// Collects what this system says of itself, and starts to listen.
  Outcome describe() {
    SystemReport& it = own();
    it.node = printable(node_name());
    it.kernel = kernel_name();
    it.server = options_.server;
    it.limits = read_limits();
    it.interfaces = read_interfaces();
    it.interfaces.resize(std::min(it.interfaces.size(), kMostElements));
    it.libraries = find_mpi_libraries();
    it.settings.processes = options_.processes;
    auto settings = wire::JoinSettings::from_environment();
    if (!settings) return Failure{Step::kSettings, settings.error()};
    settings_ = std::move(*settings);
    it.names = names_in_use(options_.server, settings_, it.interfaces);
    it.settings.streams = settings_.size.streams;
    it.settings.max_channels = settings_.size.max_channels;
    if (auto failed = describe_security()) return failed;
    return listen();
  }

  Outcome describe_security() {
    auto methods = wire::AuthenticationMethods::from_environment();
    if (!methods) return Failure{Step::kSettings, methods.error()};
    methods_ = std::move(*methods);
    Settings& it = own().settings;
    const wire::SharedSecret& shared = methods_.shared;
    it.encryption = shared.certificates ? "certificates" : shared.secret ? "secret" : "none";
    it.clear_allowed = shared.is_off;
    it.authentication = methods_.key ? "key" : "none";
    return {};
  }

  Outcome listen() {
    auto place = wire::find_place(settings_, options_.server);
    if (!place) return Failure{Step::kSettings, place.error()};
    place_ = std::move(*place);
    SystemReport& it = own();
    for (const wire::HostId& each : place_.announced) it.from.push_back(wire::address_text(each));
    it.settings.ports = settings_.ports_text;
    if (settings_.ports.first != 0) {
      it.settings.ports_all = settings_.ports.last - settings_.ports.first + 1;
      it.settings.ports_free = wire::count_free_ports(settings_, place_);
    }
    // Without a free port no job runs, and the findings say so. The rest can be checked all the
    // same.
    const bool has_port = it.settings.ports_all == 0 || it.settings.ports_free > 0;
    auto listener =
        wire::HostListener::open(place_.listening, has_port ? settings_.ports : wire::PortRange{});
    if (!listener) return Failure{Step::kSettings, listener.error()};
    listener_ = std::move(*listener);
    return {};
  }

  /// Joins the others at the server.
  Outcome enter() {
    auto server = wire::ServerConnection::connect(options_.server, options_.client, methods_,
                                                  kConnectTimeoutMs);
    if (!server) return Failure{Step::kServer, server.error()};
    server_ = std::move(*server);
    report_.systems_wanted = server_->client_count();
    return {};
  }

  /// Exchanges what each system says of itself.
  Outcome compare() {
    const std::string encoded = encode_system(own());
    ByteWriter data;
    data.put(static_cast<std::uint32_t>(encoded.size()));
    data.put_bytes(std::as_bytes(std::span(encoded)));
    auto answer = server_->exchange_label(
        static_cast<std::uint32_t>(wire::StartupLabel::kCheckReport), data.bytes());
    if (!answer) return Failure{Step::kAgreement, answer.error()};
    auto systems = decode_systems(answer->client_mask, report_.systems_wanted, answer->data);
    if (!systems) return Failure{Step::kAgreement, systems.error()};
    const auto mine = std::ranges::find(*systems, options_.client, &SystemReport::system);
    if (mine == systems->end())
      return Failure{Step::kAgreement,
                     {ErrorKind::kProtocol, "the server has lost the report of this system"}};
    // What this system knows of itself is not what came back.
    *mine = own();
    report_.systems = std::move(*systems);
    return {};
  }

  /// Agrees on a job, if all systems can.
  Outcome agree() {
    // Otherwise the findings say why there is nothing to agree on.
    const bool all_are_like_this =
        static_cast<std::int64_t>(report_.systems.size()) == report_.systems_wanted &&
        std::ranges::all_of(report_.systems, [](const SystemReport& each) {
          return each.protocol == wire::impishim_protocol();
        });
    if (!all_are_like_this) return {};
    wire::SystemSize size = settings_.size;
    size.client = options_.client;
    size.procs = 1;
    size.encrypted = server_->encrypted();
    const auto sizes = server_->exchange_sizes(size);
    if (!sizes) return Failure{Step::kAgreement, sizes.error()};
    const auto host_procs = wire::choose_host_procs(*sizes, server_->client_count());
    if (!host_procs) return Failure{Step::kAgreement, host_procs.error()};
    auto join = join_options();
    if (!join) return Failure{Step::kSettings, join.error()};
    auto agreed = server_->exchange(*join);
    if (!agreed) return Failure{Step::kAgreement, agreed.error()};
    if (!agreed->secret)
      return Failure{Step::kAgreement,
                     {ErrorKind::kProtocol, "the systems have not agreed on a secret of the job"}};
    if (!has_a_host_each(agreed->map))
      return Failure{Step::kAgreement,
                     {ErrorKind::kProtocol,
                      "a system has not joined with one host, as a check "
                      "does"}};
    job_ = std::move(*agreed);
    job_->map.set_encrypted(server_->encrypted());
    job_->map.set_reconnect(settings_.size.reconnect);
    job_->map.set_streams(settings_.size.streams == 1 ? kStreamsToMeasure : settings_.size.streams);
    return {};
  }

  /// Returns true if the hosts have the numbers of the systems, as MeetingTerms needs it.
  [[nodiscard]] bool has_a_host_each(const wire::JobMap& map) const {
    std::int32_t next = 0;
    return std::ranges::all_of(map.hosts(),
                               [&](const wire::Host& each) { return each.client == next++; }) &&
           next == server_->client_count();
  }

  [[nodiscard]] Result<wire::JoinOptions> join_options() const {
    auto values = wire::ClientValues::from_environment();
    if (!values) return values.error();
    wire::JoinOptions options;
    options.server = options_.server;
    options.client = options_.client;
    options.values = *values;
    options.representation = wire::representation_fingerprint();
    wire::LocalHost host;
    host.address = place_.announced.front();
    host.more_addresses.assign(place_.announced.begin() + 1, place_.announced.end());
    host.port = listener_->port();
    host.procs = {{host.address, getpid()}};
    host.node = printable(node_name());
    options.hosts = {host};
    return options;
  }

  void measure() {
    MeetingTerms terms{job_->map, options_.client, *job_->secret};
    terms.relay = relay_point();
    terms.tcp = settings_.tcp;
    terms.interfaces = own().interfaces;
    if (auto watched = server_->watch()) terms.watched = *watched;
    terms.given_up = [this] { return server_->given_up(); };
    report_.roads = measure_roads(terms, std::move(*listener_));
  }

  [[nodiscard]] std::optional<wire::RelayPoint> relay_point() const {
    if (!server_->relay()) return std::nullopt;
    const auto parts = wire::split_address_and_port(options_.server);
    const auto host = parts ? wire::parse_address(parts->first) : parts.error();
    if (!host) return std::nullopt;
    return wire::RelayPoint{wire::SocketAddress::of(*host, parts->second), *server_->relay()};
  }

  void leave() {
    if (!job_) return server_.reset();  // the server ends the others, which find the same
    auto finished = server_->finish();
    if (!finished) log(LogArea::kStartup, LogLevel::kWarn, "{}", finished.error().text);
  }

  const CheckOptions& options_;
  Report report_;
  wire::JoinSettings settings_;
  wire::AuthenticationMethods methods_;
  wire::HostPlace place_;
  std::optional<wire::HostListener> listener_;
  std::optional<wire::ServerConnection> server_;
  std::optional<wire::Agreement> job_;
};

}  // namespace

Report check_systems(const CheckOptions& options, const std::string& version) {
  return Check(options, version).run();
}

}  // namespace impishim::check
