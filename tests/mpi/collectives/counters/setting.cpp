// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/collectives/counters/setting.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace impishim_test {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

Setting Setting::from_environment() {
  Setting setting;
  setting.impi = variable("IMPISHIM_WIRE_FORMAT") == "external32";
  setting.alike = !setting.impi && variable("IMPISHIM_WIRE_FORMAT") != "wide";
  if (const auto xsize = variable("IMPISHIM_COLL_XSIZE"); !xsize.empty())
    setting.xsize = std::stoll(xsize);
  if (const auto few = variable("IMPISHIM_COLL_MAXLINEAR"); !few.empty())
    setting.max_linear = std::stoi(few);
  std::istringstream items(variable("IMPISHIM_COLLECTIVES"));
  for (std::string item; std::getline(items, item, ',');) {
    const std::string name = item.substr(0, item.find('='));
    const std::string value = item.substr(item.find('=') + 1);
    if (name == "segment") {
      setting.segment = std::stoll(value);
    } else if (name == "long") {
      setting.long_from = std::stoll(value);
    } else {
      setting.forms[name] = value;
    }
  }
  return setting;
}

std::string Setting::forced(const std::string& collective) const {
  const auto found = forms.find(collective);
  return impi || found == forms.end() ? std::string() : found->second;
}

std::string Setting::form(const std::string& collective, const std::string& usual) const {
  const std::string other = forced(collective);
  return other.empty() ? usual : other;
}

long long Setting::segments(const Elements& data) const {
  if (impi) return 1;
  const long long length = std::max(1LL, segment / data.travelling);
  return (data.count + length - 1) / length;
}

long long Setting::pieces(long long bytes) const {
  return impi ? 1 : (bytes + segment - 1) / segment;
}

int Members::clients() const {
  return client.empty() ? 0 : *std::max_element(client.begin(), client.end()) + 1;
}

int Members::of_client(int number) const {
  return static_cast<int>(std::count(client.begin(), client.end(), number));
}

int Members::fewest() const {
  int fewest = size();
  for (int number = 0; number < clients(); ++number) fewest = std::min(fewest, of_client(number));
  return fewest;
}

std::vector<int> Members::runs() const {
  std::vector<int> runs = client;
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

Members numbered(const std::vector<int>& colors) {
  Members members;
  std::vector<int> seen;
  for (const int color : colors) {
    const auto found = std::find(seen.begin(), seen.end(), color);
    members.client.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(color);
  }
  return members;
}

}  // namespace impishim_test
