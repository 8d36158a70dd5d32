// SPDX-License-Identifier: Apache-2.0
#include "darray/communicator/communicator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <numeric>

#include "darray/base/error.hpp"

namespace impishim::darray {
namespace {

constexpr int kTags = 30000;                            // MPI guarantees tags up to 32767
constexpr std::size_t kStored = std::size_t{64} << 20;  // bytes of free buffers to keep for later
constexpr std::size_t kGranularity = std::size_t{4} << 10;  // buffer sizes are multiples of this
constexpr std::align_val_t kAlignment{64};

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before it does anything else. The delete
// callback is the last chance to learn that MPI_Finalize has begun.
std::atomic<bool> finalizing = false;

int note_finalize(MPI_Comm, int, void*, void*) {
  finalizing = true;
  return MPI_SUCCESS;
}

void watch_for_finalize() {
  static std::once_flag once;
  std::call_once(once, [] {
    int key = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_finalize, &key, nullptr),
              "MPI_Comm_create_keyval");
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
  });
}

// The free buffers, by size.
class Store {
 public:
  ~Store() {
    for (auto& [size, buffer] : free_) ::operator delete(buffer, kAlignment);
  }
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Returns a buffer of at least `wanted` bytes, and sets `size` to its true size. Returns null if
  // there is none.
  std::byte* take(std::size_t wanted, std::size_t& size) {
    const auto found = free_.lower_bound(wanted);
    // A much larger buffer stays in the store for larger requests.
    if (found == free_.end() || found->first > 2 * wanted) return nullptr;
    size = found->first;
    std::byte* buffer = found->second;
    total_ -= found->first;
    free_.erase(found);
    return buffer;
  }
  void give(std::size_t size, std::byte* buffer) {
    if (total_ + size > kStored) {
      ::operator delete(buffer, kAlignment);
      return;
    }
    free_.emplace(size, buffer);
    total_ += size;
  }

 private:
  std::multimap<std::size_t, std::byte*> free_;
  std::size_t total_ = 0;
};

// An MPI group, freed on destruction.
class Group {
 public:
  explicit Group(MPI_Comm comm) { check_mpi(MPI_Comm_group(comm, &group_), "MPI_Comm_group"); }
  Group(const Group& all, const std::vector<int>& ranks) {
    check_mpi(MPI_Group_incl(all.group_, static_cast<int>(ranks.size()), ranks.data(), &group_),
              "MPI_Group_incl");
  }
  ~Group() { MPI_Group_free(&group_); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  [[nodiscard]] MPI_Group get() const { return group_; }

 private:
  MPI_Group group_ = MPI_GROUP_NULL;
};

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  fail(ErrorKind::kMpi, "{}: {}", call, text.data());
}

bool mpi_is_over() {
  int over = 0;
  return finalizing || MPI_Finalized(&over) != MPI_SUCCESS || over != 0;
}

struct Communicator::State {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  int tag = 0;
  Systems systems;
  MPI_Comm inside = MPI_COMM_NULL;  // the ranks of this system, if there are several systems
  MPI_Comm background =
      MPI_COMM_NULL;  // all ranks; made when a group of all ranks is first requested
  std::map<std::vector<int>, std::shared_ptr<State>> groups;
  std::shared_ptr<Store> store = std::make_shared<Store>();
  std::shared_ptr<CollectiveOrder> turns = std::make_shared<CollectiveOrder>();

  // Fills in the rank and size of a communicator that was just made, and makes it return its
  // errors.
  void describe() {
    check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  }

  void make_background() {
    if (background != MPI_COMM_NULL) return;
    check_mpi(MPI_Comm_dup(comm, &background), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(background, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }

  // Frees the communicators. MPI_Comm_free is collective, so this runs only where all ranks are
  // known to arrive, not in destructors.
  void release() {
    for (auto& [members, group] : groups) group->release();
    groups.clear();
    for (MPI_Comm* held : {&background, &inside, &comm}) {
      if (*held != MPI_COMM_NULL && !mpi_is_over()) MPI_Comm_free(held);
      *held = MPI_COMM_NULL;
    }
  }

  // Returns a new communicator of these ranks. If all are in one system, it is made from that
  // system's own communicator, so that other systems are not involved.
  MPI_Comm made_of(const std::vector<int>& members) const {
    const bool local = inside != MPI_COMM_NULL &&
                       std::none_of(members.begin(), members.end(),
                                    [this](int member) { return systems.crosses(rank, member); });
    const Group all(comm);
    MPI_Comm result = MPI_COMM_NULL;
    if (!local) {
      check_mpi(MPI_Comm_create_group(comm, Group(all, members).get(), kTags, &result),
                "MPI_Comm_create_group");
      return result;
    }
    const Group own(inside);
    std::vector<int> ranks = members;
    check_mpi(MPI_Group_translate_ranks(all.get(), static_cast<int>(members.size()), members.data(),
                                        own.get(), ranks.data()),
              "MPI_Group_translate_ranks");
    check_mpi(MPI_Comm_create_group(inside, Group(own, ranks).get(), kTags, &result),
              "MPI_Comm_create_group");
    return result;
  }

  static int on_delete(MPI_Comm, int, void* attribute, void*) {
    const std::unique_ptr<std::shared_ptr<State>> held(
        static_cast<std::shared_ptr<State>*>(attribute));
    (*held)->release();
    return MPI_SUCCESS;
  }

  static int key() {
    static const int key = [] {
      int made = MPI_KEYVAL_INVALID;
      check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &made, nullptr),
                "MPI_Comm_create_keyval");
      return made;
    }();
    return key;
  }
};

Communicator::Communicator(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) fail(ErrorKind::kArgument, "MPI_COMM_NULL is no communicator");
  void* attribute = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(comm, State::key(), static_cast<void*>(&attribute), &found),
            "MPI_Comm_get_attr");
  if (found != 0) {
    state_ = *static_cast<std::shared_ptr<State>*>(attribute);
    return;
  }
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (inter != 0)
    fail(ErrorKind::kArgument, "intercommunicators are not supported: merge it first");
  watch_for_finalize();
  state_ = std::make_shared<State>();
  try {
    check_mpi(MPI_Comm_dup(comm, &state_->comm), "MPI_Comm_dup");
    state_->describe();
    state_->systems = Systems::of(state_->comm);
    if (systems().count() > 1) {
      check_mpi(MPI_Comm_split(state_->comm, systems().of_rank(rank()), 0, &state_->inside),
                "MPI_Comm_split");
      check_mpi(MPI_Comm_set_errhandler(state_->inside, MPI_ERRORS_RETURN),
                "MPI_Comm_set_errhandler");
    }
    auto held = std::make_unique<std::shared_ptr<State>>(state_);
    check_mpi(MPI_Comm_set_attr(comm, State::key(), held.get()), "MPI_Comm_set_attr");
    held.release();  // on_delete owns it
  } catch (...) {
    state_->release();
    throw;
  }
}

MPI_Comm Communicator::get() const { return state_->comm; }
int Communicator::rank() const { return state_->rank; }
int Communicator::size() const { return state_->size; }
const Systems& Communicator::systems() const { return state_->systems; }
MPI_Comm Communicator::background() const { return state_->background; }
const std::shared_ptr<CollectiveOrder>& Communicator::turns() const { return state_->turns; }

int Communicator::next_tag() const {
  const int tag = state_->tag;
  state_->tag = (tag + 1) % kTags;
  return tag;
}

Communicator Communicator::group(std::span<const int> members) const {
  std::vector<int> everybody(static_cast<std::size_t>(size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  if (std::equal(members.begin(), members.end(), everybody.begin(), everybody.end())) {
    state_->make_background();
    return *this;
  }
  const std::vector<int> list(members.begin(), members.end());
  if (std::find(list.begin(), list.end(), rank()) == list.end()) {
    fail(ErrorKind::kArgument, "rank {} asks for a group that it is not in", rank());
  }
  if (const auto found = state_->groups.find(list); found != state_->groups.end())
    return Communicator(found->second);
  std::vector<int> sorted = list;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0 || sorted.back() >= size() ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    fail(ErrorKind::kArgument,
         "a group of {} members names a rank twice, or one outside of 0 to {}", list.size(),
         size() - 1);
  }
  auto state = std::make_shared<State>();
  std::vector<int> systems;
  for (const int member : list) systems.push_back(state_->systems.of_rank(member));
  state->systems = Systems(std::move(systems));
  state->store = state_->store;
  state->turns = state_->turns;
  try {
    state->comm = state_->made_of(list);
    state->describe();
    state->make_background();
    state_->groups.emplace(list, state);
  } catch (...) {
    state->release();
    throw;
  }
  return Communicator(state);
}

void Workspace::give_up() {
  if (data_) static_cast<void>(new std::shared_ptr<std::byte>(std::move(data_)));
  size_ = 0;
}

Workspace Communicator::workspace(std::size_t bytes) const {
  Workspace result;
  if (bytes == 0) return result;
  const std::size_t capacity = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  std::size_t size = capacity;
  std::byte* buffer = state_->store->take(capacity, size);
  if (buffer == nullptr) buffer = static_cast<std::byte*>(::operator new(capacity, kAlignment));
  result.size_ = bytes;
  result.data_ = std::shared_ptr<std::byte>(
      buffer, [store = state_->store, size](std::byte* used) { store->give(size, used); });
  return result;
}

}  // namespace impishim::darray
