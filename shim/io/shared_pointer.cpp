// SPDX-License-Identifier: Apache-2.0
#include "shim/io/shared_pointer.hpp"

#include <mpi.h>

#include <array>
#include <cstdint>

#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/error/errors.hpp"
#include "shim/io/file.hpp"
#include "shim/io/file_error.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/file/file_status.hpp"

namespace impishim::shim {

wire::FileStatus add_to_shared_pointer(File& file, std::int64_t value, std::int64_t& before) {
  const std::uint64_t pointer = file.copy_of_stand().views;
  return file.shipped == nullptr ? file.pointers->add(pointer, value, before)
                                 : file.shipped->add_to_pointer(pointer, value, before);
}

wire::FileStatus set_shared_pointer(File& file, std::int64_t value) {
  const std::uint64_t pointer = file.copy_of_stand().views;
  return file.shipped == nullptr ? file.pointers->set(pointer, value)
                                 : file.shipped->set_pointer(pointer, value);
}

int order_by_shared_pointer(Job& job, File& file, const char* function, std::int64_t count,
                            std::int64_t& place) {
  Communicator& communicator = file.communicator;
  std::int64_t end = 0;
  int code = run_collective(job, communicator, function, [&](Collective& call) {
    return collective_arguments::Scan(call, &count, &end, 1, MPI_INT64_T, MPI_SUM);
  });
  const std::int32_t last = communicator.size() - 1;
  // The last process knows the sum. It tells the first place, and whether it has got one.
  std::array<std::int64_t, 2> start{};
  if (code == MPI_SUCCESS && communicator.rank == last)
    start[1] = static_cast<std::int64_t>(add_to_shared_pointer(file, end, start[0]));
  if (code == MPI_SUCCESS) {
    code = run_collective(job, communicator, function, [&](Collective& call) {
      return collective_arguments::Bcast(call, start.data(), 2, MPI_INT64_T, last);
    });
  }
  if (code != MPI_SUCCESS)
    return raise_on_file(file.handle, vendor_error_class(code), function,
                         "the processes could not agree on their places");
  place = start[0] + end - count;
  return raise_file_status(file.handle, static_cast<wire::FileStatus>(start[1]), function);
}

}  // namespace impishim::shim
