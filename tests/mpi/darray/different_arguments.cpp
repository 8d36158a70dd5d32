// SPDX-License-Identifier: Apache-2.0
// Collective operations that the last rank calls with another argument, or calls another one
// instead: all ranks throw the same error, which names the difference, none waits for ever, and the
// array is as usable as before.
#include <functional>
#include <string>

#include "darray/array/keys/set_data.hpp"
#include "darray/array/math/where.hpp"
#include "darray/plan/gather/broadcast.hpp"
#include "darray/plan/halo/halo.hpp"
#include "darray/plan/reduce/reduce.hpp"
#include "darray/plan/remap/remap.hpp"
#include "darray/plan/shift/shift.hpp"
#include "tests/mpi/darray/array_checks.hpp"

namespace impishim::darray {
namespace {

using checks::rank;
using checks::size;

const MPI_Comm kWorld = MPI_COMM_WORLD;

bool odd_one() { return rank == size - 1; }

/// The error's text that `body` throws, or "no error".
std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return fmt::format("{} ({})", error.what(), static_cast<int>(error.kind()));
  }
  return "no error";
}

/// Whether all ranks have the same text, in which each of `words` stands.
bool same_everywhere(const std::string& text, const std::vector<std::string>& words) {
  std::string first(4096, ' ');
  std::copy_n(text.begin(), std::min(text.size(), first.size()), first.begin());
  std::string root = first;
  MPI_Bcast(root.data(), static_cast<int>(root.size()), MPI_CHAR, 0, kWorld);
  const bool all_there = std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return text.find(word) != std::string::npos;
  });
  if (root != first || !all_there) std::fprintf(stderr, "rank %d: %s\n", rank, text.c_str());
  return root == first && all_there;
}

/// Calls `usual` on all ranks but the last, `other` there. With one rank there is no difference to
/// find.
void differs(const std::vector<std::string>& words, const std::function<void()>& usual,
             const std::function<void()>& other) {
  if (size == 1) return;
  EXPECT(same_everywhere(error_of(odd_one() ? other : usual), words));
}

struct Arrays {
  DistArray<double> a = DistArray<double>::arange(kWorld, Shape{8, 6});
  DistArray<Index> n = DistArray<Index>::arange(kWorld, Shape{12});

  void still_usable() const {
    EXPECT(sum(a) == 47 * 24 && count_nonzero(n) == 11);
    EXPECT(get_item(a, {7, 5}) == 47);
  }
};

void contractions() {
  const Arrays arrays;
  const DistArray<double>& a = arrays.a;
  const auto other_axis = [](const auto& function) {
    differs(
        {"reduction, axes: (0) on ranks 0", fmt::format("(1) on rank {}", size - 1)},
        [&] { function(AxisList{0}); }, [&] { function(AxisList{1}); });
  };
  if (size > 2) {
    other_axis([&](const AxisList& axes) { static_cast<void>(sum(a, axes)); });
    other_axis([&](const AxisList& axes) { static_cast<void>(prod(a, axes)); });
    other_axis([&](const AxisList& axes) { static_cast<void>(max(a, axes)); });
    other_axis([&](const AxisList& axes) { static_cast<void>(any(a, axes)); });
  }
  differs(
      {"axes"}, [&] { static_cast<void>(mean(a, AxisList{0})); },
      [&] { static_cast<void>(mean(a, AxisList{1})); });
  differs(
      {"axes"}, [&] { static_cast<void>(median(a, AxisList{0})); },
      [&] { static_cast<void>(median(a, AxisList{1})); });
  differs(
      {"axes"}, [&] { static_cast<void>(argmax(a, 0)); }, [&] { static_cast<void>(argmax(a, 1)); });
  differs(
      {"operator: minimum of double on rank", "maximum of double on rank"},
      [&] { static_cast<void>(min(a)); }, [&] { static_cast<void>(max(a)); });
  differs(
      {"the operation: reduction", "location of an extreme"}, [&] { static_cast<void>(sum(a)); },
      [&] { static_cast<void>(argmax(a)); });
  differs(
      {"the operation: location of an extreme", "reduction"}, [&] { static_cast<void>(argmax(a)); },
      [&] { static_cast<void>(max(a)); });
  differs(
      {"the operation: mean", "variance with ddof 0"}, [&] { static_cast<void>(mean(a)); },
      [&] { static_cast<void>(var(a)); });
  differs(
      {"variance with ddof 0", "variance with ddof 1"}, [&] { static_cast<void>(var(a)); },
      [&] { static_cast<void>(var(a, Ddof{1})); });
  differs(
      {"the operation: median", "reduction"}, [&] { static_cast<void>(median(a)); },
      [&] { static_cast<void>(sum(a)); });
  differs(
      {"reduction, axes: (0, 1) on ", "(0) on "}, [&] { static_cast<void>(sum(a)); },
      [&] { static_cast<void>(sum(a, AxisList{0})); });
  arrays.still_usable();
}

void orders() {
  const Arrays arrays;
  const DistArray<Index>& n = arrays.n;
  differs(
      {"bincount, length: 20 on ", "30 on "}, [&] { static_cast<void>(bincount(n, 20)); },
      [&] { static_cast<void>(bincount(n, 30)); });
  differs(
      {"the operation: bincount", "unique"}, [&] { static_cast<void>(bincount(n)); },
      [&] { static_cast<void>(unique(n)); });
  differs(
      {"scan, axis: 0 on ", "1 on "}, [&] { static_cast<void>(cumsum(arrays.a, 0)); },
      [&] { static_cast<void>(cumsum(arrays.a, 1)); });
  differs(
      {"scan, axis: 0 on ", "all, in row-major order on "},
      [&] { static_cast<void>(cumsum(arrays.a, 0)); },
      [&] { static_cast<void>(cumsum(arrays.a)); });
  arrays.still_usable();
}

void whole_arrays() {
  const Arrays arrays;
  DistArray<double> a = arrays.a.copy();
  differs(
      {"get_full, target: 0 on ", "1 on "}, [&] { static_cast<void>(a.get_full(0)); },
      [&] { static_cast<void>(a.get_full(1)); });
  differs(
      {"get_full"}, [&] { static_cast<void>(a.get_full()); },
      [&] { static_cast<void>(a.get_full(0)); });
  const LocalArray<double> whole = arrays.a.get_full();
  differs(
      {"set_full, root: 0 on ", "1 on "}, [&] { a.set_full(whole.view(), 0); },
      [&] { a.set_full(whole.view(), 1); });
  differs(
      {"making an array, strategy: not on ", "fftw on "}, [&] { static_cast<void>(a.copy(kNot)); },
      [&] { static_cast<void>(a.copy(kFftw)); });
  differs(
      {"making an array, global shape: (4, 4) on ", "(4, 5) on "},
      [&] {
        static_cast<void>(DistArray<double>::zeros(kWorld, Shape{4, 4}));
      },
      [&] {
        static_cast<void>(DistArray<double>::zeros(kWorld, Shape{4, 5}));
      });
  differs(
      {"element type: double on ", "float on "},
      [&] { static_cast<void>(DistArray<double>::zeros(kWorld, Shape{4})); },
      [&] { static_cast<void>(DistArray<float>::zeros(kWorld, Shape{4})); });
  arrays.still_usable();
}

void keys() {
  const Arrays arrays;
  DistArray<double> a = arrays.a.copy();
  differs(
      {"get_data, key: [3, 4] on ", "[3, 5] on "},
      [&] {
        static_cast<void>(get_item(a, {3, 4}));
      },
      [&] {
        static_cast<void>(get_item(a, {3, 5}));
      });
  differs(
      {"get_data, key: [0:8:2, 0:6:1] on ", "[1:9:2, 0:6:1] on "},
      [&] {
        static_cast<void>(get_data(a, Slice{0, {}, 2}));
      },
      [&] {
        static_cast<void>(get_data(a, Slice{1, {}, 2}));
      });
  differs(
      {"set_data, key"},
      [&] {
        set_data(a, 1.0, Slice{0, 2});
      },
      [&] {
        set_data(a, 1.0, Slice{1, 3});
      });
  differs(
      {"the operation: get_data", "set_data"},
      [&] {
        static_cast<void>(get_data(a, {3, 4}));
      },
      [&] {
        set_data(a, 1.0, {3, 4});
      });
  differs(
      {"the operation: where", "get_data"}, [&] { static_cast<void>(where(a)); },
      [&] {
        static_cast<void>(get_data(a, {3, 4}));
      });
  arrays.still_usable();
}

void plans() {
  const Communicator communicator(kWorld);
  const DistributionPtr rows = make_distribution(Shape{12, 12}, size, {.kinds = "e"});
  const DistributionPtr cyclic = make_distribution(Shape{12, 12}, size, {.kinds = "c"});
  const DistributionPtr padded =
      make_distribution(Shape{12, 12}, size, {.kinds = "e", .ghosts = {{0, {1, 1}}}});
  const Element element = element_of<double>();
  differs(
      {"remap, source: shape (12, 12)"},
      [&] { RemapPlan(communicator, {*cyclic}, {*rows}, element, {}); },
      [&] { RemapPlan(communicator, {*cyclic}, {*cyclic}, element, {}); });
  differs(
      {"remap, permutation: () on ", "(1, 0) on "},
      [&] { RemapPlan(communicator, {*cyclic}, {*rows}, element, {}); },
      [&] {
        RemapPlan(communicator, {*cyclic}, {*rows}, element, {.permutation = {1, 0}});
      });
  differs(
      {"shift, amount: 1 on ", "2 on "},
      [&] { ShiftPlan(communicator, {*rows}, {*rows}, 0, 1, element, {}); },
      [&] { ShiftPlan(communicator, {*rows}, {*rows}, 0, 2, element, {}); });
  differs(
      {"the operation: shift", "remap"},
      [&] { ShiftPlan(communicator, {*rows}, {*rows}, 0, 1, element, {}); },
      [&] { RemapPlan(communicator, {*cyclic}, {*rows}, element, {}); });
  differs(
      {"halo, corners: yes on ", "no on "},
      [&] { HaloPlan(communicator, *padded, element, {.corners = true}); },
      [&] { HaloPlan(communicator, *padded, element, {.corners = false}); });
  double value = 0;
  const std::vector<double> data(static_cast<std::size_t>(rows->local_size(rank)), 1);
  const std::vector<Index> first{0, 0};
  const std::vector<Index> second{1, 0};
  differs(
      {"broadcast of an element, indices: (0, 0) on ", "(1, 0) on "},
      [&] { broadcast_element(kWorld, *rows, first, element, data.data(), &value); },
      [&] { broadcast_element(kWorld, *rows, second, element, data.data(), &value); });
  // The plans that follow are as good as any.
  std::vector<double> there(static_cast<std::size_t>(cyclic->local_size(rank)), 0);
  RemapPlan(communicator, {*cyclic}, {*rows}, element, {}).execute(data.data(), there.data());
  EXPECT(std::all_of(there.begin(), there.end(), [](double each) { return each == 1; }));
}

/// Buffers of indices that one rank forgets, or of which it gives too many: all ranks throw, and
/// the plan is as usable as before.
void buffers_of_indices() {
  const DistributionPtr rows = make_distribution(Shape{12, 4}, size, {.kinds = "e"});
  LocatePlan plan(kWorld, *rows, {0}, Scalar::kDouble, Extreme::kMax);
  ReducePlan sums(kWorld, *rows, {0}, reduce_operator(Reducer::kSum, Scalar::kDouble));
  std::vector<double> data(static_cast<std::size_t>(rows->local_size(rank)), rank);
  const auto results = static_cast<std::size_t>(plan.result()->local_size(rank));
  std::vector<double> values(results);
  std::vector<Index> places(results);
  const auto execute = [&](const std::vector<Index*>& buffers) {
    plan.execute(data.data(), values.data(), buffers);
  };
  const std::string last = fmt::format("rank {}: ", size - 1);
  differs(
      {last, "0 buffers of indices for 1 reduced axes"}, [&] { execute({places.data()}); },
      [&] { execute({}); });
  differs(
      {last, "2 buffers of indices for 1 reduced axes"}, [&] { execute({places.data()}); },
      [&] {
        execute({places.data(), places.data()});
      });
  differs(
      {last, "a buffer of indices is null"}, [&] { execute({places.data()}); },
      [&] { execute({nullptr}); });
  differs(
      {"execution of a location of an extreme", "execution of a reduction"},
      [&] { execute({places.data()}); }, [&] { sums.execute(data.data(), values.data()); });
  execute({places.data()});
  EXPECT(std::all_of(values.begin(), values.end(), [](double each) { return each == size - 1; }));
}

/// An error of one rank alone counts for more than the difference that it comes with.
void errors_of_one_rank() {
  const Arrays arrays;
  differs(
      {fmt::format("rank {}: ", size - 1), "axis"},
      [&] { static_cast<void>(sum(arrays.a, AxisList{0})); },
      [&] { static_cast<void>(sum(arrays.a, AxisList{7})); });
  arrays.still_usable();
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("contractions", contractions);
  checks::part("orders", orders);
  checks::part("whole arrays", whole_arrays);
  checks::part("keys", keys);
  checks::part("plans", plans);
  checks::part("buffers of indices", buffers_of_indices);
  checks::part("errors of one rank", errors_of_one_rank);
  return checks::end();
}
