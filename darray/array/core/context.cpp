// SPDX-License-Identifier: Apache-2.0
#include "darray/array/core/context.hpp"

#include <atomic>
#include <random>

#include "darray/array/core/layout.hpp"

namespace impishim::darray {
namespace {

constexpr std::size_t kLayouts = 256;  // further layouts are kept only while arrays use them

int drop_context(MPI_Comm, int, void* attribute, void*) {
  const std::unique_ptr<ContextPtr> held(static_cast<ContextPtr*>(attribute));
  (*held)->forget();
  return MPI_SUCCESS;
}

int context_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop_context, &made, nullptr),
              "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

// Returns a number that this process has not returned before, and that another process returns
// with a probability of 2^-64 only. A rank would not do: a communicator may join processes of
// several MPI_COMM_WORLDs (MPI_Comm_spawn, MPI_Comm_accept), where equal ranks repeat.
std::uint64_t unique_number() {
  static const std::uint64_t start = [] {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32 | device();
  }();
  static std::atomic<std::uint64_t> count = 0;
  // The mixing of SplitMix64 (Steele, Lea, Flood 2014) is a bijection, so numbers of one process
  // differ. It also spreads them, so that the sequences of two processes do not overlap.
  std::uint64_t mixed = start + 0x9e3779b97f4a7c15u * ++count;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return mixed ^ mixed >> 31;
}

// Returns a number that no other communicator has. The process with rank 0 chooses it. All ranks
// throw if it cannot.
std::uint64_t agree_on_group(const Communicator& communicator) {
  std::uint64_t group = 0;
  agreed(communicator, Checks::kOn, "first array of a communicator", [&] {
    if (communicator.rank() == 0) group = unique_number();
  });
  check_mpi(MPI_Bcast(&group, 1, MPI_UINT64_T, 0, communicator.get()), "MPI_Bcast");
  return group;
}

}  // namespace

std::shared_ptr<Context> Context::of(MPI_Comm comm) {
  Communicator communicator(comm);
  void* attribute = nullptr;
  int found = 0;
  check_mpi(
      MPI_Comm_get_attr(communicator.get(), context_key(), static_cast<void*>(&attribute), &found),
      "MPI_Comm_get_attr");
  if (found != 0) return *static_cast<ContextPtr*>(attribute);
  auto context = std::make_shared<Context>(comm, communicator, agree_on_group(communicator));
  auto held = std::make_unique<ContextPtr>(context);
  check_mpi(MPI_Comm_set_attr(communicator.get(), context_key(), held.get()), "MPI_Comm_set_attr");
  static_cast<void>(held.release());  // drop_context owns it
  return context;
}

Context::Context(MPI_Comm comm, Communicator communicator, std::uint64_t group)
    : user_(comm), communicator_(std::move(communicator)), librarian_(group) {}

LayoutPtr Context::keep(std::uint64_t hash, LayoutPtr layout) {
  if (forgotten_) return layout;
  if (layouts_.size() >= kLayouts) {
    std::erase_if(layouts_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  layouts_.emplace(hash, layout);
  return layout;
}

void Context::forget() {
  forgotten_ = true;
  layouts_.clear();
  redistributions_.reset();
}

}  // namespace impishim::darray
