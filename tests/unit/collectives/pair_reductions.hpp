// SPDX-License-Identifier: Apache-2.0
/// Operands of reductions for tests: pairs that lie in memory in different ways, a sum, and an
/// operation that finds out about a wrong order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/reduction/client_ranges.hpp"
#include "simulated_job.hpp"

namespace impishim::collectives::test {

struct Pair {
  long a = 0;
  long b = 0;
  bool operator==(const Pair&) const = default;
};

/// Bytes of a pair on its way between systems of this library: two longs. In external32 it has half
/// of them.
inline constexpr std::uint64_t kPairBytes = 16;

/// How pairs lie: without gaps, or with gaps, the second before the first, and the origin
/// elsewhere.
class PairKind {
 public:
  static const PairKind& plain();
  static const PairKind& gapped();
  /// Different ones for neighbouring ranks.
  static const PairKind& of(std::int32_t rank) { return rank % 2 == 0 ? plain() : gapped(); }

  [[nodiscard]] const ElementType& type() const { return type_; }
  /// Adds both halves.
  [[nodiscard]] const Reduction& sum() const { return sum_; }
  /// Joins ranges [a, b) and [b, c), and does not commute; ranges that do not meet give nonsense
  /// for good.
  [[nodiscard]] const Reduction& join() const { return join_; }
  [[nodiscard]] const Reduction& operation(bool commutative) const {
    return commutative ? sum_ : join_;
  }

  [[nodiscard]] Pair get(const std::byte* base, std::uint64_t i) const;
  void set(std::byte* base, std::uint64_t i, Pair pair) const;

 private:
  PairKind(std::ptrdiff_t a, std::ptrdiff_t b, std::ptrdiff_t extent);

  class Operation final : public Reduction {
   public:
    Operation(bool commutative, const PairKind& kind) : Reduction(commutative, 0), kind_(kind) {}
    void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const override;

   private:
    const PairKind& kind_;
  };

  std::ptrdiff_t a_;
  std::ptrdiff_t b_;
  wire::TypeLayout layout_;
  ElementType type_;
  Operation sum_;
  Operation join_;
};

/// Memory for pairs of one kind.
class PairBuffer {
 public:
  PairBuffer(const PairKind& kind, std::uint64_t count);
  [[nodiscard]] Data data();
  [[nodiscard]] Pair operator[](std::uint64_t i) const { return kind_->get(origin(), i); }
  void set(std::uint64_t i, Pair pair) { kind_->set(const_cast<std::byte*>(origin()), i, pair); }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] bool gaps_untouched() const;
  bool operator==(const PairBuffer& other) const { return memory_ == other.memory_; }

 private:
  [[nodiscard]] const std::byte* origin() const;

  const PairKind* kind_;
  std::uint64_t count_;
  std::vector<long> memory_;
};

/// Element `i` of `rank`'s operand, and of the result of ranks [begin, end).
[[nodiscard]] Pair operand_of(std::int32_t rank, std::uint64_t i, bool commutative);
[[nodiscard]] Pair result_of(std::int32_t begin, std::int32_t end, std::uint64_t i,
                             bool commutative);

/// Operands of all ranks.
[[nodiscard]] std::vector<PairBuffer> operands_of(const SimulatedJob& job, std::uint64_t count,
                                                  bool commutative);
/// Room for a result on each rank.
[[nodiscard]] std::vector<PairBuffer> rooms_of(const SimulatedJob& job, std::uint64_t count);

/// What is varied with every form of a job. Segments have two pairs, so that counts are many
/// segments.
struct ReductionCase {
  bool commutative = true;
  bool in_place = false;
  std::uint64_t count = 0;
};
/// Runs `check` with all cases, and with overrides `forms` (one after the other; "impi": the forms
/// of IMPI 0.0).
void for_each_case(SimulatedJob& job, const std::vector<std::string>& forms,
                   const std::function<void(const ReductionCase& with)>& check);

/// What formulas for numbers of messages are made of.
[[nodiscard]] std::uint64_t clients_of(const SimulatedJob& job);
[[nodiscard]] std::uint64_t segments_of(std::uint64_t count);
[[nodiscard]] std::vector<ClientRange> runs_of_job(const SimulatedJob& job, bool commutative);

}  // namespace impishim::collectives::test
