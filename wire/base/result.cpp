// SPDX-License-Identifier: Apache-2.0
#include "wire/base/result.hpp"
#include <string>
#include <utility>

namespace impishim {

Error::Error(ErrorKind kind_, std::string text_) : kind(kind_), text(std::move(text_)) {}
Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

}  // namespace impishim
