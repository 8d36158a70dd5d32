// SPDX-License-Identifier: Apache-2.0
/// Iteration over all elements of an array on every process (D2O-80).
#pragma once

#include <iterator>
#include <limits>

#include "darray/array/core/dist_array.hpp"

namespace impishim::darray {

/// A range over the elements in row-major order. Whole pieces are fetched, process by process, when
/// the iteration reaches them. So every process must iterate as far as the others; a process that
/// stops early has wasted at most one piece. Arrays that are not cut in slices of axis 0 are
/// redistributed first. The array must not change during the iteration.
template <class T>
class Elements {
 public:
  explicit Elements(const DistArray<T>& array) : array_(&array) { prepare(); }
  explicit Elements(DistArray<T>&& array)
      : kept_(std::make_shared<const DistArray<T>>(std::move(array))), array_(kept_.get()) {
    prepare();
  }

  class Iterator {
   public:
    using value_type = T;
    using difference_type = Index;
    using iterator_concept = std::input_iterator_tag;

    const T& operator*() const { return *next_; }
    Iterator& operator++() {
      if (++next_ == end_) range_->fetch(*this);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return next_ == end_; }

   private:
    friend class Elements;
    Elements* range_ = nullptr;
    const T* next_ = nullptr;
    const T* end_ = nullptr;
    int process_ = 0;  // owner of the next piece
  };

  /// Returns an iterator after fetching the first piece. Collective.
  Iterator begin() {
    Iterator first;
    first.range_ = this;
    fetch(first);
    return first;
  }
  [[nodiscard]] std::default_sentinel_t end() const { return {}; }

 private:
  void prepare() {
    agree_on(array_->communicator(), Checks::kOn,
             [this] { return CollectiveCall("elements").with("array", array_->distribution()); });
    if (!array_->layout()->is_everywhere() && !array_->layout()->slice_bounds()) {
      kept_ = std::make_shared<const DistArray<T>>(array_->copy(kEqual, Checks::kOff));
      array_ = kept_.get();
    }
    if (array_->layout()->is_everywhere() || array_->size() == 0) return;
    bounds_ = array_->layout()->slice_bounds().value();
    row_ = array_->size() / array_->shape()[0];
  }
  // Fetches the next piece that has elements; sets the end if there is none.
  void fetch(Iterator& at) {
    at.next_ = at.end_ = nullptr;
    const Layout& layout = *array_->layout();
    if (layout.is_everywhere()) {
      if (at.process_++ > 0) return;
      piece_ = array_->get_local();
    } else {
      while (at.process_ < layout.processes() && rows_of(at.process_) == 0) ++at.process_;
      if (at.process_ == layout.processes()) return;
      const bool mine = layout.rank() == at.process_;
      piece_ = mine ? array_->get_local() : LocalArray<T>(Shape{rows_of(at.process_) * row_});
      send_round(at.process_++);
    }
    at.next_ = piece_.begin();
    at.end_ = piece_.end();
  }
  [[nodiscard]] Index rows_of(int process) const {
    const auto place = static_cast<std::size_t>(process);
    return array_->size() == 0 ? 0 : bounds_[place + 1] - bounds_[place];
  }
  void send_round(int root) {
    constexpr Index kMost = Index{1} << 26;
    const Element element = element_of<T>();
    for (Index from = 0; from < piece_.size(); from += kMost) {
      const auto count = static_cast<int>(std::min(kMost, piece_.size() - from) * element.items);
      check_mpi(
          MPI_Bcast(piece_.data() + from, count, element.type, root, array_->communicator().get()),
          "MPI_Bcast");
    }
  }

  std::shared_ptr<const DistArray<T>> kept_;
  const DistArray<T>* array_;
  std::vector<Index> bounds_;
  Index row_ = 1;
  LocalArray<T> piece_;
};

/// Returns the range for `for (double value : elements(array)) ...`. Collective.
template <class T>
Elements<T> elements(const DistArray<T>& array) {
  return Elements<T>(array);
}
template <class T>
Elements<T> elements(DistArray<T>&& array) {
  return Elements<T>(std::move(array));
}

}  // namespace impishim::darray
