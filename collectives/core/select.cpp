// SPDX-License-Identifier: Apache-2.0
#include "collectives/core/select.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "collectives/core/form_table.hpp"

namespace impishim::collectives {
namespace {

bool fits(Length length, std::uint64_t bytes, const Limits& limits) {
  switch (length) {
    case Length::kTiny:
      return bytes < static_cast<std::uint64_t>(limits.xsize);
    case Length::kMessage:
      return bytes >= limits.overrides.segment;
    case Length::kShort:
      return bytes < limits.overrides.long_from;
    case Length::kLong:
      return bytes >= limits.overrides.long_from;
    case Length::kAny:
      return true;
  }
  return true;
}

bool applies(const OwnChoice& row, std::int32_t clients, std::uint64_t bytes,
             const Limits& limits) {
  const bool enough = row.clients == Clients::kAny ||
                      (row.clients == Clients::kTwo && clients <= 2) ||
                      (row.clients == Clients::kFew && clients <= std::max(limits.max_linear, 2));
  return enough && fits(row.data, bytes, limits);
}

/// LAM/MPI negotiates C_COLL_MAXLINEAR but ignores the result.
constexpr std::int32_t kLamMaxLinear = 4;

Form impi_form(Collective collective, std::int32_t clients, std::uint64_t bytes,
               const Limits& limits) {
  const ImpiChoice& choice = kImpiChoices[static_cast<std::size_t>(collective)];
  if (clients <= (limits.as_lam ? kLamMaxLinear : limits.max_linear)) return choice.few;
  return bytes < static_cast<std::uint64_t>(limits.xsize) ? choice.many_short : choice.many_long;
}

}  // namespace

bool is_impi_form(Collective collective, Form form) {
  const ImpiChoice& choice = kImpiChoices[static_cast<std::size_t>(collective)];
  return form == choice.few || form == choice.many_short || form == choice.many_long;
}

bool has_form(Collective collective, Form form) {
  return is_impi_form(collective, form) ||
         std::ranges::any_of(kOwnChoices, [&](const OwnChoice& row) {
           return row.collective == collective && row.form == form;
         });
}

Form choose(Collective collective, std::int32_t clients, std::uint64_t bytes, const Limits& limits,
            std::uint8_t has) {
  if (limits.impi_only)
    return impi_form(collective, clients, bytes, limits);  // as the foreign one chooses
  const auto forced = limits.overrides.form(collective, bytes);
  if (forced && is_impi_form(collective, *forced)) return *forced;
  if (limits.same_representation) has |= kAlike;
  for (const OwnChoice& row : kOwnChoices) {
    if (row.collective != collective || (row.needs & has) != row.needs) continue;
    if (forced ? row.form == *forced : applies(row, clients, bytes, limits)) return row.form;
  }
  // The forced form is not possible for this call.
  for (const OwnChoice& row : kOwnChoices) {
    const bool possible = row.collective == collective && (row.needs & has) == row.needs;
    if (possible && applies(row, clients, bytes, limits)) return row.form;
  }
  return impi_form(collective, clients, bytes, limits);
}

std::uint64_t segment_elements(std::uint64_t count, std::uint64_t element_bytes,
                               const Limits& limits) {
  if (limits.impi_only || element_bytes == 0) return std::max<std::uint64_t>(count, 1);
  return std::max<std::uint64_t>(limits.overrides.segment / element_bytes, 1);
}

}  // namespace impishim::collectives
