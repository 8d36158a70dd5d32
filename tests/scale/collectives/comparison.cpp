// SPDX-License-Identifier: Apache-2.0
#include "tests/scale/collectives/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

#include "tests/scale/collectives/flat.hpp"

namespace impishim::scale {
namespace {

using collectives::ConstData;
using collectives::Data;
using collectives::ElementType;
using collectives::Task;
using collectives::Team;

/// A reduction that takes no time here: the network's times count it.
class NoReduction final : public collectives::Reduction {
 public:
  NoReduction() : Reduction(true, 0) {}
  void combine(const std::byte* /*in*/, std::byte* /*inout*/,
               std::uint64_t /*count*/) const override {}
};

/// What all ranks send and receive: the same memory, since messages have no contents.
class Memory {
 public:
  Memory(std::uint64_t block_bytes, std::int32_t ranks)
      : bytes_(block_bytes * static_cast<std::uint64_t>(ranks)),
        type_{&wire::TypeLayout::basic(wire::BasicType::kByte), nullptr, 0, 1, 0} {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      blocks_.push_back(
          {bytes_.data() + block_bytes * static_cast<std::uint64_t>(rank), block_bytes, &type_});
      const_blocks_.push_back(blocks_.back());
    }
  }
  [[nodiscard]] const Data& block() const { return blocks_.front(); }
  [[nodiscard]] Data all() { return {bytes_.data(), bytes_.size(), &type_}; }
  [[nodiscard]] std::span<const Data> blocks() const { return blocks_; }
  [[nodiscard]] std::span<const ConstData> const_blocks() const { return const_blocks_; }

 private:
  std::vector<std::byte> bytes_;
  ElementType type_;
  std::vector<Data> blocks_;
  std::vector<ConstData> const_blocks_;
};

struct Case {
  std::string_view name;
  bool has_blocks;  ///< needs memory for a block of each rank
  std::function<Task(const Team& team, Memory& memory, const collectives::Reduction& operation)>
      ours;
  std::function<Task(const Team& team, Memory& memory)> flat;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"barrier", false,
       [](const Team& team, Memory&, const auto&) { return collectives::barrier(team); },
       [](const Team& team, Memory&) { return flat::barrier(team); }},
      {"bcast", false,
       [](const Team& team, Memory& memory, const auto&) {
         return collectives::bcast(team, memory.block(), 0);
       },
       [](const Team& team, Memory& memory) { return flat::bcast(team, memory.block()); }},
      {"reduce", false,
       [](const Team& team, Memory& memory, const auto& operation) {
         return collectives::reduce(team, memory.block(), memory.block(), operation, 0);
       },
       [](const Team& team, Memory& memory) { return flat::reduce(team, memory.block()); }},
      {"allreduce", false,
       [](const Team& team, Memory& memory, const auto& operation) {
         return collectives::allreduce(team, memory.block(), memory.block(), operation);
       },
       [](const Team& team, Memory& memory) { return flat::allreduce(team, memory.block()); }},
      {"scan", false,
       [](const Team& team, Memory& memory, const auto& operation) {
         return collectives::scan(team, memory.block(), memory.block(), operation);
       },
       [](const Team& team, Memory& memory) { return flat::scan(team, memory.block()); }},
      {"allgather", true,
       [](const Team& team, Memory& memory, const auto&) {
         return collectives::allgather(team, memory.block(), memory.blocks());
       },
       [](const Team& team, Memory& memory) {
         return flat::allgather(team, memory.block(), memory.all());
       }},
      {"alltoall", true,
       [](const Team& team, Memory& memory, const auto&) {
         return collectives::alltoall(team, memory.const_blocks(), memory.blocks());
       },
       [](const Team& team, Memory& memory) { return flat::alltoall(team, memory.block()); }},
  };
  return all;
}

Timing checked(std::string_view name, const Timing& timing) {
  if (!timing.failure.empty()) throw std::logic_error(fmt::format("{}: {}", name, timing.failure));
  return timing;
}

}  // namespace

const std::vector<std::string_view>& compared_collectives() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> found;
    std::ranges::transform(cases(), std::back_inserter(found), &Case::name);
    return found;
  }();
  return names;
}

Comparison compare(std::string_view name, std::uint64_t bytes, const Shape& shape,
                   const NetworkTimes& times) {
  const auto found = std::ranges::find(cases(), name, &Case::name);
  if (found == cases().end()) throw std::logic_error(fmt::format("no collective {}", name));
  TimedJob job(shape.systems, shape.procs_of_a_system, times);
  Memory memory(bytes, found->has_blocks ? job.size() : 1);
  const NoReduction operation;
  Comparison comparison;
  comparison.ours = checked(name, job.run([&](std::int32_t /*rank*/, const Team& team) {
    return found->ours(team, memory, operation);
  }));
  comparison.flat = checked(name, job.run([&](std::int32_t /*rank*/, const Team& team) {
    return found->flat(team, memory);
  }));
  return comparison;
}

}  // namespace impishim::scale
