// SPDX-License-Identifier: Apache-2.0
#include "wire/check/report/report_codec.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/check/report/report.hpp"

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

/// The name of a field in JSON, and the field.
template <class Object, class Value>
struct Field {
  const char* name;
  Value Object::*member;
};
template <class Object, class Value>
Field(const char*, Value Object::*) -> Field<Object, Value>;

/// The fields of each class, in the order in which they are written.
template <class Object>
constexpr std::nullptr_t kFields = nullptr;

template <>
constexpr auto kFields<MpiLibrary> = std::tuple(Field{"name", &MpiLibrary::name},
                                                Field{"file", &MpiLibrary::file},
                                                Field{"version", &MpiLibrary::version},
                                                Field{"error", &MpiLibrary::error});

template <>
constexpr auto kFields<Interface> = std::tuple(Field{"name", &Interface::name},
                                               Field{"address", &Interface::address},
                                               Field{"mtu", &Interface::mtu});

template <>
constexpr auto kFields<HostName> = std::tuple(Field{"name", &HostName::name},
                                              Field{"address", &HostName::address});

template <>
constexpr auto kFields<Limits> = std::tuple(
    Field{"descriptors", &Limits::descriptors},
    Field{"descriptors_hard", &Limits::descriptors_hard},
    Field{"shared_memory", &Limits::shared_memory},
    Field{"shared_memory_free", &Limits::shared_memory_free}, Field{"memory", &Limits::memory},
    Field{"memory_available", &Limits::memory_available},
    Field{"receive_buffer", &Limits::receive_buffer}, Field{"send_buffer", &Limits::send_buffer},
    Field{"receive_window", &Limits::receive_window}, Field{"send_window", &Limits::send_window},
    Field{"congestion", &Limits::congestion});

template <>
constexpr auto kFields<Settings> = std::tuple(
    Field{"encryption", &Settings::encryption}, Field{"clear_allowed", &Settings::clear_allowed},
    Field{"authentication", &Settings::authentication}, Field{"ports", &Settings::ports},
    Field{"ports_free", &Settings::ports_free}, Field{"ports_all", &Settings::ports_all},
    Field{"streams", &Settings::streams}, Field{"max_channels", &Settings::max_channels},
    Field{"processes", &Settings::processes});

template <>
constexpr auto kFields<SystemReport> =
    std::tuple(Field{"system", &SystemReport::system}, Field{"version", &SystemReport::version},
               Field{"protocol", &SystemReport::protocol}, Field{"node", &SystemReport::node},
               Field{"kernel", &SystemReport::kernel}, Field{"server", &SystemReport::server},
               Field{"from", &SystemReport::from}, Field{"libraries", &SystemReport::libraries},
               Field{"interfaces", &SystemReport::interfaces}, Field{"names", &SystemReport::names},
               Field{"limits", &SystemReport::limits}, Field{"settings", &SystemReport::settings});

template <>
constexpr auto kFields<Road> = std::tuple(
    Field{"from", &Road::from}, Field{"to", &Road::to}, Field{"joined", &Road::joined},
    Field{"relayed", &Road::relayed}, Field{"connects", &Road::connects},
    Field{"why_not", &Road::why_not}, Field{"encrypted", &Road::encrypted},
    Field{"local", &Road::local}, Field{"remote", &Road::remote},
    Field{"interface", &Road::interface}, Field{"mtu", &Road::mtu},
    Field{"path_mtu", &Road::path_mtu}, Field{"congestion", &Road::congestion},
    Field{"round_trip_us", &Road::round_trip_us},
    Field{"round_trip_99_us", &Road::round_trip_99_us},
    Field{"clock_ahead_us", &Road::clock_ahead_us}, Field{"clock_error_us", &Road::clock_error_us},
    Field{"rate", &Road::rate}, Field{"rate_streams", &Road::rate_streams},
    Field{"streams", &Road::streams}, Field{"trouble", &Road::trouble});

template <>
constexpr auto kFields<Finding> = std::tuple(Field{"breaks", &Finding::breaks},
                                             Field{"systems", &Finding::systems},
                                             Field{"cause", &Finding::cause},
                                             Field{"cure", &Finding::cure});

/// Calls `archive.field` for each field of an object, which is const for a Writer.
template <class Archive, class Object>
void describe(Archive& archive, Object& it) {
  std::apply([&](const auto&... each) { (archive.field(each.name, it.*each.member), ...); },
             kFields<std::remove_const_t<Object>>);
}

std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error wrong_report(const std::string& what) {
  return {ErrorKind::kProtocol, fmt::format("another system's report: {}", what)};
}

/// Parses JSON of bounded length and depth.
Result<Json> parse(std::span<const std::byte> bytes) {
  if (bytes.size() > kMostReportBytes) return wrong_report("it is too long");
  bool too_deep = false;
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kMostDepth;
    return !too_deep;
  };
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Json json = Json::parse(text, limit_depth, false);
  if (too_deep) return wrong_report("it is nested too deeply");
  if (json.is_discarded()) return wrong_report("it is no JSON");
  return json;
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
      return wrong_report(fmt::format("{} is missing", needed));
  SystemReport report;
  Reader reader(*json);
  describe(reader, report);
  if (!reader.wrong().empty()) return wrong_report(reader.wrong());
  if (!is_system(report.system)) return wrong_report("its number is impossible");
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
    return wrong_report(fmt::format("a list of at most {} roads is needed", kMostElements));
  std::vector<Road> roads;
  for (const Json& each : *json) {
    Reader reader(each);
    describe(reader, roads.emplace_back());
    if (!reader.wrong().empty()) return wrong_report(reader.wrong());
    if (!is_system(roads.back().from) || !is_system(roads.back().to))
      return wrong_report("a road of an impossible system");
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
