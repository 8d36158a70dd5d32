// SPDX-License-Identifier: Apache-2.0
#include "wire/process/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>

#include "wire/base/descriptor.hpp"

namespace impishim::launch {
namespace {

struct Pipe {
  Descriptor reader;
  Descriptor writer;
};

/// Returns a pipe that does not block, as a descriptor that others share may not.
Pipe make_pipe() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

TEST(LaunchProcess, TextLongerThanAPipePassesWhole) {
  Pipe pipe = make_pipe();
  const std::string text(std::size_t{1} << 20, 'x');
  std::string got(text.size(), '\0');
  bool whole = false;
  std::thread reader([&] { whole = read_exactly(pipe.reader.get(), got.data(), got.size()); });
  EXPECT_EQ(write_all(pipe.writer.get(), text), 0);
  reader.join();
  EXPECT_TRUE(whole);
  EXPECT_EQ(got, text);
}

TEST(LaunchProcess, InputThatEndsEarlyIsNotWhole) {
  Pipe pipe = make_pipe();
  EXPECT_EQ(write_all(pipe.writer.get(), "ab"), 0);
  pipe.writer = Descriptor();
  std::array<char, 3> got{};
  EXPECT_FALSE(read_exactly(pipe.reader.get(), got.data(), got.size()));
}

TEST(LaunchProcess, ReaderThatHasGoneIsTold) {
  Pipe pipe = make_pipe();
  pipe.reader = Descriptor();
  const auto before = signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(write_all(pipe.writer.get(), "ab"), EPIPE);
  signal(SIGPIPE, before);
}

TEST(LaunchProcess, IgnoredSignalsAreLeftOut) {
  const auto before = signal(SIGHUP, SIG_IGN);
  const sigset_t set = signals_among({SIGHUP, SIGTERM});
  signal(SIGHUP, before);
  EXPECT_EQ(sigismember(&set, SIGHUP), 0);
  EXPECT_EQ(sigismember(&set, SIGTERM), 1);
}

TEST(LaunchProcess, CommandThatIsNotThereIsTold) {
  EXPECT_EQ(execute({"./no-such-program"}).text,
            "cannot run ./no-such-program: No such file or directory");
}

}  // namespace
}  // namespace impishim::launch
