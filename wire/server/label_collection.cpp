// SPDX-License-Identifier: Apache-2.0
#include "wire/server/label_collection.hpp"

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

Result<void> LabelCollection::add(std::int32_t client, std::span<const std::byte> payload) {
  ByteReader reader(payload);
  const auto label = reader.get<std::uint32_t>();
  if (!label) return Error{ErrorKind::kProtocol, "it sent COLL without a label"};
  Sent& sent = sent_[client];
  if (sent.labels != 0 && *label <= sent.last) {
    return Error{
        ErrorKind::kProtocol,
        fmt::format("it sent label 0x{:x} after 0x{:x}; labels must ascend", *label, sent.last)};
  }
  if (sent.labels == kMaxLabels)
    return Error{ErrorKind::kProtocol, fmt::format("it sent more than {} labels", kMaxLabels)};
  if (reader.remaining() > kMaxBytes - sent.bytes) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("it sent labels of more than {} MiB", kMaxBytes >> 20U)};
  }
  sent.last = *label;
  ++sent.labels;
  sent.bytes += reader.remaining();
  const auto data = *reader.get_bytes(reader.remaining());
  labels_[*label][client].assign(data.begin(), data.end());
  return {};
}

void LabelCollection::forget(std::int32_t client) {
  for (auto& [label, parts] : labels_) parts.erase(client);
  std::erase_if(labels_, [](const auto& label) { return label.second.empty(); });
  sent_.erase(client);
}

std::optional<std::uint32_t> LabelCollection::last_of(std::int32_t client) const {
  const auto found = sent_.find(client);
  if (found == sent_.end() || found->second.labels == 0) return std::nullopt;
  return found->second.last;
}

std::vector<CollectedLabel> LabelCollection::take_up_to(std::uint32_t last) {
  std::vector<CollectedLabel> taken;
  while (!labels_.empty() && labels_.begin()->first <= last) {
    CollectedLabel& one = taken.emplace_back();
    one.label = labels_.begin()->first;
    for (const auto& [client, data] : labels_.begin()->second) {
      one.client_mask |= 1U << static_cast<unsigned>(client);
      one.data.insert(one.data.end(), data.begin(), data.end());
    }
    labels_.erase(labels_.begin());
  }
  return taken;
}

}  // namespace impishim::wire
