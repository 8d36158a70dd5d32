// SPDX-License-Identifier: Apache-2.0
#include "wire/port/name_table.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

Error malformed() {
  return {ErrorKind::kProtocol,
          "a message of the name service is not one that this version of the "
          "library sends"};
}

void put_text(ByteWriter& out, const std::string& text) {
  out.put(static_cast<std::uint32_t>(text.size()));
  out.put_bytes(std::as_bytes(std::span(text)));
}

std::optional<std::string> get_text(ByteReader& in) {
  const auto size = in.get<std::uint32_t>();
  const auto bytes = size ? in.get_bytes(*size) : std::nullopt;
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

}  // namespace

NameAnswer NameTable::handle(const NameRequest& request) {
  if (request.service.size() > kLongestText || request.port.size() > kLongestText)
    return {NameStatus::kRefused, {}};
  const auto found = ports_.find(request.service);
  const bool known = found != ports_.end();
  switch (request.kind) {
    case NameRequestKind::kLookUp:
      return known ? NameAnswer{NameStatus::kDone, found->second}
                   : NameAnswer{NameStatus::kUnknown, {}};
    case NameRequestKind::kPublish:
      if (known) return {NameStatus::kTaken, {}};
      if (ports_.size() >= kMostNames) return {NameStatus::kRefused, {}};
      ports_.emplace(request.service, request.port);
      return {};
    case NameRequestKind::kUnpublish:
      if (!known) return {NameStatus::kUnknown, {}};
      if (found->second != request.port) return {NameStatus::kTaken, {}};
      ports_.erase(found);
      return {};
  }
  return {NameStatus::kRefused, {}};
}

std::vector<std::byte> encode(const NameRequest& request) {
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(request.kind));
  put_text(out, request.service);
  put_text(out, request.port);
  return out.take();
}

Result<NameRequest> decode_name_request(std::span<const std::byte> message) {
  ByteReader in(message);
  const auto kind = in.get<std::uint8_t>();
  auto service = get_text(in);
  auto port = service ? get_text(in) : std::nullopt;
  if (!kind || *kind < 1 || *kind > 3 || !port || in.remaining() != 0) return malformed();
  return NameRequest{static_cast<NameRequestKind>(*kind), std::move(*service), std::move(*port)};
}

std::vector<std::byte> encode(const NameAnswer& answer) {
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(answer.status));
  put_text(out, answer.port);
  return out.take();
}

Result<NameAnswer> decode_name_answer(std::span<const std::byte> message) {
  ByteReader in(message);
  const auto status = in.get<std::uint8_t>();
  auto port = get_text(in);
  if (!status || *status >= static_cast<std::uint8_t>(NameStatus::kNumberOfStatuses) || !port ||
      in.remaining() != 0)
    return malformed();
  return NameAnswer{static_cast<NameStatus>(*status), std::move(*port)};
}

}  // namespace impishim::wire
