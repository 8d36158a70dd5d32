// SPDX-License-Identifier: Apache-2.0
// The local part of scans. Templates on the elements and the operator; not for users.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// A dimension of the scanned elements: their distance in the source, and in the result.
struct ScanDimension {
  Index extent = 0;
  Index stride = 1;
  Index into = 1;
};

/// Parallel lines that are scanned, numbered in row-major order, and the dimension along which each
/// runs.
struct ScanPiece {
  std::vector<ScanDimension> lines;
  ScanDimension axis;
};

/// Computes result[x] = seed op source[0] op ... op source[x], or up to source[x - 1] if exclusive,
/// on each line. `seeds` has one accumulator for each line; it is null for scans that begin with
/// their first element. Exclusive scans need seeds.
using ScanFunction = std::function<void(const ScanPiece&, const void* source, const void* seeds,
                                        bool exclusive, void* into)>;

namespace detail {

template <class Policy>
class PieceScanner {
 public:
  using Value = typename Policy::Value;
  using Accumulator = typename Policy::Accumulator;

  PieceScanner(const Policy& policy, const ScanPiece& piece, bool exclusive)
      : policy_(policy), piece_(piece), exclusive_(exclusive) {}

  void run(const Value* source, const Accumulator* seeds, Accumulator* into) const {
    if (piece_.axis.extent > 0) visit_lines(0, source, seeds, into);
  }

 private:
  // Returns the seeds of the lines that follow those that it has scanned.
  const Accumulator* visit_lines(std::size_t d, const Value* source, const Accumulator* seeds,
                                 Accumulator* into) const {
    if (d == piece_.lines.size()) {
      line(source, seeds, into);
      return seeds == nullptr ? nullptr : seeds + 1;
    }
    const ScanDimension& lines = piece_.lines[d];
    if (d + 1 == piece_.lines.size() && lines.extent > 1 && lines.stride < piece_.axis.stride) {
      rows(lines, source, seeds, into);
      return seeds == nullptr ? nullptr : seeds + lines.extent;
    }
    for (Index k = 0; k < lines.extent; ++k)
      seeds = visit_lines(d + 1, source + k * lines.stride, seeds, into + k * lines.into);
    return seeds;
  }

  void line(const Value* source, const Accumulator* seed, Accumulator* into) const {
    Index x = 0;
    Accumulator sum = seed == nullptr ? policy_.lift(source[0]) : *seed;
    if (seed == nullptr) into[x++] = sum;
    for (; x < piece_.axis.extent; ++x) {
      const Value value =
          source[x * piece_.axis.stride];  // read first, since the result may be the source
      if (exclusive_) into[x * piece_.axis.into] = sum;
      policy_.add(sum, value);
      if (!exclusive_) into[x * piece_.axis.into] = sum;
    }
  }

  // Scans adjacent lines together, step by step along the axis.
  void rows(const ScanDimension& lines, const Value* source, const Accumulator* seeds,
            Accumulator* into) const {
    const auto sums = std::make_unique<Accumulator[]>(static_cast<std::size_t>(lines.extent));
    for (Index j = 0; j < lines.extent; ++j) {
      sums[static_cast<std::size_t>(j)] =
          seeds == nullptr ? policy_.lift(source[j * lines.stride]) : seeds[j];
    }
    for (Index x = 0; x < piece_.axis.extent; ++x) {
      const Value* from = source + x * piece_.axis.stride;
      Accumulator* to = into + x * piece_.axis.into;
      for (Index j = 0; j < lines.extent; ++j) {
        Accumulator& sum = sums[static_cast<std::size_t>(j)];
        const Value value = from[j * lines.stride];
        if (exclusive_) to[j * lines.into] = sum;
        if (seeds != nullptr || x > 0) policy_.add(sum, value);
        if (!exclusive_) to[j * lines.into] = sum;
      }
    }
  }

  const Policy& policy_;
  const ScanPiece& piece_;
  bool exclusive_;
};

template <class Policy>
ScanFunction scan_function(const Policy& policy) {
  return [policy](const ScanPiece& piece, const void* source, const void* seeds, bool exclusive,
                  void* into) {
    using Accumulator = typename Policy::Accumulator;
    PieceScanner<Policy>(policy, piece, exclusive)
        .run(static_cast<const typename Policy::Value*>(source),
             static_cast<const Accumulator*>(seeds), static_cast<Accumulator*>(into));
  };
}

}  // namespace detail
}  // namespace impishim::darray
