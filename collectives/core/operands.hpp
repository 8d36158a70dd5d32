// SPDX-License-Identifier: Apache-2.0
/// Partial results that are received in segments and then combined: the common part of all
/// reductions between clients.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// Number of segments that may have arrived and wait to be combined. They hide one one-way delay.
inline constexpr std::uint64_t kSegmentsUnderWay = 16;
/// Number of local phases that one task has in progress at a time.
inline constexpr std::uint64_t kPhasesUnderWay = 4;

/// Data divided into segments of whole elements, so that one segment travels while the next is
/// reduced.
struct Segments {
  std::uint64_t count = 0;   ///< elements of the data
  std::uint64_t length = 1;  ///< elements of a segment; the last segment has the rest

  /// Divides data like `data`. In the forms of IMPI 0.0 there is always one segment, because these
  /// forms send empty messages too.
  Segments(const ConstData& data, const Limits& limits);
  /// Divides `elements` elements with the segment length of `like`.
  Segments(std::uint64_t elements, const Segments& like) : count(elements), length(like.length) {}

  [[nodiscard]] std::uint64_t number() const { return whole_ ? 1 : (count + length - 1) / length; }
  template <class AnyData>
  [[nodiscard]] AnyData of(const AnyData& data, std::uint64_t k) const {
    return data.elements(k * length, elements_in(k));
  }
  [[nodiscard]] std::uint64_t elements_in(std::uint64_t k) const {
    return std::min(length, count - k * length);
  }

 private:
  bool whole_ = false;
};

/// Starts sending all of `data`, one message for each segment.
void post_send_segments(MemberTransport& leaders, std::int32_t to, std::int32_t tag,
                        const ConstData& data, const Segments& segments);
/// Starts receiving all of `data`, one message for each segment.
void post_receive_segments(MemberTransport& leaders, std::int32_t from, std::int32_t tag,
                           const Data& data, const Segments& segments);

/// An operand of a reduction. The list of operands is in the order of combination. Either this
/// process has the operand, or another rank sends it.
struct Operand {
  std::int32_t from = -1;  ///< the sender's rank; -1: `own`
  Data own;
};

/// Receives the segments of all operands and combines them.
class Operands {
 public:
  /// Starts receiving as many segments as may be in progress. There is at least one operand. A
  /// sender with several operands sends segment by segment, and each segment in the operands'
  /// order.
  Operands(MemberTransport& leaders, std::int32_t tag, std::vector<Operand> operands,
           const ElementType& type, const Segments& segments);

  /// Waits for segment `k` and writes operand[0] op (operand[1] op (...)) to the same segment of
  /// `target`. May overwrite the own operands. Segments must be combined in ascending order.
  Task combine(std::uint64_t k, Data target, const Reduction& operation);

 private:
  struct Arrival {
    TypedRoom room;  ///< kSegmentsUnderWay segments, used in turn
    std::vector<Pending*> receives;
  };
  [[nodiscard]] Data segment(std::size_t operand, std::uint64_t k) const;
  void post_receives(std::uint64_t k);

  MemberTransport& leaders_;
  std::int32_t tag_;
  std::vector<Operand> operands_;
  Segments segments_;
  std::vector<Arrival> arrivals_;  ///< indexed by operand; empty for own operands
};

}  // namespace impishim::collectives
