// SPDX-License-Identifier: Apache-2.0
#include "wire/fabric/fabric_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <signal.h>
#include <string.h>

#include <cstring>
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<FabricLibrary> open_library() {
  void* library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("libfabric cannot be loaded ({}): install it (Debian: libfabric1), or "
                             "set IMPISHIM_FABRIC=none",
                             dlerror())};
  }
  FabricLibrary it;
  if (!find(library, "fi_getinfo", it.getinfo) || !find(library, "fi_freeinfo", it.freeinfo) ||
      !find(library, "fi_dupinfo", it.dupinfo) || !find(library, "fi_fabric", it.fabric) ||
      !find(library, "fi_strerror", it.strerror)) {
    return Error{ErrorKind::kConfiguration, "libfabric.so.1 lacks functions that it should have"};
  }
  return it;
}

}  // namespace

SignalsKept::SignalsKept() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask_);
  for (std::size_t i = 0; i < kHandled.size(); ++i) sigaction(kHandled[i], nullptr, &handlers_[i]);
}

SignalsKept::~SignalsKept() {
  for (std::size_t i = 0; i < kHandled.size(); ++i) sigaction(kHandled[i], &handlers_[i], nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

Result<const FabricLibrary*> FabricLibrary::load() {
  static const Result<FabricLibrary> library = open_library();
  if (!library) return library.error();
  return &*library;
}

Result<FabricInfo> find_fabric(const FabricLibrary& library, const std::string& provider,
                               const std::string& address, std::size_t messages) {
  const FabricInfo hints(library.dupinfo(nullptr));
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
  if (!provider.empty())
    hints->fabric_attr->prov_name = strdup(provider.c_str());  // freed with the hints
  hints->tx_attr->size = messages;
  hints->rx_attr->size = messages;
  const auto version = FI_VERSION(1, 10);
  fi_info* found = nullptr;
  int status = -FI_ENODATA;
  if (!address.empty()) {
    status = library.getinfo(version, address.c_str(), nullptr, FI_SOURCE | FI_NUMERICHOST,
                             hints.get(), &found);
  }
  // Not every provider uses IP addresses.
  if (status != 0) status = library.getinfo(version, nullptr, nullptr, 0, hints.get(), &found);
  if (status != 0 && messages > 0)
    return find_fabric(library, provider,
                       address);  // the number is too large for the provider: use its own number
  if (status != 0) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("libfabric has no provider {}with ordered messages between reliable "
                             "endpoints: {}",
                             provider.empty() ? "" : provider + " ", library.strerror(-status))};
  }
  return FabricInfo(found);
}

}  // namespace impishim::wire
