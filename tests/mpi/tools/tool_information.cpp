// SPDX-License-Identifier: Apache-2.0
// The tool information interface: the vendor's variables keep their indices and names, and in a
// joined job the library's own stand beside them. It is used before MPI_Init and after
// MPI_Finalize.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;
using Number = unsigned long long;

const MPI_Comm kWorld = MPI_COMM_WORLD;

bool joined() { return std::getenv("IMPISHIM_SERVER") != nullptr; }

std::string setting_name(int index) {
  std::array<char, 512> name{};
  int length = static_cast<int>(name.size());
  const int code = MPI_T_cvar_get_info(index, name.data(), &length, nullptr, nullptr, nullptr,
                                       nullptr, nullptr, nullptr, nullptr);
  return code == MPI_SUCCESS ? name.data() : "";
}

int setting_index(const char* name) {
  int index = -1;
  REQUIRE_EQUAL(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
  return index;
}

int counter_index(const char* name, int var_class = MPI_T_PVAR_CLASS_COUNTER) {
  int index = -1;
  REQUIRE_EQUAL(MPI_T_pvar_get_index(name, var_class, &index), MPI_SUCCESS);
  return index;
}

/// The vendor's and the library's variables are found by their names, and stay where they are.
std::vector<std::string> check_settings(const std::vector<std::string>& before) {
  int count = 0;
  REQUIRE_EQUAL(MPI_T_cvar_get_num(&count), MPI_SUCCESS);
  REQUIRE(count >= static_cast<int>(before.size()));
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(setting_name(i));
  // Open MPI's variables may lose their validity in MPI_Init, and get it there.
  for (std::size_t i = 0; i < before.size(); ++i)
    REQUIRE(names[i] == before[i] || names[i].empty() || before[i].empty());
  for (int i = 0; i < count; i += 7) {
    const std::string& name = names[static_cast<std::size_t>(i)];
    int index = -1;
    if (name.empty() || MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) continue;
    REQUIRE_EQUAL(index, i);
  }
  REQUIRE(MPI_T_cvar_get_info(count + 5, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                              nullptr, nullptr, nullptr) != MPI_SUCCESS);
  return names;
}

/// Every member of every category is a variable.
void check_categories() {
  int categories = 0;
  int settings = 0;
  int statistics = 0;
  MPI_T_category_get_num(&categories);
  MPI_T_cvar_get_num(&settings);
  MPI_T_pvar_get_num(&statistics);
  for (int i = 0; i < categories; ++i) {
    std::array<int, 3> counts{};
    const int code = MPI_T_category_get_info(i, nullptr, nullptr, nullptr, nullptr, counts.data(),
                                             &counts[1], &counts[2]);
    if (code != MPI_SUCCESS) continue;  // Open MPI has categories that are not valid
    std::vector<int> members(4096, -1);
    MPI_T_category_get_cvars(i, counts[0], members.data());
    for (int m = 0; m < counts[0]; ++m) {
      REQUIRE(members[static_cast<std::size_t>(m)] >= 0);
      REQUIRE(members[static_cast<std::size_t>(m)] < settings);
    }
    MPI_T_category_get_pvars(i, counts[1], members.data());
    for (int m = 0; m < counts[1]; ++m) REQUIRE(members[static_cast<std::size_t>(m)] < statistics);
    MPI_T_category_get_categories(i, counts[2], members.data());
    for (int m = 0; m < counts[2]; ++m) REQUIRE(members[static_cast<std::size_t>(m)] < categories);
  }
  int stamp = -1;
  REQUIRE_EQUAL(MPI_T_category_changed(&stamp), MPI_SUCCESS);
}

void check_own_categories() {
  int top = -1;
  int settings = -1;
  REQUIRE_EQUAL(MPI_T_category_get_index("impishim", &top), MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_T_category_get_index("impishim_settings", &settings), MPI_SUCCESS);
  std::array<int, 2> below{};
  MPI_T_category_get_categories(top, 2, below.data());
  REQUIRE_EQUAL(below[0], settings);
  int count = 0;
  std::array<char, 64> name{};
  int length = static_cast<int>(name.size());
  MPI_T_category_get_info(settings, name.data(), &length, nullptr, nullptr, &count, nullptr,
                          nullptr);
  REQUIRE(std::strcmp(name.data(), "impishim_settings") == 0);
  std::vector<int> members(static_cast<std::size_t>(count));
  MPI_T_category_get_cvars(settings, count, members.data());
  for (const int each : members) REQUIRE(setting_name(each).rfind("impishim_", 0) == 0);
#if MPI_VERSION >= 4
  int events = -1;
  MPI_T_category_get_num_events(settings, &events);
  REQUIRE_EQUAL(events, 0);
  REQUIRE_EQUAL(MPI_T_category_get_events(settings, 0, nullptr), MPI_SUCCESS);
#endif
}

/// Texts are cut to the buffer, and their whole length is told.
void check_texts() {
  const int index = setting_index("impishim_datalen");
  std::array<char, 6> name{};
  int length = static_cast<int>(name.size());
  MPI_T_cvar_get_info(index, name.data(), &length, nullptr, nullptr, nullptr, nullptr, nullptr,
                      nullptr, nullptr);
  REQUIRE(std::strcmp(name.data(), "impis") == 0);
  REQUIRE_EQUAL(length, sizeof("impishim_datalen"));
  length = 0;
  MPI_T_cvar_get_info(index, nullptr, &length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                      nullptr);
  REQUIRE_EQUAL(length, sizeof("impishim_datalen"));
}

Number read_setting(const char* name) {
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  REQUIRE_EQUAL(MPI_T_cvar_handle_alloc(setting_index(name), nullptr, &handle, &count),
                MPI_SUCCESS);
  REQUIRE_EQUAL(count, 1);
  Number value = 0;
  REQUIRE_EQUAL(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_T_cvar_write(handle, &value), MPI_T_ERR_CVAR_SET_NEVER);
  REQUIRE_EQUAL(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
  REQUIRE(handle == MPI_T_CVAR_HANDLE_NULL);
  return value;
}

void check_words() {
  int length = 0;
  MPI_T_enum words = MPI_T_ENUM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int scope = -1;
  int bind = -1;
  const int index = setting_index("impishim_wire_format");
  MPI_T_cvar_get_info(index, nullptr, nullptr, nullptr, &type, &words, nullptr, &length, &bind,
                      &scope);
  REQUIRE(type == MPI_INT);
  REQUIRE_EQUAL(bind, MPI_T_BIND_NO_OBJECT);
  REQUIRE_EQUAL(scope, MPI_T_SCOPE_CONSTANT);
  int items = 0;
  std::array<char, 64> name{};
  length = static_cast<int>(name.size());
  MPI_T_enum_get_info(words, &items, name.data(), &length);
  REQUIRE_EQUAL(items, 4);
  int value = -1;
  length = static_cast<int>(name.size());
  MPI_T_enum_get_item(words, 1, &value, name.data(), &length);
  REQUIRE(value == 1 && std::strcmp(name.data(), "external32") == 0);
  REQUIRE_EQUAL(MPI_T_enum_get_item(words, 4, &value, nullptr, nullptr), MPI_T_ERR_INVALID_INDEX);
}

/// A session with a handle of the library's, and one of the vendor's where it has variables.
class Counting {
 public:
  Counting() {
    REQUIRE_EQUAL(MPI_T_pvar_session_create(&session_), MPI_SUCCESS);
    sent_ = handle_of("impishim_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    peak_ = handle_of("impishim_unexpected_bytes_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK);
  }
  ~Counting() {
    REQUIRE_EQUAL(MPI_T_pvar_handle_free(session_, &sent_), MPI_SUCCESS);
    REQUIRE(sent_ == MPI_T_PVAR_HANDLE_NULL);
    REQUIRE_EQUAL(MPI_T_pvar_session_free(&session_), MPI_SUCCESS);
  }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  [[nodiscard]] Number sent() const {
    Number value = 0;
    REQUIRE_EQUAL(MPI_T_pvar_read(session_, sent_, &value), MPI_SUCCESS);
    return value;
  }
  [[nodiscard]] Number sent_until_now() const {
    Number value = 0;
    REQUIRE_EQUAL(MPI_T_pvar_readreset(session_, sent_, &value), MPI_SUCCESS);
    return value;
  }
  void start() const { REQUIRE_EQUAL(MPI_T_pvar_start(session_, sent_), MPI_SUCCESS); }
  void start_all() const {
    MPI_T_pvar_start(session_, MPI_T_PVAR_ALL_HANDLES);
    start();  // no error if it runs
  }
  void stop() const { REQUIRE_EQUAL(MPI_T_pvar_stop(session_, sent_), MPI_SUCCESS); }
  void reset() const { REQUIRE_EQUAL(MPI_T_pvar_reset(session_, sent_), MPI_SUCCESS); }
  void write(Number value) const {
    REQUIRE_EQUAL(MPI_T_pvar_write(session_, sent_, &value), MPI_SUCCESS);
  }
  void check_errors() const {
    Number value = 0;
    REQUIRE_EQUAL(MPI_T_pvar_read(session_, peak_, &value), MPI_SUCCESS);
    REQUIRE_EQUAL(MPI_T_pvar_start(session_, peak_), MPI_T_ERR_PVAR_NO_STARTSTOP);
    REQUIRE_EQUAL(MPI_T_pvar_write(session_, peak_, &value), MPI_T_ERR_PVAR_NO_WRITE);
    MPI_T_pvar_session other = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_session_create(&other);
    REQUIRE_EQUAL(MPI_T_pvar_read(other, sent_, &value), MPI_T_ERR_INVALID_HANDLE);
    MPI_T_pvar_session_free(&other);
    int index = -1;
    REQUIRE(MPI_T_pvar_get_index("impishim_messages_sent", MPI_T_PVAR_CLASS_TIMER, &index) !=
            MPI_SUCCESS);
  }

 private:
  MPI_T_pvar_handle handle_of(const char* name, int var_class) {
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = 0;
    REQUIRE_EQUAL(
        MPI_T_pvar_handle_alloc(session_, counter_index(name, var_class), nullptr, &handle, &count),
        MPI_SUCCESS);
    REQUIRE_EQUAL(count, 1);
    return handle;
  }
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle sent_ = MPI_T_PVAR_HANDLE_NULL;
  MPI_T_pvar_handle peak_ = MPI_T_PVAR_HANDLE_NULL;
};

/// Returns the ranks of other systems.
std::vector<int> ranks_elsewhere() {
  int* system = nullptr;
  int found = 0;
  MPI_Comm_get_attr(kWorld, MPI_APPNUM, static_cast<void*>(&system), &found);
  const int mine = found != 0 ? *system : 0;
  std::vector<int> systems(static_cast<std::size_t>(size_of(kWorld)));
  MPI_Allgather(&mine, 1, MPI_INT, systems.data(), 1, MPI_INT, kWorld);
  std::vector<int> ranks;
  for (int rank = 0; rank < size_of(kWorld); ++rank)
    if (systems[static_cast<std::size_t>(rank)] != mine) ranks.push_back(rank);
  return ranks;
}

/// Sends a message to each of them, and receives theirs.
void exchange(const std::vector<int>& ranks) {
  const int mine = rank_in(kWorld);
  std::vector<int> values(ranks.size());
  std::vector<MPI_Request> requests(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    MPI_Irecv(&values[i], 1, MPI_INT, ranks[i], 1, kWorld, &requests[i]);
  for (const int rank : ranks) MPI_Send(&mine, 1, MPI_INT, rank, 1, kWorld);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < ranks.size(); ++i) REQUIRE_EQUAL(values[i], ranks[i]);
}

void check_counters() {
  const std::vector<int> ranks = ranks_elsewhere();
  REQUIRE(!ranks.empty());
  const Number each = ranks.size();
  const Counting counting;
  exchange(ranks);
  REQUIRE_EQUAL(counting.sent(), 0);  // it has not been started
  counting.start_all();
  exchange(ranks);
  REQUIRE_EQUAL(counting.sent(), each);
  exchange(ranks);
  REQUIRE_EQUAL(counting.sent_until_now(), 2 * each);
  exchange(ranks);
  counting.stop();
  exchange(ranks);
  REQUIRE_EQUAL(counting.sent(), each);
  counting.start();
  exchange(ranks);
  REQUIRE_EQUAL(counting.sent(), 2 * each);
  counting.reset();
  REQUIRE_EQUAL(counting.sent(), 0);
  counting.write(100);
  exchange(ranks);
  REQUIRE_EQUAL(counting.sent(), 100 + each);
  counting.check_errors();
}

/// A performance variable of the vendor's still works, if it has one that needs no object.
void check_vendors_statistics() {
  int count = 0;
  MPI_T_pvar_get_num(&count);
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_session_create(&session);
  for (int i = 0; i < count; ++i) {
    int bind = -1;
    std::array<char, 256> name{};
    int length = static_cast<int>(name.size());
    MPI_Datatype type = MPI_DATATYPE_NULL;
    const int code = MPI_T_pvar_get_info(i, name.data(), &length, nullptr, nullptr, &type, nullptr,
                                         nullptr, nullptr, &bind, nullptr, nullptr, nullptr);
    const bool ours = std::strncmp(name.data(), "impishim_", 9) == 0;
    REQUIRE(joined() || !ours);
    if (code != MPI_SUCCESS || bind != MPI_T_BIND_NO_OBJECT || ours) continue;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int elements = 0;
    if (MPI_T_pvar_handle_alloc(session, i, nullptr, &handle, &elements) != MPI_SUCCESS) continue;
    std::vector<double> value(static_cast<std::size_t>(elements) + 8);
    MPI_T_pvar_read(session, handle, value.data());
    REQUIRE_EQUAL(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS);
    break;
  }
  REQUIRE_EQUAL(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
}

}  // namespace

int main() {
  int count = 0;
  const bool began_without = MPI_T_cvar_get_num(&count) == MPI_SUCCESS;
  int provided = MPI_THREAD_SINGLE;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  const std::vector<std::string> before = check_settings({});
  const Number asked = joined() ? read_setting("impishim_datalen") : 0;
  MPI_Init(nullptr, nullptr);
  REQUIRE(!began_without);
  check_settings(before);
  check_categories();
  check_vendors_statistics();
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  if (joined()) {
    check_own_categories();
    check_texts();
    check_words();
    REQUIRE_EQUAL(asked, 1000);
    REQUIRE_EQUAL(read_setting("impishim_datalen"), 1000);
    check_counters();
  } else {
    int index = -1;
    REQUIRE(MPI_T_cvar_get_index("impishim_datalen", &index) != MPI_SUCCESS);
    REQUIRE(MPI_T_category_get_index("impishim", &index) != MPI_SUCCESS);
  }
#ifdef OPEN_MPI
  // Open MPI 4.1.4 ends in a segmentation fault if MPI_T_finalize comes after MPI_Finalize.
  MPI_T_finalize();
  MPI_Finalize();
#else
  MPI_Finalize();
  if (joined()) {
    const Counting counting;
    REQUIRE_EQUAL(counting.sent(), 0);
    REQUIRE_EQUAL(read_setting("impishim_datalen"), 1000);
  }
  MPI_T_finalize();
#endif
  std::printf("rank %d of %d: tools see the right variables\n", rank, size);
  return 0;
}
