// SPDX-License-Identifier: Apache-2.0
#include "wire/compress/piece_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/compress/piece.hpp"
#include "wire/compress/zstd_library.hpp"

namespace impishim::wire {
namespace {

Error impossible(const std::string& what) {
  return {ErrorKind::kProtocol,
          fmt::format("the peer sent {} in a compressed stream (IMPISHIM_COMPRESSION)", what)};
}

}  // namespace

Result<Piece> decode_piece_header(std::span<const std::byte, Piece::kHeaderSize> from) {
  constexpr unsigned kKindShift = 24;
  constexpr std::uint32_t kCarriedMask = (1U << kKindShift) - 1U;
  const auto first = load_big_endian<std::uint32_t>(from.data());
  const auto plain = load_big_endian<std::uint32_t>(from.data() + sizeof(std::uint32_t));
  const auto kind = static_cast<PieceKind>(first >> kKindShift);
  const Piece piece{kind, first & kCarriedMask, plain};
  if (kind != PieceKind::kPlain && kind != PieceKind::kFirst && kind != PieceKind::kNext)
    return impossible(fmt::format("a piece of the unknown kind 0x{:x}", first >> kKindShift));
  const bool possible = kind == PieceKind::kPlain ? piece.carried == plain : piece.carried < plain;
  if (!possible || piece.carried == 0 || plain > Piece::kMostPlain)
    return impossible(fmt::format("a piece of {} bytes for {}", piece.carried, plain));
  return piece;
}

std::span<std::byte> PieceDecoder::input_room() {
  input_.make_room(Piece::kHeaderSize + Piece::kMostPlain);
  return input_.room();
}

bool PieceDecoder::has_input() const {
  const std::size_t here = input_.bytes().size();
  if (failure_ || !ready_.empty()) return true;
  if (plain_left_ > 0) return here > 0;
  return here >= (compressed_ ? std::size_t{compressed_->carried} : Piece::kHeaderSize);
}

Result<std::size_t> PieceDecoder::read(std::span<const iovec> pieces, std::size_t skip) {
  std::size_t total = 0;
  for (const iovec& piece : pieces) {
    const std::size_t skipped = std::min(skip, piece.iov_len);
    skip -= skipped;
    auto room = std::span(static_cast<std::byte*>(piece.iov_base), piece.iov_len).subspan(skipped);
    while (!room.empty()) {
      if (failure_) return total > 0 ? Result<std::size_t>(total) : *failure_;
      auto got = read_some(room);
      if (!got) {
        failure_ = got.error();
        continue;
      }
      if (*got == 0) return total;
      total += *got;
      room = room.subspan(*got);
    }
  }
  return total;
}

/// Returns 0 if more input is needed.
Result<std::size_t> PieceDecoder::read_some(std::span<std::byte> room) {
  while (ready_.empty() && has_input()) {
    if (plain_left_ > 0) {
      const std::size_t size = std::min({room.size(), plain_left_, input_.bytes().size()});
      std::memcpy(room.data(), input_.bytes().data(), size);
      input_.remove(size);
      plain_left_ -= size;
      return size;
    }
    auto done = compressed_ ? decompress() : take_header();
    if (!done) return done.error();
  }
  const std::size_t size = std::min(room.size(), ready_.size());
  if (size > 0) std::memcpy(room.data(), ready_.data(), size);
  ready_ = ready_.subspan(size);
  return size;
}

Result<void> PieceDecoder::take_header() {
  auto piece = decode_piece_header(input_.bytes().first<Piece::kHeaderSize>());
  if (!piece) return piece.error();
  input_.remove(Piece::kHeaderSize);
  if (piece->kind == PieceKind::kPlain)
    plain_left_ = piece->plain;
  else
    compressed_ = *piece;
  return {};
}

Result<void> PieceDecoder::decompress() {
  const Piece piece = *compressed_;
  if (!decompressor_) {
    if (piece.kind != PieceKind::kFirst) return impossible("a piece without its window");
    auto made = ZstdDecompressor::make();
    if (!made) return made.error();
    decompressor_ = std::move(*made);
    memory_ = std::make_unique_for_overwrite<std::byte[]>(Piece::kMostPlain + 1);
  }
  if (piece.kind == PieceKind::kFirst) decompressor_->begin();
  // With one byte more, a piece that is too long shows.
  const std::span room(memory_.get(), piece.plain + 1);
  auto size = decompressor_->decompress(input_.bytes().first(piece.carried), room);
  if (!size) return size.error();
  if (*size != piece.plain)
    return impossible(fmt::format("a piece for {} bytes that has {}", piece.plain,
                                  *size > piece.plain ? "more" : std::to_string(*size)));
  input_.remove(piece.carried);
  compressed_.reset();
  ready_ = room.first(piece.plain);
  return {};
}

}  // namespace impishim::wire
