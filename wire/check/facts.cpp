// SPDX-License-Identifier: Apache-2.0
#include "wire/check/facts.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/printable.hpp"
#include "wire/channel/address.hpp"
#include "wire/check/report/report.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::check {
namespace {

/// Returns the words of a file's first line.
std::vector<std::string> words_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Returns the last number in the first line of a file; 0 if there is none.
std::int64_t last_number(const std::string& path) {
  const auto words = words_of(path);
  std::int64_t number = 0;
  if (!words.empty()) std::istringstream(words.back()) >> number;
  return number;
}

/// Reads the sizes of memory from /proc/meminfo, which has KiB.
void read_memory(Limits& limits) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream stream(line);
    std::string name;
    std::int64_t size = 0;
    stream >> name >> size;
    if (name == "MemTotal:") limits.memory = size << 10;
    if (name == "MemAvailable:") limits.memory_available = size << 10;
  }
}

/// An RLIM_INFINITY becomes the largest number.
std::int64_t limit_value(rlim_t value) {
  return value > static_cast<rlim_t>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(value);
}

std::int64_t mtu_of(int socket, const char* name) {
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
  return ioctl(socket, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family != AF_INET6) return false;
  const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(address);
  return IN6_IS_ADDR_LINKLOCAL(&ipv6->sin6_addr);
}

}  // namespace

Limits read_limits() {
  Limits limits;
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    limits.descriptors = limit_value(descriptors.rlim_cur);
    limits.descriptors_hard = limit_value(descriptors.rlim_max);
  }
  struct statvfs shared {};
  if (statvfs("/dev/shm", &shared) == 0) {
    limits.shared_memory = static_cast<std::int64_t>(shared.f_blocks * shared.f_frsize);
    limits.shared_memory_free = static_cast<std::int64_t>(shared.f_bavail * shared.f_frsize);
  }
  read_memory(limits);
  limits.receive_buffer = last_number("/proc/sys/net/core/rmem_max");
  limits.send_buffer = last_number("/proc/sys/net/core/wmem_max");
  limits.receive_window = last_number("/proc/sys/net/ipv4/tcp_rmem");
  limits.send_window = last_number("/proc/sys/net/ipv4/tcp_wmem");
  const auto congestion = words_of("/proc/sys/net/ipv4/tcp_congestion_control");
  if (!congestion.empty()) limits.congestion = congestion.front();
  return limits;
}

std::vector<Interface> read_interfaces() {
  std::vector<Interface> interfaces;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return interfaces;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const int family = each->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || is_link_local(each->ifa_addr)) continue;
    wire::SocketAddress address;
    address.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(address.get(), each->ifa_addr, address.size);
    interfaces.push_back(
        {each->ifa_name, wire::address_text(address.host()), mtu_of(socket.get(), each->ifa_name)});
  }
  return interfaces;
}

Interface interface_of(const std::vector<Interface>& interfaces, const wire::HostId& address) {
  const std::string text = wire::address_text(address);
  for (const Interface& each : interfaces)
    if (each.address == text) return each;
  return {{}, text, 0};
}

std::string kernel_name() {
  utsname machine{};
  if (uname(&machine) != 0) return {};
  return printable(std::string(machine.sysname) + " " + machine.release + " " + machine.machine);
}

HostName resolve(const std::string& name) {
  const auto address = wire::parse_address(name);
  return {name, address ? wire::address_text(*address) : std::string()};
}

}  // namespace impishim::check
