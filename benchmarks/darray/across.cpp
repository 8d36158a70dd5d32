// SPDX-License-Identifier: Apache-2.0
/// Remaps between two MPI systems, beside what carries their bytes: PT-20. IndexRun in one system
/// over sockets, too.
#include <string>

#include "benchmarks/darray/matrix.hpp"
#include "darray/plan/remap/remap.hpp"

namespace {

using namespace bench;
using impishim::darray::element_of;
using impishim::darray::RemapPlan;

/// As many bytes to and from every other rank as the remap moves, from memory that is contiguous.
class RawExchange {
 public:
  RawExchange(const Setting& setting, Index count)
      : setting_(setting),
        count_(count),
        sent_(count * setting.size),
        received_(count * setting.size) {
    for (Index k = 0; k < sent_.size(); ++k)
      sent_[k] = static_cast<double>(setting.rank * sent_.size() + k);
  }
  void run() {
    requests_.clear();
    for (int step = 1; step < setting_.size; ++step) {
      const int peer = (setting_.rank + setting_.size - step) % setting_.size;
      MPI_Irecv(received_.get() + peer * count_, static_cast<int>(count_), MPI_DOUBLE, peer, 0,
                setting_.comm, &requests_.emplace_back());
    }
    for (int step = 1; step < setting_.size; ++step) {
      const int peer = (setting_.rank + step) % setting_.size;
      MPI_Isend(sent_.get() + peer * count_, static_cast<int>(count_), MPI_DOUBLE, peer, 0,
                setting_.comm, &requests_.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  [[nodiscard]] Contest::Check check() {
    return {[this] { std::fill(received_.begin(), received_.end(), -1.0); },
            [this] { return is_right(); }};
  }

 private:
  [[nodiscard]] bool is_right() const {
    bool right = true;
    for (int peer = 0; peer < setting_.size; ++peer) {
      for (Index k = 0; k < count_ && peer != setting_.rank; ++k) {
        right &= received_[peer * count_ + k] ==
                 static_cast<double>(peer * sent_.size() + setting_.rank * count_ + k);
      }
    }
    return right;
  }
  const Setting& setting_;
  Index count_;
  Buffer<> sent_, received_;
  std::vector<MPI_Request> requests_;
};

void remap(const Setting& setting, const std::string& name, Index full) {
  const Index extent = setting.extent(full);
  const DistributionPtr from = square(extent, setting.size, {.kinds = "b"});
  const DistributionPtr to = square(extent, setting.size, {.kinds = "nb"});
  Buffer<> source(from->local_size(setting.rank));
  Buffer<> destination(to->local_size(setting.rank));
  number_elements(*from, setting.rank, source.get());
  RemapPlan plan(setting.comm, {*to}, {*from}, element_of<double>());
  const Index part = extent / setting.size;
  RawExchange raw(setting, part * part);
  Contest contest(setting, "remap, " + name);
  contest.add(
      "darray", [&] { plan.execute(source.get(), destination.get()); },
      numbered(to, setting.rank, destination));
  contest.add(
      "raw", [&] { raw.run(); }, raw.check());
  contest.measure();
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = begin(argc, argv);
  if (setting.wants({"PT-20"})) {
    remap(setting, "2 MiB", 512);
    remap(setting, "8 MiB", 1024);
  }
  end(setting);
}
