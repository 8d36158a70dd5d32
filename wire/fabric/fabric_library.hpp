/// The functions of libfabric.so, loaded when they are first needed. All others of its interface go
/// through tables of pointers in the objects that these make (fabric(7)). Only files that are built
/// with libfabric's headers include this one.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <signal.h>

#include <array>
#include <memory>
#include <string>

#include "wire/base/result.hpp"

namespace impishim::wire {

struct FabricLibrary {
  int (*getinfo)(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                 const fi_info* hints, fi_info** info) = nullptr;
  void (*freeinfo)(fi_info* info) = nullptr;
  fi_info* (*dupinfo)(const fi_info* info) = nullptr;  ///< of nullptr: an empty one
  int (*fabric)(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) = nullptr;
  const char* (*strerror)(int error) = nullptr;

  /// The library of this process; it stays loaded. kConfiguration: it is not installed, or it is
  /// too old.
  [[nodiscard]] static Result<const FabricLibrary*> load();
};

/// While it lives, threads that start get no signals (the program's handlers run on the program's
/// threads), and handlers that libraries of providers install are taken out again at its end: some
/// print a backtrace of their own when the program dies.
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

/// Reliable endpoints for messages in order: those that `provider` (a part of its name; empty: any)
/// offers from `address` (numeric; empty: any). `messages`, if not 0: how many shall be under way
/// each way, since some set memory aside for many more. Source: fi_getinfo(3).
[[nodiscard]] Result<FabricInfo> find_fabric(const FabricLibrary& library,
                                             const std::string& provider,
                                             const std::string& address, std::size_t messages = 0);

}  // namespace impishim::wire
