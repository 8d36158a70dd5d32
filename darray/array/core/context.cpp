// SPDX-License-Identifier: Apache-2.0
#include "darray/array/core/context.hpp"

#include <array>
#include <atomic>

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

// Returns a number that no other communicator of the job has. The process with rank 0 combines
// its world rank with a count of the communicators in which it has rank 0.
std::uint64_t agree_on_group(const Communicator& communicator) {
  static std::atomic<std::uint32_t> led = 0;
  std::uint64_t group = 0;
  if (communicator.rank() == 0) {
    int world_rank = 0;
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank), "MPI_Comm_rank");
    group = static_cast<std::uint64_t>(world_rank) << 32 | led++;
  }
  agree_on(communicator, Checks::kOn,
           [] { return CollectiveCall("first array of a communicator"); });
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
