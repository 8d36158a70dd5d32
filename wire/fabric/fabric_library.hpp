// SPDX-License-Identifier: Apache-2.0
/// The functions of libfabric.so, loaded when they are first needed. All other functions of its
/// interface are reached through tables of pointers in the objects that these functions create
/// (fabric(7)). Only files that are built with libfabric's headers include this header.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <signal.h>

#include <array>
#include <memory>
#include <string>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// Pointers to the functions of libfabric.so.
struct FabricLibrary {
  int (*getinfo)(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                 const fi_info* hints, fi_info** info) = nullptr;
  void (*freeinfo)(fi_info* info) = nullptr;
  fi_info* (*dupinfo)(const fi_info* info) = nullptr;  ///< with nullptr: returns an empty one
  int (*fabric)(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) = nullptr;
  const char* (*strerror)(int error) = nullptr;

  /// Returns the library of this process, which stays loaded. Fails with kConfiguration if it is
  /// not installed or too old.
  [[nodiscard]] static Result<const FabricLibrary*> load();
};

/// A guard object for the time in which libfabric's libraries start threads. Threads that start
/// during its life receive no signals, so the program's handlers run on the program's threads. At
/// its end it removes signal handlers that provider libraries have installed, because some of these
/// print their own backtrace when the program dies.
class SignalsKept {
 public:
  SignalsKept();
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;
  ~SignalsKept();

 private:
  static constexpr std::array kHandled = {SIGSEGV, SIGBUS, SIGFPE, SIGILL,
                                          SIGABRT, SIGINT, SIGTERM};
  sigset_t mask_{};
  std::array<struct sigaction, kHandled.size()> handlers_{};
};

/// Frees a list that getinfo() or dupinfo() made.
struct FabricInfoDeleter {
  void operator()(fi_info* info) const { (*FabricLibrary::load())->freeinfo(info); }
};
using FabricInfo = std::unique_ptr<fi_info, FabricInfoDeleter>;

/// Returns the reliable endpoints with ordered messages that `provider` offers from `address`.
/// `provider` is a part of the provider's name (empty: any); `address` is numeric (empty: any).
/// `messages`, if not 0, is the number of messages in transit in each direction; without it some
/// providers reserve memory for many more. Source: fi_getinfo(3).
[[nodiscard]] Result<FabricInfo> find_fabric(const FabricLibrary& library,
                                             const std::string& provider,
                                             const std::string& address, std::size_t messages = 0);

}  // namespace impishim::wire
