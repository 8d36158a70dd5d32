// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/resume_frame.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

ResumeHeader encode_resume_frame(const ResumeFrame& frame) {
  ResumeHeader header;
  store_big_endian(header.data(), static_cast<std::uint32_t>(frame.type));
  store_big_endian(header.data() + 4, frame.size);
  store_big_endian(header.data() + 8, frame.received);
  return header;
}

Result<ResumeFrame> decode_resume_frame(
    std::span<const std::byte, ResumeFrame::kHeaderSize> header) {
  const auto type = load_big_endian<std::uint32_t>(header.data());
  ResumeFrame frame;
  frame.type = static_cast<ResumeFrameType>(type);
  frame.size = load_big_endian<std::uint32_t>(header.data() + 4);
  frame.received = load_big_endian<std::uint64_t>(header.data() + 8);
  switch (frame.type) {
    case ResumeFrameType::kData:
      if (frame.size >= 1 && frame.size <= ResumeFrame::kMostFrame) return frame;
      break;
    case ResumeFrameType::kResume:
    case ResumeFrameType::kAcknowledge:
    case ResumeFrameType::kEnd:
    case ResumeFrameType::kQuestion:
      if (frame.size == 0) return frame;
      break;
    default:
      return Error{
          ErrorKind::kProtocol,
          fmt::format("a frame of the resumable stream has the unknown type 0x{:x}", type)};
  }
  return Error{ErrorKind::kProtocol,
               fmt::format("a frame of the resumable stream, of type 0x{:x}, has the impossible "
                           "size {}",
                           type, frame.size)};
}

}  // namespace impishim::wire
