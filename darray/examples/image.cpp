// SPDX-License-Identifier: Apache-2.0
#include "darray/examples/image.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace impishim::darray {
namespace {

using Colour = std::array<double, 3>;

/// Colours at equal distances; values between two of them are interpolated.
constexpr std::array<Colour, 5> kColours = {
    {{0, 0, 20}, {110, 0, 90}, {220, 60, 30}, {255, 190, 40}, {255, 255, 240}}};

Colour colour_of(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * (kColours.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kColours.size() - 2);
  Colour colour{};
  for (std::size_t i = 0; i < colour.size(); ++i) {
    colour[i] =
        std::lerp(kColours[below][i], kColours[below + 1][i], place - static_cast<double>(below));
  }
  return colour;
}

}  // namespace

void write_heat_map(const std::string& file, std::span<const double> values, Index cells,
                    double hottest) {
  std::vector<std::uint8_t> pixels;
  pixels.reserve(values.size() * 3);
  for (const double value : values) {
    for (const double part : colour_of(value / hottest))
      pixels.push_back(static_cast<std::uint8_t>(std::lround(part)));
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(cells);
  image.height = static_cast<png_uint_32>(cells);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", file, image.message));
  }
}

}  // namespace impishim::darray
