// SPDX-License-Identifier: Apache-2.0
#include "wire/statistics/process_statistics.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/call_statistics.hpp"
#include "wire/statistics/log_histogram.hpp"
#include "wire/statistics/time_line.hpp"

namespace impishim::wire {
namespace {

using Json = nlohmann::ordered_json;

/// The values of one histogram or interval by scope, without those that are empty.
template <class Value, class Convert>
Json by_scope(const ByScope<Value>& values, Convert convert) {
  Json object = Json::object();
  for (std::size_t i = 0; i < kScopes; ++i)
    object[std::string(kScopeNames[i])] = convert(values[i]);
  return object;
}

Json json_of(const LogHistogram& histogram) {
  Json counts = Json::array();
  for (std::size_t i = 0; i < histogram.used(); ++i) counts.push_back(histogram.counts[i]);
  return counts;
}

Json json_of(const PacketTraffic& traffic) {
  return {{"packets", traffic.packets}, {"bytes", traffic.bytes}};
}

Json json_of(const FunctionTime& function) {
  Json object = {{"name", function.name}};
  for (std::size_t i = 0; i < kScopes; ++i) {
    const CallTime& time = function.scopes[i];
    if (time.calls == 0) continue;
    object[std::string(kScopeNames[i])] = {
        {"calls", time.calls}, {"ns", time.ns}, {"durations", json_of(time.durations)}};
  }
  return object;
}

Json time_line_of(const ProcessStatistics& statistics) {
  Json bins = Json::array();
  for (const TimeBin& bin : statistics.time_line) bins.push_back({bin.ns, bin.bytes});
  return {{"bin_ns", statistics.bin_ns}, {"bins", std::move(bins)}};
}

/// Writes the object with one line for each of its members: a person can find them, and what has
/// many parts takes little room.
std::string text_of(const Json& object) {
  std::string text = "{";
  for (const auto& [name, value] : object.items()) {
    if (text.size() > 1) text += ',';
    fmt::format_to(std::back_inserter(text), "\n  {}: ", Json(name).dump());
    // Spaces behind colons, as tests and scripts have known the first members.
    if (value.is_object() && value.contains("packets")) {
      fmt::format_to(std::back_inserter(text), "{{\"packets\": {}, \"bytes\": {}}}",
                     value["packets"].dump(), value["bytes"].dump());
    } else {
      text += value.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }
  return text + "\n}\n";
}

std::uint64_t number_of(const Json& value) {
  if (!value.is_number_unsigned()) throw std::invalid_argument("a number is negative, or none");
  return value.get<std::uint64_t>();
}

std::int32_t index_in(const Json& value, std::string_view what) {
  const std::uint64_t number = number_of(value);
  if (number > INT32_MAX) throw std::invalid_argument(fmt::format("{} is too large", what));
  return static_cast<std::int32_t>(number);
}

/// Returns the number that is the name of a member.
std::int32_t index_of_name(const std::string& name) {
  std::int32_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index < 0)
    throw std::invalid_argument(fmt::format("\"{}\" is no rank and no system", name));
  return index;
}

LogHistogram histogram_of(const Json& counts) {
  LogHistogram histogram;
  if (!counts.is_array() || counts.size() > LogHistogram::kClasses)
    throw std::invalid_argument("a histogram has too many classes, or none");
  for (std::size_t i = 0; i < counts.size(); ++i) histogram.counts[i] = number_of(counts[i]);
  return histogram;
}

PacketTraffic traffic_of(const Json& object) {
  return {number_of(object.at("packets")), number_of(object.at("bytes"))};
}

FunctionTime function_of(const Json& object) {
  FunctionTime function;
  function.name = object.at("name").get<std::string>();
  for (std::size_t i = 0; i < kScopes; ++i) {
    const auto found = object.find(std::string(kScopeNames[i]));
    if (found == object.end()) continue;
    function.scopes[i] = {number_of(found->at("calls")), number_of(found->at("ns")),
                          histogram_of(found->at("durations"))};
  }
  return function;
}

TimeBin bin_of(const Json& pair) {
  TimeBin bin;
  for (std::size_t i = 0; i < kScopes; ++i) {
    bin.ns[i] = number_of(pair.at(0).at(i));
    bin.bytes[i] = number_of(pair.at(1).at(i));
  }
  return bin;
}

/// More are in no job; a file that claims more would take memory for each.
constexpr std::int32_t kMostRanks = 1 << 22;

void read_process(const Json& object, ProcessStatistics& statistics) {
  statistics.job = object.at("job").get<std::string>();
  statistics.rank = index_in(object.at("rank"), "the rank");
  statistics.size = index_in(object.at("size"), "the number of ranks");
  statistics.system = index_in(object.at("system"), "the system");
  statistics.host = object.at("host").get<std::string>();
  statistics.library = object.at("library").get<std::string>();
  statistics.began_us = object.at("began_us").get<std::int64_t>();
  statistics.elapsed_ns = number_of(object.at("elapsed_ns"));
  if (statistics.size > kMostRanks) throw std::invalid_argument("the number of ranks is too large");
  if (statistics.rank >= statistics.size)
    throw std::invalid_argument("the rank is not below the number of ranks");
}

void read_calls(const Json& object, ProcessStatistics& statistics) {
  for (const Json& each : object.at("functions")) statistics.functions.push_back(function_of(each));
  for (const auto& [name, value] : object.at("waited_ns").items())
    statistics.waited_ns[index_of_name(name)] = number_of(value);
  for (const auto& [name, value] : object.at("sent").items())
    statistics.sent[index_of_name(name)] = {number_of(value.at(0)), number_of(value.at(1))};
  const Json& sizes = object.at("message_bytes");
  for (std::size_t i = 0; i < kScopes; ++i)
    statistics.message_bytes[i] = histogram_of(sizes.at(std::string(kScopeNames[i])));
  if (const auto batches = object.find("batch_bytes"); batches != object.end()) {
    for (std::size_t i = 0; i < kScopes; ++i)
      statistics.batch_bytes[i] = histogram_of(batches->at(std::string(kScopeNames[i])));
  }
  if (const auto answers = object.find("answer_ns"); answers != object.end())
    statistics.answer_ns = histogram_of(*answers);
  const Json& line = object.at("time_line");
  statistics.bin_ns = number_of(line.at("bin_ns"));
  for (const Json& each : line.at("bins")) statistics.time_line.push_back(bin_of(each));
  if (statistics.bin_ns == 0 || statistics.time_line.size() > TimeLine::kMostBins)
    throw std::invalid_argument("the time line has no width, or too many intervals");
}

void read_engine(const Json& object, ProcessStatistics& statistics) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object() && value.contains("packets")) statistics.hops[name] = traffic_of(value);
  }
  for (const auto& [name, value] : object.at("counters").items())
    statistics.counters[name] = number_of(value);
  for (const Json& each : object.at("systems"))
    statistics.systems.push_back({index_in(each.at("system"), "a system"),
                                  traffic_of(each.at("sent")), traffic_of(each.at("received"))});
}

}  // namespace

std::string json_text(const ProcessStatistics& statistics) {
  Json object = {{"impishim_statistics", kStatisticsVersion},
                 {"job", statistics.job},
                 {"rank", statistics.rank},
                 {"size", statistics.size},
                 {"system", statistics.system},
                 {"host", statistics.host},
                 {"library", statistics.library},
                 {"began_us", statistics.began_us},
                 {"elapsed_ns", statistics.elapsed_ns}};
  for (const auto& [name, traffic] : statistics.hops) object[name] = json_of(traffic);
  for (const auto& [name, value] : statistics.counters) object[name] = value;
  object["counters"] = statistics.counters;
  Json systems = Json::array();
  for (const SystemPackets& each : statistics.systems)
    systems.push_back({{"system", each.system},
                       {"sent", json_of(each.sent)},
                       {"received", json_of(each.received)}});
  object["systems"] = std::move(systems);
  Json functions = Json::array();
  for (const FunctionTime& each : statistics.functions) functions.push_back(json_of(each));
  object["functions"] = std::move(functions);
  Json waited = Json::object();
  for (const auto& [system, ns] : statistics.waited_ns) waited[std::to_string(system)] = ns;
  object["waited_ns"] = std::move(waited);
  Json sent = Json::object();
  for (const auto& [rank, traffic] : statistics.sent)
    sent[std::to_string(rank)] = {traffic.messages, traffic.bytes};
  object["sent"] = std::move(sent);
  object["message_bytes"] =
      by_scope(statistics.message_bytes, [](const LogHistogram& each) { return json_of(each); });
  object["batch_bytes"] =
      by_scope(statistics.batch_bytes, [](const LogHistogram& each) { return json_of(each); });
  object["answer_ns"] = json_of(statistics.answer_ns);
  object["time_line"] = time_line_of(statistics);
  return text_of(object);
}

Result<ProcessStatistics> read_statistics(std::string_view text) {
  // The library for JSON throws; nothing of that leaves this function.
  try {
    const Json object = Json::parse(text);
    if (!object.is_object() || !object.contains("impishim_statistics"))
      return Error{ErrorKind::kConfiguration, "it has no statistics of this library"};
    const int version = object["impishim_statistics"].get<int>();
    if (version != kStatisticsVersion)
      return Error{ErrorKind::kConfiguration,
                   fmt::format("its form has version {}, and this program reads version {}",
                               version, kStatisticsVersion)};
    ProcessStatistics statistics;
    read_process(object, statistics);
    read_engine(object, statistics);
    read_calls(object, statistics);
    return statistics;
  } catch (const std::exception& error) {
    return Error{ErrorKind::kConfiguration, error.what()};
  }
}

}  // namespace impishim::wire
