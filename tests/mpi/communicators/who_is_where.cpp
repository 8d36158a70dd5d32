// SPDX-License-Identifier: Apache-2.0
// Every rank tells rank 0 which system and which IMPI host it is in; rank 0 prints the table.
#include <cstdio>
#include <cstring>
#include <vector>

#include "impishim/impishim.h"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

/// The same in every system, whatever MPI_MAX_PROCESSOR_NAME is there.
constexpr std::size_t kNameSize = 256;
static_assert(MPI_MAX_PROCESSOR_NAME <= kNameSize);

struct Place {
  int client = 0;
  int host = 0;
  char name[kNameSize] = {};
};

/// An attribute of a joined job; `otherwise` where the job is not joined and the vendor knows no
/// such key.
int attribute_or(int key, int otherwise) {
  int* value = nullptr;
  int found = 0;
  const int code = MPI_Comm_get_attr(MPI_COMM_WORLD, key, static_cast<void*>(&value), &found);
  return code == MPI_SUCCESS && found != 0 ? *value : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Place mine;
  mine.client = attribute_or(IMPI_CLIENT_COLOR, 0);
  mine.host = attribute_or(IMPI_HOST_COLOR, 0);
  int length = 0;
  REQUIRE_EQUAL(MPI_Get_processor_name(mine.name, &length), MPI_SUCCESS);
  REQUIRE(length > 0 && std::strlen(mine.name) == static_cast<std::size_t>(length));

  std::vector<Place> places(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)));
  const int bytes = static_cast<int>(sizeof(Place));
  REQUIRE_EQUAL(
      MPI_Gather(&mine, bytes, MPI_BYTE, places.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD),
      MPI_SUCCESS);
  if (rank_in(MPI_COMM_WORLD) == 0) {
    std::printf("%d ranks in %d systems on %d hosts\n", size_of(MPI_COMM_WORLD),
                attribute_or(IMPI_CLIENT_SIZE, 1), attribute_or(IMPI_HOST_SIZE, 1));
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      std::printf("rank %zu: system %d, host %d (%s)\n", rank, places[rank].client,
                  places[rank].host, places[rank].name);
    }
  }
  MPI_Finalize();
  return 0;
}
