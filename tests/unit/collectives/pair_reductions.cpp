// SPDX-License-Identifier: Apache-2.0
#include "pair_reductions.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace impishim::collectives::test {
namespace {

constexpr long kGap = -77;
constexpr std::uint64_t kSegmentPairs = 2;

}  // namespace

PairKind::PairKind(std::ptrdiff_t a, std::ptrdiff_t b, std::ptrdiff_t extent)
    : a_(a),
      b_(b),
      layout_(
          {{a, wire::BasicType::kSignedLong, 1, 1, 0}, {b, wire::BasicType::kSignedLong, 1, 1, 0}},
          extent),
      type_{&layout_, nullptr, std::min(a, b), std::max(a, b) - std::min(a, b) + 8, 0},
      sum_(true, *this),
      join_(false, *this) {}

const PairKind& PairKind::plain() {
  static const PairKind kKind(0, 8, 16);
  return kKind;
}

const PairKind& PairKind::gapped() {
  static const PairKind kKind(24, 8, 40);
  return kKind;
}

Pair PairKind::get(const std::byte* base, std::uint64_t i) const {
  Pair pair;
  const std::byte* element = base + static_cast<std::ptrdiff_t>(i) * layout_.extent();
  std::memcpy(&pair.a, element + a_, sizeof pair.a);
  std::memcpy(&pair.b, element + b_, sizeof pair.b);
  return pair;
}

void PairKind::set(std::byte* base, std::uint64_t i, Pair pair) const {
  std::byte* element = base + static_cast<std::ptrdiff_t>(i) * layout_.extent();
  std::memcpy(element + a_, &pair.a, sizeof pair.a);
  std::memcpy(element + b_, &pair.b, sizeof pair.b);
}

void PairKind::Operation::combine(const std::byte* in, std::byte* inout,
                                  std::uint64_t count) const {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Pair left = kind_.get(in, i);
    const Pair right = kind_.get(inout, i);
    if (commutative()) {
      kind_.set(inout, i, {left.a + right.a, left.b + right.b});
    } else {
      kind_.set(inout, i, left.b == right.a ? Pair{left.a, right.b} : Pair{-1, -2});
    }
  }
}

PairBuffer::PairBuffer(const PairKind& kind, std::uint64_t count)
    : kind_(&kind),
      count_(count),
      memory_(count * static_cast<std::uint64_t>(kind.type().layout->extent()) / 8 + 1, kGap) {}

const std::byte* PairBuffer::origin() const {
  return reinterpret_cast<const std::byte*>(memory_.data());
}

Data PairBuffer::data() {
  return {reinterpret_cast<std::byte*>(memory_.data()), count_, &kind_->type()};
}

bool PairBuffer::gaps_untouched() const {
  PairBuffer wiped(*this);
  for (std::uint64_t i = 0; i < count_; ++i) wiped.set(i, {kGap, kGap});
  return wiped.memory_ == std::vector<long>(memory_.size(), kGap);
}

Pair operand_of(std::int32_t rank, std::uint64_t i, bool commutative) {
  if (!commutative) return {rank, rank + 1};
  return {rank * static_cast<long>(i + 1), 1};
}

Pair result_of(std::int32_t begin, std::int32_t end, std::uint64_t i, bool commutative) {
  if (!commutative) return {begin, end};
  Pair sum;
  for (std::int32_t rank = begin; rank < end; ++rank) {
    const Pair operand = operand_of(rank, i, true);
    sum = {sum.a + operand.a, sum.b + operand.b};
  }
  return sum;
}

std::vector<PairBuffer> rooms_of(const SimulatedJob& job, std::uint64_t count) {
  std::vector<PairBuffer> all;
  for (std::int32_t rank = 0; rank < job.size(); ++rank)
    all.emplace_back(PairKind::of(rank), count);
  return all;
}

std::vector<PairBuffer> operands_of(const SimulatedJob& job, std::uint64_t count,
                                    bool commutative) {
  auto all = rooms_of(job, count);
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    for (std::uint64_t i = 0; i < count; ++i)
      all[static_cast<std::size_t>(rank)].set(i, operand_of(rank, i, commutative));
  }
  return all;
}

void for_each_case(SimulatedJob& job, const std::vector<std::string>& forms,
                   const std::function<void(const ReductionCase& with)>& check) {
  for (const std::string& form : forms) {
    job.limits.impi_only = form == "impi";
    const auto overrides = parse_overrides(form == "impi" ? "" : form);
    ASSERT_TRUE(overrides) << overrides.error().text;
    job.limits.overrides = *overrides;
    job.limits.overrides.segment = kSegmentPairs * kPairBytes;
    for (const bool commutative : {true, false}) {
      for (const std::uint64_t count : {0U, 1U, 3U, 37U}) {
        if (count > 3 && clients_of(job) % 8 > 4)
          continue;  // many segments take time, and some shapes are enough
        const ReductionCase with{commutative, (count + (commutative ? 1 : 0)) % 2 == 0, count};
        SCOPED_TRACE(testing::Message()
                     << (form.empty() ? "by the table" : form)
                     << (with.in_place ? ", in place" : "") << ", " << count << " elements"
                     << (commutative ? "" : ", does not commute"));
        check(with);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

std::uint64_t clients_of(const SimulatedJob& job) {
  return static_cast<std::uint64_t>(job.membership(0).client_count());
}

std::uint64_t segments_of(std::uint64_t count) {
  return (count + kSegmentPairs - 1) / kSegmentPairs;
}

std::vector<ClientRange> runs_of_job(const SimulatedJob& job, bool commutative) {
  return ranges_for(job.membership(0), PairKind::plain().operation(commutative));
}

}  // namespace impishim::collectives::test
