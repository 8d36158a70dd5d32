// SPDX-License-Identifier: Apache-2.0
#include "shim/values/failure_notice.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "wire/base/bytes.hpp"
#include "wire/base/printable.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// The error classes that a collective can end in. The index travels. MPI_ERR_OTHER, which stands
/// for all others, must stay the first.
constexpr std::array kClasses{MPI_ERR_OTHER,    MPI_ERR_BUFFER,
                              MPI_ERR_COUNT,    MPI_ERR_TYPE,
                              MPI_ERR_TAG,      MPI_ERR_COMM,
                              MPI_ERR_RANK,     MPI_ERR_ROOT,
                              MPI_ERR_GROUP,    MPI_ERR_OP,
                              MPI_ERR_ARG,      MPI_ERR_TRUNCATE,
                              MPI_ERR_TOPOLOGY, MPI_ERR_DIMS,
                              MPI_ERR_UNKNOWN,  MPI_ERR_INTERN,
                              MPI_ERR_INFO,     MPI_ERR_REQUEST,
                              MPI_ERR_NO_MEM,   MPI_ERR_KEYVAL,
                              MPI_ERR_SIZE,     MPI_ERR_UNSUPPORTED_OPERATION};
constexpr auto kLastKind = static_cast<std::uint8_t>(FailureNotice::Kind::kRevoked);
constexpr std::uint32_t kMark = 0x494d4e46;  ///< tells a notice from other bytes

}  // namespace

std::uint64_t signature_of(std::uint32_t operation, std::int32_t root, std::uint64_t elements) {
  // A hash that all systems compute alike; the factor is that of FNV.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint64_t word :
       {std::uint64_t{operation}, static_cast<std::uint64_t>(root), elements})
    hash = (hash ^ word) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

FailureNoticeBytes encode(const FailureNotice& notice) {
  const auto* known = std::ranges::find(kClasses, notice.error_class);
  ByteWriter writer;
  writer.put(kMark);
  writer.put(static_cast<std::uint16_t>(notice.kind));
  writer.put(static_cast<std::uint16_t>(known == kClasses.end() ? 0 : known - kClasses.begin()));
  writer.put(notice.context);
  writer.put(notice.number);
  writer.put(notice.signature);
  writer.put(notice.origin);
  writer.put_bytes(std::as_bytes(std::span(notice.text)));
  FailureNoticeBytes bytes{};
  std::memcpy(bytes.data(), writer.bytes().data(), std::min(writer.bytes().size(), bytes.size()));
  return bytes;
}

std::optional<FailureNotice> decode_failure_notice(const FailureNoticeBytes& bytes) {
  ByteReader reader(bytes);
  const auto mark = reader.get<std::uint32_t>();
  const auto kind = reader.get<std::uint16_t>();
  const auto error_class = reader.get<std::uint16_t>();
  FailureNotice notice;
  notice.context = *reader.get<wire::ContextId>();
  notice.number = *reader.get<std::uint64_t>();
  notice.signature = *reader.get<std::uint64_t>();
  notice.origin = *reader.get<wire::WorldRank>();
  if (mark != kMark || *kind > kLastKind || *error_class >= kClasses.size()) return std::nullopt;
  notice.kind = static_cast<FailureNotice::Kind>(*kind);
  notice.error_class = kClasses[*error_class];
  const auto rest = *reader.get_bytes(reader.remaining());
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  notice.text = printable(text.substr(0, text.find('\0')));
  return notice;
}

}  // namespace impishim::shim
