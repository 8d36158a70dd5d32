// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/darray/column_halo.hpp"

namespace bench {
namespace {

constexpr int kLeft = 0;
constexpr int kRight = 1;

int neighbour(const Setting& setting, int side) {
  return (setting.rank + (side == kLeft ? setting.size - 1 : 1)) % setting.size;
}

// What goes to the left has the tag kLeft, and arrives from the right.
int arriving(int side) { return side == kLeft ? kRight : kLeft; }

}  // namespace

PackedHalo::PackedHalo(const Setting& setting, ColumnHalo shape)
    : shape_(shape),
      sent_(2 * shape.height * shape.width),
      received_(2 * shape.height * shape.width) {
  const Index count = shape.height * shape.width;
  for (const int side : {kLeft, kRight}) {
    MPI_Recv_init(received_.get() + side * count, static_cast<int>(count), MPI_DOUBLE,
                  neighbour(setting, side), arriving(side), setting.comm,
                  &requests_[static_cast<std::size_t>(side)]);
    MPI_Send_init(sent_.get() + side * count, static_cast<int>(count), MPI_DOUBLE,
                  neighbour(setting, side), side, setting.comm,
                  &requests_[static_cast<std::size_t>(2 + side)]);
  }
}

PackedHalo::~PackedHalo() {
  for (MPI_Request& request : requests_) MPI_Request_free(&request);
}

void PackedHalo::run(double* cells) {
  const Index width = shape_.width;
  const Index count = shape_.height * width;
  MPI_Startall(2, requests_.data());
  for (const int side : {kLeft, kRight}) {
    const double* from = cells + shape_.edges()[static_cast<std::size_t>(side)];
    double* to = sent_.get() + side * count;
    for (Index row = 0; row < shape_.height; ++row) {
      for (Index k = 0; k < width; ++k) to[row * width + k] = from[row * shape_.stride() + k];
    }
    MPI_Start(&requests_[static_cast<std::size_t>(2 + side)]);
  }
  for (int left = 2; left > 0; --left) {
    int side = 0;
    MPI_Waitany(2, requests_.data(), &side, MPI_STATUS_IGNORE);
    const double* from = received_.get() + side * count;
    double* to = cells + shape_.ghosts()[static_cast<std::size_t>(side)];
    for (Index row = 0; row < shape_.height; ++row) {
      for (Index k = 0; k < width; ++k) to[row * shape_.stride() + k] = from[row * width + k];
    }
  }
  MPI_Waitall(2, requests_.data() + 2, MPI_STATUSES_IGNORE);
}

TypedHalo::TypedHalo(const Setting& setting, ColumnHalo shape) : setting_(setting) {
  for (const Index column : shape.edges())
    edges_.add(shape.height, shape.stride(), 0, column, shape.height, shape.width);
  for (const Index column : shape.ghosts())
    ghosts_.add(shape.height, shape.stride(), 0, column, shape.height, shape.width);
}

void TypedHalo::run(double* cells) {
  std::array<MPI_Request, 4> requests{};
  for (const int side : {kLeft, kRight}) {
    MPI_Irecv(cells, 1, ghosts_[side], neighbour(setting_, side), arriving(side), setting_.comm,
              &requests[static_cast<std::size_t>(side)]);
  }
  for (const int side : {kLeft, kRight}) {
    MPI_Isend(cells, 1, edges_[side], neighbour(setting_, side), side, setting_.comm,
              &requests[static_cast<std::size_t>(2 + side)]);
  }
  MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace bench
