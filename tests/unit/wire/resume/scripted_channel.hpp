// SPDX-License-Identifier: Apache-2.0
/// A connection whose other end is the test: what it sends is collected, what it reads was written
/// down before.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/resume_frame.hpp"

namespace impishim::wire::test {

inline void append_bytes(std::vector<std::byte>& stream, std::span<const std::byte> bytes) {
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

/// Appends a frame, of data if there are bytes.
inline void append_frame(std::vector<std::byte>& stream, ResumeFrameType type,
                         std::uint64_t received, std::span<const std::byte> bytes = {}) {
  append_bytes(stream,
               encode_resume_frame({type, static_cast<std::uint32_t>(bytes.size()), received}));
  append_bytes(stream, bytes);
}

class ScriptedChannel final : public Channel {
 public:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  std::vector<std::byte> input;  ///< what the peer has sent
  std::size_t read = 0;          ///< of it
  std::vector<std::byte> output;
  std::size_t most_read = kAll;  ///< in one call
  std::size_t most_sent = kAll;  ///< in one call
  std::optional<Error> error;    ///< of the next call
  bool wants_output = false;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);  ///< for a test that is not the owner

  ScriptedChannel() = default;
  ~ScriptedChannel() override { *alive = false; }

  /// Begins another connection.
  void reset() {
    input.clear();
    output.clear();
    read = 0;
    most_read = most_sent = kAll;
    error.reset();
  }

  /// Makes the descriptor readable for good, for an owner that reads only then.
  void announce() { static_cast<void>(eventfd_write(event_.get(), 1)); }

  Result<std::size_t> try_send(std::span<const iovec> pieces) override {
    if (error) return *error;
    std::size_t left = most_sent;
    for (const iovec& piece : pieces) {
      const std::size_t part = std::min(left, piece.iov_len);
      append_bytes(output, {static_cast<const std::byte*>(piece.iov_base), part});
      left -= part;
    }
    return most_sent - left;
  }
  Result<std::size_t> try_receive(std::span<const iovec> pieces) override {
    if (error) return *error;
    std::size_t left = std::min(most_read, input.size() - read);
    const std::size_t before = read;
    for (const iovec& piece : pieces) {
      const std::size_t part = std::min(left, piece.iov_len);
      std::ranges::copy(std::span(input).subspan(read, part),
                        static_cast<std::byte*>(piece.iov_base));
      read += part;
      left -= part;
    }
    return read - before;
  }
  [[nodiscard]] int descriptor() const override { return event_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override { return EPOLLIN; }
  bool set_want_output(bool want) override {
    wants_output = want;
    return false;
  }
  [[nodiscard]] bool prepare_to_sleep() override { return read == input.size(); }
  void end_sleep() override {}
  void shutdown_output() override {}
  void close_in_forked_child() override {}
  [[nodiscard]] std::string peer_name() const override { return "the test"; }

 private:
  Descriptor event_{eventfd(0, EFD_CLOEXEC)};  ///< not readable before announce()
};

}  // namespace impishim::wire::test
