// SPDX-License-Identifier: Apache-2.0
#include "shim/values/program_symbols.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace impishim::shim {
namespace {

using Names = std::span<const std::string_view>;

/// The dynamic symbols of a loaded object.
struct DynamicSymbols {
  const char* names = nullptr;
  const ElfW(Sym) * first = nullptr;
  std::uint32_t undefined = 0;  ///< the first ones may be undefined
};

/// Returns the address that an entry of the dynamic section holds. glibc adds the base address for
/// most architectures, but not to the kernel's own object.
std::uintptr_t address_in(const dl_phdr_info& object, const ElfW(Dyn) & entry) {
  const std::uintptr_t value = entry.d_un.d_ptr;
  return value < object.dlpi_addr ? value + object.dlpi_addr : value;
}

DynamicSymbols symbols_of(const dl_phdr_info& object, const ElfW(Dyn) * entries) {
  DynamicSymbols symbols;
  for (const auto* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB)
      symbols.names = reinterpret_cast<const char*>(address_in(object, *entry));
    if (entry->d_tag == DT_SYMTAB)
      symbols.first = reinterpret_cast<const ElfW(Sym)*>(address_in(object, *entry));
    // A hash table of either kind has 4-byte words. GNU's second word is the number of symbols that
    // it leaves out, all undefined ones among them; the older one's is the number of all.
    if (entry->d_tag == DT_GNU_HASH || (entry->d_tag == DT_HASH && symbols.undefined == 0))
      symbols.undefined = reinterpret_cast<const std::uint32_t*>(address_in(object, *entry))[1];
  }
  return symbols;
}

bool refers_to(const DynamicSymbols& symbols, Names names) {
  if (symbols.names == nullptr || symbols.first == nullptr) return false;
  return std::ranges::any_of(
      std::span(symbols.first, symbols.undefined), [&](const ElfW(Sym) & symbol) {
        return symbol.st_shndx == SHN_UNDEF &&
               std::ranges::find(names, symbols.names + symbol.st_name) != names.end();
      });
}

int find_reference(dl_phdr_info* object, std::size_t /*size*/, void* names) {
  const std::string_view path = object->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  // The kernel's object has no file, and is not mapped like others.
  if (file.starts_with("libmpi") || file.starts_with("linux-vdso")) return 0;
  for (const auto& segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_DYNAMIC) continue;
    const auto* entries = reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + segment.p_vaddr);
    if (refers_to(symbols_of(*object, entries), *static_cast<const Names*>(names))) return 1;
  }
  return 0;
}

}  // namespace

bool program_refers_to(Names names) { return dl_iterate_phdr(find_reference, &names) != 0; }

}  // namespace impishim::shim
