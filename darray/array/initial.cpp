#include "darray/array/initial.hpp"

#include "darray/schedule/reduce_schedule.hpp"

namespace impishim::darray::detail {

bool given_everywhere(const Communicator& communicator, Checks checks, const char* what, bool given) {
  if (checks == Checks::kOff) return given;
  const Index count = all_reduce(communicator, Index{given ? 1 : 0}, Combine::kSum);
  if (count != 0 && count != communicator.size()) {
    fail(ErrorKind::kArgument, "{} is given by {} of {} processes: it takes all or none", what, count, communicator.size());
  }
  return count != 0;
}

void nothing_to_make(const Strategy& strategy) {
  fail(ErrorKind::kArgument, "an array with strategy '{}' takes {}", strategy.name(),
       strategy.is_global() ? "global data or a global shape" : "local data, a local shape or an array");
}

}  // namespace impishim::darray::detail
