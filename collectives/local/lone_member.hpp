// SPDX-License-Identifier: Apache-2.0
/// The local phases of a client that has only one member: copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

class LoneMember final : public LocalGroup {
 public:
  Pending& barrier() override { return done_; }
  Pending& broadcast(const Data& /*data*/, std::int32_t /*root*/) override { return done_; }
  Pending& broadcast(std::span<std::byte> /*bytes*/, std::int32_t /*root*/) override {
    return done_;
  }
  Pending& reduce(const ConstData& contribution, const Data& result, const Reduction& operation,
                  std::int32_t root) override;
  Pending& allreduce(const ConstData& contribution, const Data& result,
                     const Reduction& operation) override;
  Pending& reduce_scatter(const ConstData& contribution, const Data& result,
                          std::span<const std::uint64_t> counts,
                          const Reduction& operation) override;
  Pending& scan(const ConstData& contribution, const Data& result,
                const Reduction& operation) override;
  Pending& exscan(const ConstData& /*contribution*/, const Data& /*result*/,
                  const Reduction& /*operation*/) override {
    return done_;
  }
  Pending& gather(std::span<const std::byte> block, std::span<std::byte> all,
                  std::int32_t root) override;
  Pending& gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                   std::span<const std::uint64_t> sizes, std::int32_t root) override;
  Pending& scatterv(std::span<const std::byte> all, std::span<const std::uint64_t> sizes,
                    std::span<std::byte> block, std::int32_t root) override;
  Pending& allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                      std::span<const std::uint64_t> sizes) override;

 private:
  /// A phase that was complete when it began.
  class Done final : public Pending {
   public:
    bool done() override { return true; }
    Result<void> outcome() override { return {}; }
    [[nodiscard]] bool in_vendor() const override { return false; }
  };
  Pending& take(const ConstData& contribution, const Data& result) {
    copy(contribution, result);
    return done_;
  }
  Pending& take(std::span<const std::byte> from, std::span<std::byte> to);

  Done done_;
};

}  // namespace impishim::collectives
