// SPDX-License-Identifier: Apache-2.0
#include "wire/check/report_codec.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/check/report.hpp"

namespace impishim::check {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostDepth = 6;
constexpr std::int64_t kMostSystems = 32;

template <class Value>
constexpr bool kIsList = false;
template <class Element>
constexpr bool kIsList<std::vector<Element>> = true;

/// Writes the fields of an object that a describe() function names.
class Writer {
 public:
  template <class Value>
  void field(const char* name, const Value& value) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
      json_[name] = value;
    } else if constexpr (kIsList<Value>) {
      Json list = Json::array();
      for (const auto& each : value) list.push_back(element(each));
      json_[name] = std::move(list);
    } else {
      json_[name] = written(value);
    }
  }
  template <class Value>
  [[nodiscard]] static Json written(const Value& value) {
    Writer writer;
    describe(writer, value);
    return writer.take();
  }
  [[nodiscard]] Json take() { return std::move(json_); }

 private:
  template <class Value>
  [[nodiscard]] static Json element(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>)
      return value;
    else
      return written(value);
  }

  Json json_ = Json::object();
};

/// Reads the fields of an object, and remembers the first one that has a wrong type.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {
    if (!json.is_object()) wrong_ = "it is no object";
  }
  template <class Value>
  void field(const char* name, Value& value) {
    if (!wrong_.empty()) return;
    const auto found = json_.find(name);
    if (found == json_.end()) return;
    read(*found, value);
    if (!wrong_.empty()) wrong_ = fmt::format("{}: {}", name, wrong_);
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  void read(const Json& json, std::string& value) {
    if (const auto* text = json.get_ptr<const std::string*>())
      value = printable(*text, kMostText);
    else
      wrong_ = "a text belongs there";
  }
  void read(const Json& json, bool& value) {
    if (const auto* truth = json.get_ptr<const bool*>())
      value = *truth;
    else
      wrong_ = "true or false belongs there";
  }
  void read(const Json& json, std::int64_t& value) {
    const auto number = json.is_number_integer() ? json.get<std::int64_t>() : -1;
    // What is unsigned and too large has become negative.
    if (number < 0)
      wrong_ = "a whole number belongs there";
    else
      value = number;
  }
  void read(const Json& json, double& value) {
    const double number = json.is_number() ? json.get<double>() : NAN;
    if (!std::isfinite(number))
      wrong_ = "a number belongs there";
    else
      value = number;
  }
  template <class Element>
  void read(const Json& json, std::vector<Element>& value) {
    if (!json.is_array() || json.size() > kMostElements) {
      wrong_ = fmt::format("a list of at most {} elements belongs there", kMostElements);
      return;
    }
    for (const Json& each : json) {
      read(each, value.emplace_back());
      if (!wrong_.empty()) return;
    }
  }
  template <class Object>
  void read(const Json& json, Object& value) {
    Reader inner(json);
    describe(inner, value);
    wrong_ = inner.wrong();
  }

  const Json& json_;
  std::string wrong_;
};

/// Calls `archive.field` for each field of an object, which is const for a Writer.
template <class Archive, class Object>
requires std::is_same_v<std::remove_const_t<Object>, MpiLibrary>
void describe(Archive& archive, Object& it) {
  archive.field("name", it.name);
  archive.field("file", it.file);
  archive.field("version", it.version);
  archive.field("error", it.error);
}

template <class Archive, class Object>
requires std::is_same_v<std::remove_const_t<Object>, Interface>
void describe(Archive& archive, Object& it) {
  archive.field("name", it.name);
  archive.field("address", it.address);
  archive.field("mtu", it.mtu);
}

template <class Archive, class Object>
requires std::is_same_v<std::remove_const_t<Object>, HostName>
void describe(Archive& archive, Object& it) {
  archive.field("name", it.name);
  archive.field("address", it.address);
}

template <class Archive, class Object>
requires std::is_same_v<std::remove_const_t<Object>, Limits>
void describe(Archive& archive, Object& it) {
  archive.field("descriptors", it.descriptors);
  archive.field("descriptors_hard", it.descriptors_hard);
  archive.field("shared_memory", it.shared_memory);
  archive.field("shared_memory_free", it.shared_memory_free);
  archive.field("memory", it.memory);
  archive.field("memory_available", it.memory_available);
  archive.field("receive_buffer", it.receive_buffer);
  archive.field("send_buffer", it.send_buffer);
  archive.field("receive_window", it.receive_window);
  archive.field("send_window", it.send_window);
  archive.field("congestion", it.congestion);
}

template <class Archive, class Object>
requires std::is_same_v<std::remove_const_t<Object>, Settings>
void describe(Archive& archive, Object& it) {
  archive.field("encryption", it.encryption);
  archive.field("clear_allowed", it.clear_allowed);
  archive.field("authentication", it.authentication);
  archive.field("ports", it.ports);
  archive.field("ports_free", it.ports_free);
  archive.field("ports_all", it.ports_all);
  archive.field("streams", it.streams);
  archive.field("max_channels", it.max_channels);
  archive.field("processes", it.processes);
}

template <class Archive, class Object>
requires std::is_same_v<std::remove_const_t<Object>, SystemReport>
void describe(Archive& archive, Object& it) {
  archive.field("system", it.system);
  archive.field("version", it.version);
  archive.field("protocol", it.protocol);
  archive.field("node", it.node);
  archive.field("kernel", it.kernel);
  archive.field("server", it.server);
  archive.field("from", it.from);
  archive.field("libraries", it.libraries);
  archive.field("interfaces", it.interfaces);
  archive.field("names", it.names);
  archive.field("limits", it.limits);
  archive.field("settings", it.settings);
}

template <class Archive, class Object>
requires std::is_same_v<std::remove_const_t<Object>, Road>
void describe(Archive& archive, Object& it) {
  archive.field("from", it.from);
  archive.field("to", it.to);
  archive.field("joined", it.joined);
  archive.field("relayed", it.relayed);
  archive.field("connects", it.connects);
  archive.field("why_not", it.why_not);
  archive.field("encrypted", it.encrypted);
  archive.field("local", it.local);
  archive.field("remote", it.remote);
  archive.field("interface", it.interface);
  archive.field("mtu", it.mtu);
  archive.field("path_mtu", it.path_mtu);
  archive.field("congestion", it.congestion);
  archive.field("round_trip_us", it.round_trip_us);
  archive.field("round_trip_99_us", it.round_trip_99_us);
  archive.field("clock_ahead_us", it.clock_ahead_us);
  archive.field("clock_error_us", it.clock_error_us);
  archive.field("rate", it.rate);
  archive.field("rate_streams", it.rate_streams);
  archive.field("streams", it.streams);
  archive.field("trouble", it.trouble);
}

template <class Archive, class Object>
requires std::is_same_v<std::remove_const_t<Object>, Finding>
void describe(Archive& archive, Object& it) {
  archive.field("breaks", it.breaks);
  archive.field("systems", it.systems);
  archive.field("cause", it.cause);
  archive.field("cure", it.cure);
}

std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Parses JSON of bounded length and depth.
Result<Json> parse(std::span<const std::byte> bytes) {
  const auto fail = [](const char* why) {
    return Error{ErrorKind::kProtocol, fmt::format("another system's report: {}", why)};
  };
  if (bytes.size() > kMostReportBytes) return fail("it is too long");
  bool too_deep = false;
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMostDepth;
    return !too_deep;
  };
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Json json = Json::parse(text, limit_depth, false);
  if (too_deep) return fail("it is nested too deeply");
  if (json.is_discarded()) return fail("it is no JSON");
  return json;
}

Error wrong_field(const std::string& what) {
  return {ErrorKind::kProtocol, fmt::format("another system's report: {}", what)};
}

/// Returns true if a number can be that of a system.
bool is_system(std::int64_t number) { return number >= 0 && number < kMostSystems; }

}  // namespace

std::string encode_system(const SystemReport& report) { return compact(Writer::written(report)); }

Result<SystemReport> decode_system(std::span<const std::byte> bytes) {
  const auto json = parse(bytes);
  if (!json) return json.error();
  for (const char* needed : {"system", "version", "protocol"})
    if (!json->is_object() || !json->contains(needed))
      return wrong_field(fmt::format("{} is missing", needed));
  SystemReport report;
  Reader reader(*json);
  describe(reader, report);
  if (!reader.wrong().empty()) return wrong_field(reader.wrong());
  if (!is_system(report.system)) return wrong_field("its number is impossible");
  return report;
}

Result<std::vector<SystemReport>> decode_systems(std::uint32_t mask, std::int64_t count,
                                                 std::span<const std::byte> bytes) {
  std::vector<SystemReport> systems;
  ByteReader reader(bytes);
  for (std::int64_t system = 0; system < kMostSystems; ++system) {
    if ((mask >> system & 1U) == 0) continue;
    if (system >= count)
      return Error{ErrorKind::kProtocol,
                   fmt::format("a report of system {}, of {} systems", system, count)};
    const auto size = reader.get<std::uint32_t>();
    const auto told = size ? reader.get_bytes(*size) : std::nullopt;
    if (!told)
      return Error{ErrorKind::kProtocol, fmt::format("the report of system {} is cut", system)};
    auto report = decode_system(*told);
    if (!report) return report.error();
    report->system = system;
    systems.push_back(std::move(*report));
  }
  return systems;
}

std::string encode_roads(const std::vector<Road>& roads) {
  Json list = Json::array();
  for (const Road& each : roads) list.push_back(Writer::written(each));
  return compact(list);
}

Result<std::vector<Road>> decode_roads(std::span<const std::byte> bytes) {
  const auto json = parse(bytes);
  if (!json) return json.error();
  if (!json->is_array() || json->size() > kMostElements)
    return wrong_field(fmt::format("a list of at most {} roads is needed", kMostElements));
  std::vector<Road> roads;
  for (const Json& each : *json) {
    Reader reader(each);
    describe(reader, roads.emplace_back());
    if (!reader.wrong().empty()) return wrong_field(reader.wrong());
    if (!is_system(roads.back().from) || !is_system(roads.back().to))
      return wrong_field("a road of an impossible system");
  }
  return roads;
}

std::string report_json(const Report& report) {
  Json json;
  json["format"] = kReportFormat;
  json["ok"] = passes(report);
  json["here"] = report.here;
  json["systems_wanted"] = report.systems_wanted;
  Writer lists;
  lists.field("systems", report.systems);
  lists.field("roads", report.roads);
  lists.field("findings", report.findings);
  json.update(lists.take());
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace impishim::check
