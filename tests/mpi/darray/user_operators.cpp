// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/darray/user_operators.hpp"

#include <optional>

#include "darray/index/make_distribution.hpp"
#include "darray/plan/reduce/reductions.hpp"
#include "darray/plan/reduce/scan.hpp"
#include "tests/mpi/darray/checks.hpp"
#include "tests/mpi/darray/owned_pieces.hpp"

namespace checks {
namespace {

using namespace impishim::darray;

const MPI_Comm kWorld = MPI_COMM_WORLD;

// Maps x -> a x + b modulo a prime: combining them is associative, not commutative.
struct Affine {
  std::uint64_t a = 1;
  std::uint64_t b = 0;
  bool operator==(const Affine&) const = default;
};

Affine then(const Affine& first, const Affine& second) {
  constexpr std::uint64_t kPrime = 1000003;
  return {first.a * second.a % kPrime, (first.b * second.a + second.b) % kPrime};
}

}  // namespace

// On blocks along ascending ranks a user's operator meets elements in their order.
void operators_of_users() {
  for (const Index rows : {0, 1, 5, 300}) {
    const DistributionPtr layout = make_distribution(std::vector<Index>{rows, 3}, size);
    std::vector<Affine> whole;
    for (Index k = 0; k < 3 * rows; ++k)
      whole.push_back({static_cast<std::uint64_t>(k % 17 + 2), static_cast<std::uint64_t>(k)});
    const std::vector<Affine> data = piece_of(*layout, rank, whole, Affine());
    const ReduceOperator operation = reduce_operator<Affine>(then, Affine());
    std::vector<Affine> columns(3);
    std::vector<Affine> prefixes(whole.size());
    Affine all;
    for (std::size_t k = 0; k < whole.size(); ++k) {
      columns[k % 3] = then(columns[k % 3], whole[k]);
      prefixes[k] = all;
      all = then(all, whole[k]);
    }
    Affine result;
    ReducePlan(kWorld, *layout, operation).execute(data.data(), &result);
    EXPECT(result == all);
    std::vector<Affine> found(3);
    ReducePlan(kWorld, *layout, {0}, operation).execute(data.data(), found.data());
    if (layout->is_member(rank)) EXPECT(found == columns);
    std::vector<Affine> scanned(data.size());
    ScanPlan(kWorld, *layout, {}, operation, {.range = ScanRange::kExclusive})
        .execute(data.data(), scanned.data());
    EXPECT(scanned == piece_of(*layout, rank, prefixes, Affine()));
  }
  const DistributionPtr layout = make_distribution(std::vector<Index>{size}, size);
  const double one = 1;
  const MaskValues none({0});
  EXPECT(refused(ErrorKind::kArgument, [&] {
    reduce_with(kWorld, *layout, &one, std::plus<double>(), std::optional<double>(), none);
  }));
  // A mask where none can be: those without elements, who cannot see it, do not wait for the
  // others.
  const DistributionPtr single = make_distribution(std::vector<Index>{1}, size);
  ReducePlan plan(kWorld, *single, reduce_operator<double>(std::plus<double>()));
  const Mask mask = single->owned_size(rank) == 1 ? Mask(none) : Mask();
  double result = 0;
  EXPECT(refused(ErrorKind::kArgument, [&] { plan.execute(&one, &result, mask); }));
  EXPECT(refused(ErrorKind::kArgument, [&] { plan.start(&one, &result, mask); }));
  plan.execute(&one, &result);
  EXPECT(result == 1);
}

}  // namespace checks
