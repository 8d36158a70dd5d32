// SPDX-License-Identifier: Apache-2.0
/// What a run is set to, read from the same variables as the library reads; and what crosses
/// between clients.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace impishim_test {

/// Sums over all processes.
struct Traffic {
  long long messages = 0;
  long long bytes = 0;

  Traffic& operator+=(const Traffic& other) {
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
  friend Traffic operator+(Traffic left, const Traffic& right) { return left += right; }
  bool operator==(const Traffic&) const = default;
};

/// `count` elements of one type.
struct Elements {
  long long count = 0;
  int travelling = 0;  ///< bytes of one on its way
  int external = 0;    ///< bytes of one in external32, which forms are chosen from

  [[nodiscard]] long long bytes() const { return count * travelling; }
  [[nodiscard]] long long length() const { return count * external; }
  [[nodiscard]] Elements of(long long number) const { return {number, travelling, external}; }
};

struct Setting {
  bool impi =
      false;  ///< IMPISHIM_WIRE_FORMAT=external32: IMPI's forms, one message each, also of nothing
  bool alike =
      true;  ///< systems represent data alike; not so as far as IMPISHIM_WIRE_FORMAT=wide goes
  long long segment = 65536;
  long long long_from = 262144;
  long long xsize = 1024;
  int max_linear = 4;
  std::map<std::string, std::string> forms;

  static Setting from_environment();
  /// The form forced upon `collective`, or none.
  [[nodiscard]] std::string forced(const std::string& collective) const;
  /// The forced form, or else `usual`. For collectives that can take any of their forms at any
  /// time.
  [[nodiscard]] std::string form(const std::string& collective, const std::string& usual) const;
  /// True if one delay counts more than the number of messages, for any number of clients.
  [[nodiscard]] bool tiny(const Elements& data) const { return data.length() < xsize; }
  [[nodiscard]] bool few(int clients) const { return clients <= (max_linear > 2 ? max_linear : 2); }

  /// Messages of a reduction's data: whole elements in each.
  [[nodiscard]] long long segments(const Elements& data) const;
  /// Messages of packed bytes.
  [[nodiscard]] long long pieces(long long bytes) const;
  /// Bytes of an element on its way.
  [[nodiscard]] Elements doubles(long long count) const { return {count, 8, 8}; }
  [[nodiscard]] Elements longs(long long count) const { return {count, impi ? 4 : 8, 4}; }
};

/// Ranks by client, clients numbered in the order of their lowest ranks.
struct Members {
  std::vector<int> client;  ///< by rank

  [[nodiscard]] int size() const { return static_cast<int>(client.size()); }
  [[nodiscard]] int clients() const;
  [[nodiscard]] int of_client(int number) const;
  [[nodiscard]] int fewest() const;  ///< members of the client with the fewest
  [[nodiscard]] std::vector<int> runs()
      const;  ///< clients of the runs of consecutive ranks of one client
  [[nodiscard]] bool in_order() const { return static_cast<int>(runs().size()) == clients(); }
};
[[nodiscard]] Members numbered(const std::vector<int>& colors);

/// The groups of an intercommunicator; `first` has the lower first rank. Clients have the same
/// numbers in both.
struct TwoGroups {
  std::vector<int> first;
  std::vector<int> second;
};

}  // namespace impishim_test
