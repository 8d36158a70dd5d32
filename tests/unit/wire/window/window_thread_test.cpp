// SPDX-License-Identifier: Apache-2.0
// Windows that progress threads serve while the program's threads compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "tests/unit/wire/engine/threaded_job.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/element_operation.hpp"
#include "wire/window/engine_channel.hpp"
#include "wire/window/window_memory.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_service.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::wire {
namespace {

constexpr WindowId kWindow = 3;
constexpr int kRounds = 200;

struct Process {
  Process(Engine& engine, WorldRank here)
      : channel(engine, here, [](WorldRank /*rank*/) { return Format::kNative; }),
        service(channel, nullptr, [](WorldRank /*rank*/) { return false; }),
        target(WindowMemory::fixed(reinterpret_cast<std::byte*>(&counter), sizeof(counter), 8)) {
    service.add(kWindow, target);
    engine.add_poll_observer(service);
  }
  std::int64_t counter = 0;
  EngineChannel channel;
  WindowService service;
  WindowTarget target;
};

/// Adds one to the counter of process 0, and returns the values before, as they came.
std::vector<std::int64_t> count(WindowService& service, Engine& engine) {
  WindowRequest request;
  request.kind = WindowRequestKind::kGetAccumulate;
  request.operation = ElementOperation::kSum;
  request.element = ElementKind::kInt64;
  request.basic = BasicType::kInt64;
  request.window = kWindow;
  request.count = 1;
  const TypeLayout& layout = TypeLayout::basic(BasicType::kInt64);
  const std::int64_t one = 1;
  std::vector<std::int64_t> values;
  for (int i = 0; i < kRounds; ++i) {
    std::int64_t before = -1;
    WindowAnswer answer;
    EXPECT_TRUE(service
                    .ask(0, request, {reinterpret_cast<const std::byte*>(&one), 1, &layout},
                         {reinterpret_cast<std::byte*>(&before), 1, &layout}, answer)
                    .ok());
    while (!answer.complete()) {
      if (engine.poll(true) == 0) engine.wait_for_event(std::chrono::milliseconds(1));
    }
    values.push_back(before);
  }
  return values;
}

TEST(WindowThreads, ATargetThatComputesServesItsWindow) {
  test::ThreadedJob job(test::make_job({.procs_of_hosts = {{1}, {1}, {1}}}));
  const auto engine = [&](int rank) -> Engine& {
    return *job.engines[static_cast<std::size_t>(rank)];
  };
  std::vector<std::unique_ptr<Process>> processes;
  for (int rank = 0; rank < 3; ++rank)
    processes.push_back(std::make_unique<Process>(engine(rank), rank));
  std::vector<std::vector<std::int64_t>> values(3);
  std::vector<std::thread> origins;
  for (int rank = 1; rank < 3; ++rank) {
    origins.emplace_back([&, rank] {
      values[static_cast<std::size_t>(rank)] =
          count(processes[static_cast<std::size_t>(rank)]->service, engine(rank));
    });
  }
  // The program's thread of process 0 makes no call at all.
  for (std::thread& each : origins) each.join();
  EXPECT_EQ(processes[0]->counter, 2 * kRounds);
  std::vector<std::int64_t> all = values[1];
  all.insert(all.end(), values[2].begin(), values[2].end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
  // No thread polls while the observers go.
  job.progress.clear();
  for (std::size_t i = 0; i < job.engines.size(); ++i)
    job.engines[i]->remove_poll_observer(processes[i]->service);
  processes.clear();
  for (const auto& each : job.engines) each->close();
  while (!std::ranges::all_of(job.engines, [](const auto& each) { return each->closed(); })) {
    for (const auto& each : job.engines) each->poll(true);
  }
}

}  // namespace
}  // namespace impishim::wire
