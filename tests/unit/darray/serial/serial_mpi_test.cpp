// SPDX-License-Identifier: Apache-2.0
// MPI for one process: what it does, and what it refuses.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace {

/// Ends the test program's one MPI job after all tests.
class OneJob : public ::testing::Environment {
 public:
  void SetUp() override {
    int size = 0;
    ASSERT_EQ(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_OTHER);  // not yet
    ASSERT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
    ASSERT_EQ(MPI_Init(nullptr, nullptr), MPI_ERR_OTHER);
  }
  void TearDown() override {
    int over = -1;
    ASSERT_EQ(MPI_Finalized(&over), MPI_SUCCESS);
    EXPECT_EQ(over, 0);
    ASSERT_EQ(MPI_Finalize(), MPI_SUCCESS);
    ASSERT_EQ(MPI_Finalized(&over), MPI_SUCCESS);
    EXPECT_EQ(over, 1);
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER);
    EXPECT_EQ(MPI_Finalize(), MPI_ERR_OTHER);
  }
};
const auto* const one_job =
    ::testing::AddGlobalTestEnvironment(new OneJob);  // NOLINT: GoogleTest owns it

TEST(SerialMpi, CollectivesCopyWhatTheOneRankSends) {
  const std::vector<double> sent{1, 2, 3};
  std::vector<double> received(5, -1);
  ASSERT_EQ(
      MPI_Allgather(sent.data(), 3, MPI_DOUBLE, received.data(), 3, MPI_DOUBLE, MPI_COMM_WORLD),
      MPI_SUCCESS);
  EXPECT_EQ(received, (std::vector<double>{1, 2, 3, -1, -1}));
  const int count = 3;
  const int place = 2;
  ASSERT_EQ(MPI_Allgatherv(sent.data(), 3, MPI_DOUBLE, received.data(), &count, &place, MPI_DOUBLE,
                           MPI_COMM_WORLD),
            MPI_SUCCESS);
  EXPECT_EQ(received, (std::vector<double>{1, 2, 1, 2, 3}));
  ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, received.data(), 5, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD),
            MPI_SUCCESS);
  EXPECT_EQ(received, (std::vector<double>{1, 2, 1, 2, 3}));
  MPI_Request request = 77;
  std::int16_t small = 0;
  const std::int16_t seven = 7;
  ASSERT_EQ(MPI_Ialltoall(&seven, 1, MPI_INT16_T, &small, 1, MPI_INT16_T, MPI_COMM_WORLD, &request),
            MPI_SUCCESS);
  int done = 0;
  ASSERT_EQ(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(small, 7);
  EXPECT_EQ(MPI_Bcast(received.data(), 5, MPI_DOUBLE, 1, MPI_COMM_WORLD), MPI_ERR_ROOT);
  EXPECT_EQ(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
}

TEST(SerialMpi, RefusesToSendAndSaysWhy) {
  int value = 0;
  MPI_Request request = 77;
  EXPECT_EQ(MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request),
            MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(MPI_Recv_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request),
            MPI_ERR_UNSUPPORTED_OPERATION);
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  ASSERT_EQ(MPI_Error_string(MPI_ERR_UNSUPPORTED_OPERATION, text.data(), &length), MPI_SUCCESS);
  EXPECT_EQ(std::string(text.data()),
            "MPI_ERR_UNSUPPORTED_OPERATION: there is no other process to send to; link a real MPI");
  EXPECT_EQ(static_cast<std::size_t>(length), std::string(text.data()).size());
}

std::vector<int> dropped;
int drop(MPI_Comm, int key, void* value, void* extra) {
  *static_cast<int*>(extra) += 1;
  dropped.push_back(key);
  return value == nullptr ? MPI_ERR_ARG : MPI_SUCCESS;
}
int keep(MPI_Comm, int, void*, void* value, void* copy, int* kept) {
  *static_cast<void**>(copy) = value;
  *kept = 1;
  return MPI_SUCCESS;
}

TEST(SerialMpi, CommunicatorsHaveAttributes) {
  int calls = 0;
  int first = MPI_KEYVAL_INVALID;
  int second = MPI_KEYVAL_INVALID;
  ASSERT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &first, &calls), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_create_keyval(keep, drop, &second, &calls), MPI_SUCCESS);
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &comm), MPI_SUCCESS);
  EXPECT_EQ(comm, MPI_COMM_NULL);
  ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, 3, 0, &comm), MPI_SUCCESS);
  int value = 5;
  ASSERT_EQ(MPI_Comm_set_attr(comm, first, &value), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_attr(comm, second, &value), MPI_SUCCESS);
  MPI_Comm copy = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(comm, &copy), MPI_SUCCESS);
  void* found = nullptr;
  int flag = 0;
  ASSERT_EQ(MPI_Comm_get_attr(copy, first, static_cast<void*>(&found), &flag), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  ASSERT_EQ(MPI_Comm_get_attr(copy, second, static_cast<void*>(&found), &flag), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(found, &value);
  EXPECT_EQ(MPI_Comm_get_attr(copy, 1000, static_cast<void*>(&found), &flag), MPI_ERR_KEYVAL);
  ASSERT_EQ(MPI_Comm_set_attr(comm, first, &value), MPI_SUCCESS);  // the old value is dropped
  EXPECT_EQ(calls, 1);
  dropped.clear();
  ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  EXPECT_EQ(comm, MPI_COMM_NULL);
  EXPECT_EQ(dropped, (std::vector<int>{second, first}));
  ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
  EXPECT_EQ(calls, 4);
  MPI_Comm world = MPI_COMM_WORLD;
  EXPECT_EQ(MPI_Comm_free(&world), MPI_ERR_COMM);
}

TEST(SerialMpi, GroupsHaveTheOneRankOrNone) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  ASSERT_EQ(MPI_Comm_group(MPI_COMM_WORLD, &all), MPI_SUCCESS);
  const int zero = 0;
  const int one = 1;
  EXPECT_EQ(MPI_Group_incl(all, 1, &one, &some), MPI_ERR_RANK);
  ASSERT_EQ(MPI_Group_incl(all, 0, nullptr, &some), MPI_SUCCESS);
  MPI_Comm made = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &made), MPI_SUCCESS);
  EXPECT_EQ(made, MPI_COMM_NULL);
  int translated = -1;
  ASSERT_EQ(MPI_Group_translate_ranks(all, 1, &zero, some, &translated), MPI_SUCCESS);
  EXPECT_EQ(translated, MPI_UNDEFINED);
  ASSERT_EQ(MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &made), MPI_SUCCESS);
  int relation = -1;
  ASSERT_EQ(MPI_Comm_compare(MPI_COMM_WORLD, made, &relation), MPI_SUCCESS);
  EXPECT_EQ(relation, MPI_CONGRUENT);
  ASSERT_EQ(MPI_Comm_free(&made), MPI_SUCCESS);
}

}  // namespace
