// SPDX-License-Identifier: Apache-2.0
// The Hungarian method, row by row: shortest augmenting paths with potentials (the form of Jonker
// and Volgenant).
#include <limits>

#include "darray/base/error.hpp"
#include "darray/plan/remap/relabel.hpp"

namespace impishim::darray {
namespace {

constexpr int kFree = -1;

class Assignment {
 public:
  Assignment(const std::vector<double>& costs, int size)
      : costs_(costs),
        size_(static_cast<std::size_t>(size)),
        row_potential_(size_, 0),
        column_potential_(size_, 0),
        row_of_(size_, kFree) {}

  std::vector<int> run() {
    for (std::size_t row = 0; row < size_; ++row) augment(row);
    std::vector<int> column_of(size_);
    for (std::size_t column = 0; column < size_; ++column) {
      column_of[static_cast<std::size_t>(row_of_[column])] = static_cast<int>(column);
    }
    return column_of;
  }

 private:
  // Assigns a column to `row`. Rows on the cheapest path to a free column move to the next column
  // of the path.
  void augment(std::size_t row) {
    constexpr double kFar = std::numeric_limits<double>::infinity();
    std::vector<double> distance(size_, kFar);
    std::vector<int> previous(size_, kFree);  // previous column on the path to each column
    std::vector<bool> done(size_, false);
    std::vector<std::size_t> path;  // finished columns, in the order in which they were finished
    int last = kFree;
    std::size_t from = row;
    double so_far = 0;
    for (;;) {
      std::size_t nearest = size_;
      for (std::size_t column = 0; column < size_; ++column) {
        if (done[column]) continue;
        const double reduced =
            costs_[from * size_ + column] - row_potential_[from] - column_potential_[column];
        if (so_far + reduced < distance[column]) {
          distance[column] = so_far + reduced;
          previous[column] = last;
        }
        if (nearest == size_ || distance[column] < distance[nearest]) nearest = column;
      }
      so_far = distance[nearest];
      done[nearest] = true;
      path.push_back(nearest);
      last = static_cast<int>(nearest);
      if (row_of_[nearest] == kFree) break;
      from = static_cast<std::size_t>(row_of_[nearest]);
    }
    row_potential_[row] += so_far;
    for (const std::size_t column : path) {
      const double gain = so_far - distance[column];
      column_potential_[column] -= gain;
      if (row_of_[column] != kFree)
        row_potential_[static_cast<std::size_t>(row_of_[column])] += gain;
    }
    for (int column = last; column != kFree;) {
      const int before = previous[static_cast<std::size_t>(column)];
      row_of_[static_cast<std::size_t>(column)] =
          before == kFree ? static_cast<int>(row) : row_of_[static_cast<std::size_t>(before)];
      column = before;
    }
  }

  const std::vector<double>& costs_;
  std::size_t size_;
  std::vector<double> row_potential_;
  std::vector<double> column_potential_;
  std::vector<int> row_of_;  // for each column
};

}  // namespace

std::vector<int> cheapest_assignment(const std::vector<double>& costs, int size) {
  if (size < 0 || costs.size() != static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {
    fail(ErrorKind::kArgument, "{} costs for an assignment of {} to {}", costs.size(), size, size);
  }
  return Assignment(costs, size).run();
}

}  // namespace impishim::darray
