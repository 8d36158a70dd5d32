// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "simulated_communicator.hpp"

namespace impishim::collectives::test {
namespace {

std::vector<std::byte> packed(const ConstData& data) {
  const PackedBlock block(data);
  return {block.bytes().begin(), block.bytes().end()};
}

std::vector<std::byte> copied(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> nothing() { return {}; }

}  // namespace

/// `read`: what this member contributes, now and, to see that it has stayed in place, at the end.
/// `needs`: whether this member's end waits for `member` to join. `deliver`: writes the result.
Pending& SimulatedLocal::start(const std::string& kind, const Read& read, const Needs& needs,
                               const Deliver& deliver) {
  LocalPhase& phase = communicator_.phase(membership_.my_client(), next_++, kind);
  std::int32_t& clock = communicator_.clock(membership_.rank);
  phase.blocks[me()] = read();
  phase.clocks[me()] = clock;
  const auto finish = [this, &phase, read, needs, deliver] {
    for (std::size_t member = 0; member < locals(); ++member) {
      if (needs(member) && !phase.blocks[member]) return false;
    }
    if (read() != *phase.blocks[me()])
      communicator_.world.fail("a contribution has been changed: " + phase.kind);
    deliver(phase);
    return true;
  };
  const auto after = [this, &phase, needs] {
    std::int32_t latest = 0;
    for (std::size_t member = 0; member < locals(); ++member) {
      if (needs(member)) latest = std::max(latest, phase.clocks[member]);
    }
    return latest;
  };
  return pendings_.emplace_back(communicator_.world, true, clock, finish, after);
}

SimulatedLocal::Needs SimulatedLocal::all_at(std::int32_t root) const {
  return [here = static_cast<std::size_t>(root) == me()](std::size_t) { return here; };
}

/// result = contribution of `begin` op ... op that of `end` - 1; if the operation lets it, counted
/// round from `first`.
void SimulatedLocal::combine(const LocalPhase& phase, std::size_t begin, std::size_t end,
                             std::size_t first, const Data& result,
                             const Reduction& operation) const {
  std::vector<std::size_t> order(end - begin);
  std::iota(order.begin(), order.end(), begin);
  if (operation.commutative())
    std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(first % order.size()));
  unpack(*phase.blocks[order.back()], result);
  const TypedRoom operand(*result.type, result.count);
  for (auto member = order.rbegin() + 1; member != order.rend(); ++member) {
    unpack(*phase.blocks[*member], operand.data());
    operation.combine(operand.data().base, result.base, result.count);
  }
}

void SimulatedLocal::concatenate(const LocalPhase& phase, std::span<const std::uint64_t> sizes,
                                 std::span<std::byte> all) const {
  std::vector<std::byte> joined;
  for (std::size_t member = 0; member < locals(); ++member) {
    const auto& block = *phase.blocks[member];
    if (!sizes.empty() && block.size() != sizes[member])
      communicator_.world.fail("a wrong size in " + phase.kind);
    joined.insert(joined.end(), block.begin(), block.end());
  }
  if (joined.size() != all.size())
    return communicator_.world.fail("a target of a wrong size in " + phase.kind);
  std::ranges::copy(joined, all.begin());
}

Pending& SimulatedLocal::barrier() {
  return start(
      "barrier", nothing, [](std::size_t) { return true; }, [](const LocalPhase&) {});
}

Pending& SimulatedLocal::broadcast(const Data& data, std::int32_t root) {
  const auto from = static_cast<std::size_t>(root);
  const bool at_root = me() == from;
  return start(
      fmt::format("broadcast from {} of {} bytes", root, ConstData(data).native_bytes()),
      [data, at_root] { return at_root ? packed(data) : nothing(); },
      [from](std::size_t member) { return member == from; },
      [data, at_root, from](const LocalPhase& phase) {
        if (!at_root) unpack(*phase.blocks[from], data);
      });
}

Pending& SimulatedLocal::broadcast(std::span<std::byte> bytes, std::int32_t root) {
  const auto from = static_cast<std::size_t>(root);
  const bool at_root = me() == from;
  return start(
      fmt::format("broadcast from {} of {} plain bytes", root, bytes.size()),
      [bytes, at_root] { return at_root ? copied(bytes) : nothing(); },
      [from](std::size_t member) { return member == from; },
      [bytes, at_root, from](const LocalPhase& phase) {
        if (!at_root) std::ranges::copy(*phase.blocks[from], bytes.begin());
      });
}

Pending& SimulatedLocal::reduce(const ConstData& contribution, const Data& result,
                                const Reduction& operation, std::int32_t root) {
  const bool at_root = me() == static_cast<std::size_t>(root);
  return start(
      fmt::format("reduce to {} of {} bytes", root, contribution.native_bytes()),
      [contribution] { return packed(contribution); }, all_at(root),
      [this, at_root, result, &operation](const LocalPhase& phase) {
        if (at_root) combine(phase, 0, locals(), me(), result, operation);
      });
}

// Each member combines in an order of its own where it may: MPI does not promise more.
Pending& SimulatedLocal::allreduce(const ConstData& contribution, const Data& result,
                                   const Reduction& operation) {
  return start(
      fmt::format("allreduce of {} bytes", contribution.native_bytes()),
      [contribution] { return packed(contribution); }, [](std::size_t) { return true; },
      [this, result, &operation](const LocalPhase& phase) {
        combine(phase, 0, locals(), me(), result, operation);
      });
}

Pending& SimulatedLocal::reduce_scatter(const ConstData& contribution, const Data& result,
                                        std::span<const std::uint64_t> counts,
                                        const Reduction& operation) {
  const auto before = std::accumulate(
      counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(me()), std::uint64_t{0});
  if (result.count != counts[me()])
    communicator_.world.fail("a part of a wrong size in reduce_scatter");
  return start(
      fmt::format("reduce_scatter of {} bytes by {}", contribution.native_bytes(),
                  fmt::join(counts, "+")),
      [contribution] { return packed(contribution); }, [](std::size_t) { return true; },
      [this, before, count = contribution.count, result, &operation](const LocalPhase& phase) {
        const TypedRoom whole(*result.type, count);
        combine(phase, 0, locals(), me(), whole.data(), operation);
        const auto offset = static_cast<std::ptrdiff_t>(before) * result.type->layout->extent();
        copy(ConstData{whole.data().base + offset, result.count, result.type}, result);
      });
}

Pending& SimulatedLocal::scan(const ConstData& contribution, const Data& result,
                              const Reduction& operation) {
  return start(
      fmt::format("scan of {} bytes", contribution.native_bytes()),
      [contribution] { return packed(contribution); },
      [last = me()](std::size_t member) { return member <= last; },
      [this, result, &operation](const LocalPhase& phase) {
        combine(phase, 0, me() + 1, 0, result, operation);
      });
}

Pending& SimulatedLocal::exscan(const ConstData& contribution, const Data& result,
                                const Reduction& operation) {
  return start(
      fmt::format("exscan of {} bytes", contribution.native_bytes()),
      [contribution] { return packed(contribution); },
      [last = me()](std::size_t member) { return member < last; },
      [this, result, &operation](const LocalPhase& phase) {
        if (me() > 0) combine(phase, 0, me(), 0, result, operation);
      });
}

Pending& SimulatedLocal::gather(std::span<const std::byte> block, std::span<std::byte> all,
                                std::int32_t root) {
  const bool at_root = me() == static_cast<std::size_t>(root);
  return start(
      fmt::format("gather to {} of {} bytes", root, block.size()),
      [block] { return copied(block); }, all_at(root),
      [this, at_root, all](const LocalPhase& phase) {
        if (at_root) concatenate(phase, {}, all);
      });
}

Pending& SimulatedLocal::gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                 std::span<const std::uint64_t> sizes, std::int32_t root) {
  const bool at_root = me() == static_cast<std::size_t>(root);
  return start(
      fmt::format("gatherv to {}", root), [block] { return copied(block); }, all_at(root),
      [this, at_root, sizes, all](const LocalPhase& phase) {
        if (at_root) concatenate(phase, sizes, all);
      });
}

Pending& SimulatedLocal::scatterv(std::span<const std::byte> all,
                                  std::span<const std::uint64_t> sizes, std::span<std::byte> block,
                                  std::int32_t root) {
  const auto from = static_cast<std::size_t>(root);
  const bool at_root = me() == from;
  // The root leaves its bytes with a table of where each member's begin.
  const auto read = [at_root, all, sizes] {
    if (!at_root) return nothing();
    std::vector<std::byte> bytes(sizes.size() * sizeof(std::uint64_t));
    std::memcpy(bytes.data(), sizes.data(), bytes.size());
    bytes.insert(bytes.end(), all.begin(), all.end());
    return bytes;
  };
  return start(
      fmt::format("scatterv from {}", root), read,
      [from](std::size_t member) { return member == from; },
      [this, from, block](const LocalPhase& phase) {
        std::vector<std::uint64_t> sizes(locals());
        const auto& bytes = *phase.blocks[from];
        const std::size_t table = sizes.size() * sizeof(std::uint64_t);
        std::memcpy(sizes.data(), bytes.data(), table);
        const auto before = std::accumulate(
            sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(me()), table);
        if (block.size() != sizes[me()] || before + block.size() > bytes.size()) {
          return communicator_.world.fail("a part of a wrong size in scatterv");
        }
        std::ranges::copy(std::span(bytes).subspan(before, block.size()), block.begin());
      });
}

Pending& SimulatedLocal::allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                    std::span<const std::uint64_t> sizes) {
  return start(
      fmt::format("allgatherv of {}", fmt::join(sizes, "+")), [block] { return copied(block); },
      [](std::size_t) { return true; },
      [this, sizes, all](const LocalPhase& phase) { concatenate(phase, sizes, all); });
}

bool SimulatedLocal::all_awaited() const {
  return std::ranges::all_of(pendings_, [](const auto& pending) { return pending.awaited(); });
}

}  // namespace impishim::collectives::test
