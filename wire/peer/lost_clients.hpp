// SPDX-License-Identifier: Apache-2.0
/// The clients of the job that are lost, while this process goes on without them.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// The engine's lock protects it.
class LostClients {
 public:
  /// Records the loss of a client. `error` is what operations that need it end with.
  void add(std::int32_t client, Error error) { errors_.emplace(client, std::move(error)); }
  [[nodiscard]] bool empty() const { return errors_.empty(); }
  [[nodiscard]] bool contains(std::int32_t client) const { return errors_.contains(client); }
  /// Returns the error of a lost client.
  [[nodiscard]] const Error& error(std::int32_t client) const { return errors_.at(client); }
  /// Returns the numbers of the lost clients, ascending.
  [[nodiscard]] std::vector<std::int32_t> numbers() const {
    std::vector<std::int32_t> numbers;
    for (const auto& [client, error] : errors_) numbers.push_back(client);
    return numbers;
  }

 private:
  std::map<std::int32_t, Error> errors_;
};

}  // namespace impishim::wire
