// SPDX-License-Identifier: Apache-2.0
#include "wire/shuffle/shuffle_message.hpp"

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

void append_message(std::vector<std::byte>& batch, const ShuffleMessage& message) {
  const std::size_t at = batch.size();
  batch.resize(at + kShuffleMessageHeader);
  store_big_endian(batch.data() + at, message.source);
  store_big_endian(batch.data() + at + 4, message.destination);
  store_big_endian(batch.data() + at + 8, message.type);
  store_big_endian(batch.data() + at + 12, static_cast<std::uint32_t>(message.data.size()));
  batch.insert(batch.end(), message.data.begin(), message.data.end());
}

Result<std::vector<ShuffleMessage>> parse_batch(std::span<const std::byte> batch, WorldRank procs) {
  std::vector<ShuffleMessage> messages;
  ByteReader in(batch);
  while (in.remaining() > 0) {
    const auto source = in.get<std::int32_t>();
    const auto destination = in.get<std::int32_t>();
    const auto type = in.get<std::uint32_t>();
    const auto size = in.get<std::uint32_t>();
    if (!size)
      return Error{ErrorKind::kProtocol, "shuffle: a batch that ends inside a message's header"};
    if (*source < 0 || *source >= procs || *destination < 0 || *destination >= procs) {
      return Error{ErrorKind::kProtocol,
                   fmt::format("shuffle: a message from {} to {} in a job of {} processes", *source,
                               *destination, procs)};
    }
    const auto data = in.get_bytes(*size);
    if (!data)
      return Error{ErrorKind::kProtocol,
                   fmt::format("shuffle: a batch that ends inside a message of {} bytes", *size)};
    messages.push_back({*source, *destination, *type, {data->begin(), data->end()}});
  }
  return messages;
}

}  // namespace impishim::wire
