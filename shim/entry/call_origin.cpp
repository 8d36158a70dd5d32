// SPDX-License-Identifier: Apache-2.0
#include "shim/entry/call_origin.hpp"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace impishim::shim {
namespace {

constexpr std::string_view kFortranLayer = IMPISHIM_VENDOR_FORTRAN;

/// Address range of the layer's code, once it has been found. A library stays at its address, but
/// may be loaded late, with a dlopen'ed part of the program.
std::atomic<std::uintptr_t> layer_begin{0};
std::atomic<std::uintptr_t> layer_end{0};
/// The loader's string, which lives as long as the library.
std::atomic<const char*> layer_path{nullptr};

int find_layer(dl_phdr_info* object, std::size_t /*size*/, void* /*data*/) {
  const std::string_view path = object->dlpi_name;
  if (path.substr(path.rfind('/') + 1).substr(0, kFortranLayer.size()) != kFortranLayer) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    layer_path.store(object->dlpi_name, std::memory_order_relaxed);
    layer_end.store(object->dlpi_addr + segment.p_vaddr + segment.p_memsz,
                    std::memory_order_relaxed);
    layer_begin.store(object->dlpi_addr + segment.p_vaddr, std::memory_order_release);
    return 1;
  }
  return 0;
}

}  // namespace

bool in_fortran_layer(const void* address) {
  if constexpr (!kHasFortranLayer) return false;
  if (layer_begin.load(std::memory_order_acquire) == 0) dl_iterate_phdr(find_layer, nullptr);
  const std::uintptr_t begin = layer_begin.load(std::memory_order_acquire);
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  return begin != 0 && place >= begin && place < layer_end.load(std::memory_order_relaxed);
}

const char* fortran_layer_path() {
  if (layer_begin.load(std::memory_order_acquire) == 0) dl_iterate_phdr(find_layer, nullptr);
  return layer_begin.load(std::memory_order_acquire) == 0
             ? nullptr
             : layer_path.load(std::memory_order_relaxed);
}

}  // namespace impishim::shim
