// SPDX-License-Identifier: Apache-2.0
#include "darray/array/io/initial.hpp"

#include "darray/schedule/reduce_schedule.hpp"

namespace impishim::darray::detail {
namespace {

// Names in the order of the enumerators of Given.
constexpr std::array<const char*, kGivens> kNames{"a file",
                                                  "a global array",
                                                  "global data",
                                                  "a global shape",
                                                  "a local array",
                                                  "local data",
                                                  "a local shape",
                                                  "a global array of another communicator",
                                                  "a local array of another communicator"};

}  // namespace

Givens::Givens(const Communicator& communicator, Checks checks,
               const std::array<bool, kGivens>& mine) {
  for (std::size_t each = 0; each < kGivens; ++each) counts_[each] = mine[each] ? 1 : 0;
  if (checks == Checks::kOff) return;
  processes_ = communicator.size();
  agree_on(communicator, checks, [] { return CollectiveCall("making an array of given values"); });
  all_reduce(communicator, element_of<Index>(), counts_.data(), kGivens, Combine::kSum);
}

bool Givens::has(Given what) const {
  const Index count = counts_[static_cast<std::size_t>(what)];
  if (count != 0 && count != processes_) {
    fail(ErrorKind::kArgument, "{} is given by {} of {} processes: it takes all or none",
         kNames[static_cast<std::size_t>(what)], count, processes_);
  }
  return count != 0;
}

bool Givens::has_array(Given what, Given foreign) const {
  if (!has(what)) return false;
  if (const Index count = counts_[static_cast<std::size_t>(foreign)]; count != 0) {
    fail(ErrorKind::kArgument, "{} is given by {} of {} processes",
         kNames[static_cast<std::size_t>(foreign)], count, processes_);
  }
  return true;
}

void nothing_to_make(const Strategy& strategy) {
  fail(ErrorKind::kArgument, "an array with strategy '{}' takes {}", strategy.name(),
       strategy.is_global() ? "global data or a global shape"
                            : "local data, a local shape or an array");
}

}  // namespace impishim::darray::detail
