// SPDX-License-Identifier: Apache-2.0
// A long cable between two network namespaces, for kernels that have no netem: Ethernet frames
// cross it after a delay, at a rate, and some are lost. TCP sees all three.
//
//   long_cable NAMESPACE NAMESPACE --device NAME [--rate MBIT] [--delay MS] [--queue MS]
//              [--loss SHARE] [--seed N]
//
// It makes a network device NAME in each namespace, prints "ready", and ends when its standard
// input does. Then it prints what it carried, lost, and dropped since its queue was full.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using impishim::Descriptor;

/// What the cable does to frames.
struct Cable {
  std::vector<std::string> namespaces;  ///< two
  std::string device;
  double rate_mbit = 1000;
  double delay_ms = 25;
  double queue_ms = 5;  ///< what waits for the cable at most, in time at the rate
  double loss = 0;      ///< share of the frames
  std::uint64_t seed = 1;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "long_cable: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

Clock::duration milliseconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>(count));
}

/// Makes a device in a namespace. The calling thread stays in that namespace.
Descriptor make_device(const std::string& name_space, const std::string& name) {
  const std::string path = "/var/run/netns/" + name_space;
  const Descriptor entry(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!entry.valid() || ::setns(entry.get(), CLONE_NEWNET) != 0) fail(path);
  Descriptor device(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!device.valid()) fail("/dev/net/tun");
  ifreq request = {};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  name.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
  if (::ioctl(device.get(), TUNSETIFF, &request) != 0) fail("device " + name);
  return device;
}

/// One direction of the cable.
class Direction {
 public:
  Direction(const Cable& cable, std::uint64_t seed)
      : nanoseconds_of_byte_(8e3 / cable.rate_mbit),
        delay_(milliseconds(cable.delay_ms)),
        queue_(milliseconds(cable.queue_ms)),
        random_(seed),
        lost_share_(cable.loss) {}

  /// Takes the frames that a device has sent.
  void take(int device, Clock::time_point now) {
    std::array<char, kLongestFrame> buffer;
    for (int i = 0; i < kBatch; ++i) {
      const ssize_t size = ::read(device, buffer.data(), buffer.size());
      if (size < 0 && errno != EAGAIN) fail("read");
      if (size <= 0) return;
      accept(buffer.data(), static_cast<std::size_t>(size), now);
    }
  }

  /// Hands the other device the frames whose time has come.
  void deliver(int device, Clock::time_point now) {
    while (!frames_.empty() && frames_.front().due <= now) {
      const std::vector<char>& bytes = frames_.front().bytes;
      const ssize_t written = ::write(device, bytes.data(), bytes.size());
      // A device that is down, or whose queue is full, loses the frame, as a network card does.
      if (written < 0 && errno != EIO && errno != EAGAIN && errno != ENOBUFS) fail("write");
      ++carried_;
      spare_.push_back(std::move(frames_.front().bytes));
      frames_.pop_front();
    }
  }

  [[nodiscard]] Clock::time_point next_due() const {
    return frames_.empty() ? Clock::time_point::max() : frames_.front().due;
  }

  [[nodiscard]] std::string summary() const {
    return fmt::format("{} carried, {} lost, {} dropped", carried_, lost_, dropped_);
  }

 private:
  struct Frame {
    Clock::time_point due;
    std::vector<char> bytes;
  };
  static constexpr std::size_t kLongestFrame = 65536;
  static constexpr int kBatch = 64;

  void accept(const char* bytes, std::size_t size, Clock::time_point now) {
    const Clock::time_point begin = std::max(now, free_);
    if (begin - now > queue_) {
      ++dropped_;
      return;
    }
    free_ = begin +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::nano>(
                nanoseconds_of_byte_ * static_cast<double>(size)));
    // A frame that is lost on the way has taken its time all the same.
    if (lost_share_ > 0 && chance_(random_) < lost_share_) {
      ++lost_;
      return;
    }
    std::vector<char> room;
    if (!spare_.empty()) {
      room = std::move(spare_.back());
      spare_.pop_back();
    }
    room.assign(bytes, bytes + size);
    frames_.push_back({free_ + delay_, std::move(room)});
  }

  double nanoseconds_of_byte_;
  Clock::duration delay_, queue_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> chance_{0, 1};
  double lost_share_;
  Clock::time_point free_;  ///< when the cable can take the next frame
  std::deque<Frame> frames_;
  std::vector<std::vector<char>> spare_;
  std::uint64_t carried_ = 0, lost_ = 0, dropped_ = 0;
};

/// Sleeps until a frame has come or is due. Returns false when the standard input has ended.
bool sleep_until(Clock::time_point due, const std::array<Descriptor, 2>& devices) {
  std::array<pollfd, 3> polled = {pollfd{devices[0].get(), POLLIN, 0},
                                  {devices[1].get(), POLLIN, 0},
                                  {STDIN_FILENO, POLLIN, 0}};
  timespec wait = {};
  const bool sleeps_on = due == Clock::time_point::max();
  if (!sleeps_on) {
    const auto left = std::max(due - Clock::now(), Clock::duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    wait = {seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
  }
  const int ready = ::ppoll(polled.data(), polled.size(), sleeps_on ? nullptr : &wait, nullptr);
  if (ready < 0 && errno != EINTR) fail("ppoll");
  return polled[2].revents == 0;
}

void carry(const Cable& cable, const std::array<Descriptor, 2>& devices) {
  std::array<Direction, 2> ways = {Direction(cable, cable.seed), Direction(cable, ~cable.seed)};
  do {
    const auto now = Clock::now();
    for (std::size_t i = 0; i < 2; ++i) {
      ways[i].take(devices[i].get(), now);
      ways[i].deliver(devices[1 - i].get(), now);
    }
  } while (sleep_until(std::min(ways[0].next_due(), ways[1].next_due()), devices));
  fmt::print("{}; back: {}\n", ways[0].summary(), ways[1].summary());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A long cable between two network namespaces");
  Cable cable;
  app.add_option("namespaces", cable.namespaces, "two of /var/run/netns")->expected(2)->required();
  app.add_option("--device", cable.device, "the name of the network device in each")
      ->required()
      ->check(CLI::Validator(
          [](const std::string& name) {
            return name.size() < IFNAMSIZ ? std::string()
                                          : "a device's name has 15 characters at most";
          },
          "NAME"));
  app.add_option("--rate", cable.rate_mbit, "Mbit/s")->check(CLI::PositiveNumber);
  app.add_option("--delay", cable.delay_ms, "one way, ms")->check(CLI::NonNegativeNumber);
  app.add_option("--queue", cable.queue_ms, "what may wait, in ms at the rate")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--loss", cable.loss, "share of the frames that are lost")
      ->check(CLI::Range(0., 1.));
  app.add_option("--seed", cable.seed, "of the losses");
  CLI11_PARSE(app, argc, argv);
  // The timers of a sleeping thread are late by 50 us otherwise.
  ::prctl(PR_SET_TIMERSLACK, 1000);
  // Frames that come while the programs under test have the processors would be dropped.
  sched_param priority = {};
  priority.sched_priority = 1;
  if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
    fmt::print(stderr, "long_cable: no real-time priority ({}): frames may be dropped\n",
               std::strerror(errno));
  const std::array<Descriptor, 2> devices = {make_device(cable.namespaces[0], cable.device),
                                             make_device(cable.namespaces[1], cable.device)};
  fmt::print("ready\n");
  std::fflush(stdout);
  carry(cable, devices);
  return 0;
}
