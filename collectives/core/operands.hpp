/// Partial results on their way to be combined, in segments: the common part of all reductions
/// between clients.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// Segments that may have come and wait for being combined: what one one-way delay can hide.
inline constexpr std::uint64_t kSegmentsUnderWay = 16;
/// Local phases that one task has under way.
inline constexpr std::uint64_t kPhasesUnderWay = 4;

/// Data cut into segments of whole elements, so that one travels while the next is reduced.
struct Segments {
  std::uint64_t count = 0;   ///< elements of the data
  std::uint64_t length = 1;  ///< elements of a segment; the last has the rest

  /// Of data like `data`: in one piece in the forms of IMPI 0.0, which send empty messages too.
  Segments(const ConstData& data, const Limits& limits);
  /// Of `elements` elements like those that `like` has been cut for.
  Segments(std::uint64_t elements, const Segments& like) : count(elements), length(like.length) {}

  [[nodiscard]] std::uint64_t number() const { return whole ? 1 : (count + length - 1) / length; }
  template <class AnyData>
  [[nodiscard]] AnyData of(const AnyData& data, std::uint64_t k) const {
    return data.elements(k * length, elements_in(k));
  }
  [[nodiscard]] std::uint64_t elements_in(std::uint64_t k) const {
    return std::min(length, count - k * length);
  }

 private:
  bool whole = false;
};

/// Starts sending all of `data`, a message for each segment.
void post_send_segments(LeaderGroup& leaders, std::int32_t to, std::int32_t tag,
                        const ConstData& data, const Segments& segments);
/// Starts receiving them.
void post_receive_segments(LeaderGroup& leaders, std::int32_t from, std::int32_t tag,
                           const Data& data, const Segments& segments);

/// The operands of a reduction in the order in which they are combined: this process has them, or
/// somebody sends them.
struct Operand {
  std::int32_t from = -1;  ///< the sender's rank; -1: `own`
  Data own;
};

class Operands {
 public:
  /// Starts to receive as many segments as may be under way. There is at least one operand. A
  /// sender with several sends segment by segment, each in the operands' order.
  Operands(LeaderGroup& leaders, std::int32_t tag, std::vector<Operand> operands,
           const ElementType& type, const Segments& segments);

  /// Waits for segment `k` and writes operand[0] op (operand[1] op (...)) to that of `target`; what
  /// is own may be lost. Segments are combined in ascending order.
  Task combine(std::uint64_t k, Data target, const Reduction& operation);

 private:
  struct Arrival {
    TypedRoom room;  ///< kSegmentsUnderWay segments, used in turn
    std::vector<Pending*> receives;
  };
  [[nodiscard]] Data segment(std::size_t operand, std::uint64_t k) const;
  void post_receives(std::uint64_t k);

  LeaderGroup& leaders_;
  std::int32_t tag_;
  std::vector<Operand> operands_;
  Segments segments_;
  std::vector<Arrival> arrivals_;  ///< by operand; empty for own ones
};

}  // namespace impishim::collectives
