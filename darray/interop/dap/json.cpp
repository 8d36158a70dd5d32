// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace impishim::darray::dap {

namespace {

using Json = nlohmann::json;

Json parse(std::string_view text, const char* what) {
  const auto shallow = [](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest) fail(ErrorKind::kProtocol, "JSON nested more than {} deep", kDeepest);
    return true;
  };
  Json json = Json::parse(text, shallow, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::kProtocol, "{} is not JSON", what);
  return json;
}

std::optional<Index> integer_of(const Json& json) {
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()))
    return std::nullopt;
  return json.is_number_integer() ? std::optional(json.get<Index>()) : std::nullopt;
}

std::optional<std::vector<Index>> integers_of(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<Index> values;
  for (const Json& item : json) {
    const auto value = integer_of(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Value value_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return {json.get<bool>()};
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      if (const auto number = integer_of(json)) return {*number};
      return {Other{"an integer beyond 64 bits"}};
    case Json::value_t::number_float:
      return {json.get<double>()};
    case Json::value_t::string:
      return {json.get<std::string>()};
    case Json::value_t::array: {
      Value::Sequence items;
      for (const Json& item : json) items.push_back(value_of(item));
      return {std::move(items)};
    }
    case Json::value_t::object: {
      Dictionary dictionary;
      for (const auto& [key, item] : json.items()) dictionary.emplace(key, value_of(item));
      return {std::move(dictionary)};
    }
    default:
      return {};
  }
}

Dictionary dictionary_of(const Json& json) {
  Dictionary dictionary;
  for (const auto& [key, item] : json.items()) {
    auto labels = key == "indices" ? integers_of(item) : std::nullopt;
    dictionary.emplace(key, labels ? Value{IntegerBuffer{std::move(*labels)}} : value_of(item));
  }
  return dictionary;
}

/// Returns the dictionaries, or nothing if the JSON value is not a list of objects.
std::optional<std::vector<Dictionary>> dictionaries_of(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<Dictionary> dictionaries;
  for (const Json& item : json) {
    if (!item.is_object()) return std::nullopt;
    dictionaries.push_back(dictionary_of(item));
  }
  return dictionaries;
}

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const Value::Sequence& items) const {
    Json json = Json::array();
    for (const Value& item : items) json.push_back(std::visit(*this, item.held));
    return json;
  }
  Json operator()(const IntegerBuffer& buffer) const { return buffer.values; }
  Json operator()(const Dictionary& dictionary) const {
    Json json = Json::object();
    for (const auto& [key, value] : dictionary) json[key] = std::visit(*this, value.held);
    return json;
  }
  Json operator()(const Other& other) const { return other.what; }
  Json operator()(const auto& plain) const { return plain; }
};

Json json_of(std::span<const DimData> dimensions) {
  Json list = Json::array();
  for (const DimData& dimension : dimensions) list.push_back(ToJson{}(to_dictionary(dimension)));
  return list;
}

Json json_of(const Buffer& buffer) {
  return {{"version", 3},
          {"typestr", buffer.typestr},
          {"shape", buffer.shape},
          {"strides", buffer.strides},
          {"data", {reinterpret_cast<std::uintptr_t>(buffer.data), buffer.read_only}}};
}

/// Returns JSON as text. Texts of other programs may contain bytes that are not UTF-8; these are
/// replaced, not refused.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

[[noreturn]] void wrong(const char* key, const char* rule) {
  fail(ErrorKind::kProtocol, "the array interface's '{}' is not {}", key, rule);
}

Buffer buffer_of(const Json& json) {
  if (!json.is_object()) fail(ErrorKind::kProtocol, "an array interface is an object");
  const Json absent;
  const auto at = [&](const char* key) -> const Json& {
    return json.contains(key) ? json[key] : absent;
  };
  if (integer_of(at("version")) != 3) wrong("version", "3");
  Buffer buffer;
  if (!at("typestr").is_string()) wrong("typestr", "a text");
  buffer.typestr = at("typestr").get<std::string>();
  buffer.item_size = item_size_of(buffer.typestr);
  auto shape = integers_of(at("shape"));
  if (!shape || std::any_of(shape->begin(), shape->end(), [](Index extent) { return extent < 0; }))
    wrong("shape", "a list of integers >= 0");
  buffer.shape = std::move(*shape);
  if (at("strides").is_null()) {
    buffer.strides = row_major_strides(buffer.shape, buffer.item_size);
  } else {
    auto strides = integers_of(at("strides"));
    if (!strides || strides->size() != buffer.shape.size())
      wrong("strides", "one integer for each extent");
    buffer.strides = std::move(*strides);
  }
  const Json& data = at("data");
  if (!data.is_array() || data.size() != 2 || !data[0].is_number_unsigned() ||
      !data[1].is_boolean())
    wrong("data", "a pair of address and read-only flag");
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the number is an address.
  buffer.data = reinterpret_cast<std::byte*>(data[0].get<std::uintptr_t>());
  buffer.read_only = data[1].get<bool>();
  return buffer;
}

}  // namespace

std::string to_json(std::span<const DimData> dimensions) { return text_of(json_of(dimensions)); }

std::vector<Dictionary> dictionaries_from_json(std::string_view text) {
  auto dictionaries = dictionaries_of(parse(text, "dim_data"));
  if (!dictionaries) fail(ErrorKind::kProtocol, "dim_data is not a list of objects");
  return std::move(*dictionaries);
}

std::string to_json(const Export& exported) {
  return text_of({{"__version__", exported.version},
                  {"buffer", json_of(exported.buffer)},
                  {"dim_data", json_of(exported.dim_data)}});
}

ForeignExport export_from_json(std::string_view text) {
  const Json json = parse(text, "the export");
  if (!json.is_object()) fail(ErrorKind::kProtocol, "an export is an object");
  ForeignExport foreign;
  for (const auto& [key, item] : json.items()) {
    if (key == "__version__") {
      foreign.version = value_of(item);
    } else if (key == "buffer") {
      foreign.has_buffer = true;
      foreign.buffer = buffer_of(item);
    } else if (key == "dim_data") {
      foreign.has_dim_data = true;
      foreign.dim_data = dictionaries_of(item);
    } else {
      foreign.other_keys.push_back(key);
    }
  }
  return foreign;
}

std::string array_interface(const Buffer& buffer) { return text_of(json_of(buffer)); }

Buffer buffer_from_array_interface(std::string_view text) {
  return buffer_of(parse(text, "the array interface"));
}

}  // namespace impishim::darray::dap
