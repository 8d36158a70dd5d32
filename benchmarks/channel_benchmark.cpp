// SPDX-License-Identifier: Apache-2.0
/// Latency and bandwidth of the channels, and of plain sockets for comparison: run by hand.
#include <benchmark/benchmark.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#ifdef IMPISHIM_WITH_LIBFABRIC
#include "tests/unit/wire/fabric/fabric_support.hpp"
#endif
#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "wire/channel/shared_memory_channel.hpp"
#include "wire/channel/tcp_channel.hpp"

namespace impishim::wire {
namespace {

using ChannelPair = std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>;

/// The seam that TcpChannel has to beat: the same socket without any of our options but
/// TCP_NODELAY, one buffer, send and recv.
class PlainSocket final : public Channel {
 public:
  explicit PlainSocket(Descriptor socket) : inner_(std::move(socket), "plain") {}
  Result<std::size_t> try_send(std::span<const iovec> pieces) override {
    const ssize_t size = send(inner_.descriptor(), pieces[0].iov_base, pieces[0].iov_len,
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    return size < 0 ? std::size_t{0} : static_cast<std::size_t>(size);
  }
  Result<std::size_t> try_receive(std::span<const iovec> pieces) override {
    const ssize_t size =
        recv(inner_.descriptor(), pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT);
    return size < 0 ? std::size_t{0} : static_cast<std::size_t>(size);
  }
  [[nodiscard]] int descriptor() const override { return inner_.descriptor(); }
  [[nodiscard]] std::uint32_t epoll_events() const override { return EPOLLIN; }
  bool set_want_output(bool /*want*/) override { return false; }
  [[nodiscard]] bool prepare_to_sleep() override { return true; }
  void end_sleep() override {}
  void shutdown_output() override { inner_.shutdown_output(); }
  void close_in_forked_child() override { inner_.close_in_forked_child(); }
  [[nodiscard]] std::string peer_name() const override { return "plain"; }

 private:
  TcpChannel inner_;
};

ChannelPair shared_memory_pair() {
  std::array<int, 2> sockets{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) return {};
  Descriptor left;
  Descriptor right;
  auto left_in = Ring::create(left);
  auto right_in = Ring::create(right);
  auto left_out = Ring::attach(right);
  auto right_out = Ring::attach(left);
  return {
      std::make_unique<SharedMemoryChannel>(std::move(left_in).value(), std::move(left_out).value(),
                                            Descriptor(sockets[0]), "right"),
      std::make_unique<SharedMemoryChannel>(std::move(right_in).value(),
                                            std::move(right_out).value(), Descriptor(sockets[1]),
                                            "left")};
}

ChannelPair tcp_pair() {
  auto [left, right] = test::connected_pair("127.0.0.1");
  return {std::make_unique<TcpChannel>(std::move(left), "right"),
          std::make_unique<TcpChannel>(std::move(right), "left")};
}

ChannelPair plain_pair() {
  auto [left, right] = test::connected_pair("127.0.0.1");
  return {std::make_unique<PlainSocket>(std::move(left)),
          std::make_unique<PlainSocket>(std::move(right))};
}

#ifdef IMPISHIM_WITH_LIBFABRIC
ChannelPair fabric_shm_pair() { return test::fabric_pair("shm"); }
ChannelPair fabric_tcp_pair() { return test::fabric_pair("tcp"); }
ChannelPair fabric_net_pair() { return test::fabric_pair("net"); }
#endif

/// Polls until `bytes` are through; false: the stream has ended, or `stop`.
bool move_all(Channel& channel, std::span<std::byte> bytes, bool sending,
              const std::atomic<bool>& stop) {
  while (!bytes.empty()) {
    const std::array<iovec, 1> pieces = {test::piece(bytes)};
    auto size = sending ? channel.try_send(pieces) : channel.try_receive(pieces);
    if (!size) return false;
    bytes = bytes.subspan(*size);
    if (*size == 0 && stop.load(std::memory_order_relaxed)) return false;
  }
  return true;
}

/// Half round trips, both sides polling.
void ping_pong(benchmark::State& state, ChannelPair (*make)()) {
  auto [near, far] = make();
  std::atomic<bool> stop{false};
  std::vector<std::byte> there(static_cast<std::size_t>(state.range(0)));
  std::vector<std::byte> back(there.size());
  std::thread echo([&, &far = *far] {
    while (move_all(far, back, false, stop) && move_all(far, back, true, stop)) {
    }
  });
  for ([[maybe_unused]] auto _ : state) {
    move_all(*near, there, true, stop);
    move_all(*near, there, false, stop);
  }
  stop = true;
  echo.join();
  state.counters["half_round_trip_seconds"] =
      benchmark::Counter(2.0 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// One-way stream of writes of one size, read in pieces of up to 64 KiB.
void stream(benchmark::State& state, ChannelPair (*make)()) {
  auto [near, far] = make();
  std::atomic<bool> stop{false};
  std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)));
  std::vector<std::byte> sink(1U << 16U);
  std::thread reader([&, &far = *far] {
    const std::array<iovec, 1> pieces = {test::piece(sink)};
    for (;;) {
      auto size = far.try_receive(pieces);
      if (!size || (*size == 0 && stop.load(std::memory_order_relaxed))) return;
    }
  });
  for ([[maybe_unused]] auto _ : state) move_all(*near, bytes, true, stop);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
  stop = true;
  reader.join();
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(8)->Arg(1024)->Arg(65536)->UseRealTime();
}
void stream_sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(136)->Arg(65664)->Arg(1 << 20)->UseRealTime();
}

BENCHMARK_CAPTURE(ping_pong, shared_memory, shared_memory_pair)->Apply(sizes);
BENCHMARK_CAPTURE(ping_pong, tcp, tcp_pair)->Apply(sizes);
BENCHMARK_CAPTURE(ping_pong, plain_socket, plain_pair)->Apply(sizes);
#ifdef IMPISHIM_WITH_LIBFABRIC
BENCHMARK_CAPTURE(ping_pong, fabric_shm, fabric_shm_pair)->Apply(sizes);
BENCHMARK_CAPTURE(ping_pong, fabric_tcp, fabric_tcp_pair)->Apply(sizes);
BENCHMARK_CAPTURE(ping_pong, fabric_net, fabric_net_pair)->Apply(sizes);
BENCHMARK_CAPTURE(stream, fabric_shm, fabric_shm_pair)->Apply(stream_sizes);
BENCHMARK_CAPTURE(stream, fabric_tcp, fabric_tcp_pair)->Apply(stream_sizes);
BENCHMARK_CAPTURE(stream, fabric_net, fabric_net_pair)->Apply(stream_sizes);
#endif
BENCHMARK_CAPTURE(stream, shared_memory, shared_memory_pair)->Apply(stream_sizes);
BENCHMARK_CAPTURE(stream, tcp, tcp_pair)->Apply(stream_sizes);
BENCHMARK_CAPTURE(stream, plain_socket, plain_pair)->Apply(stream_sizes);

}  // namespace
}  // namespace impishim::wire

BENCHMARK_MAIN();
