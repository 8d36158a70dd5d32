// SPDX-License-Identifier: Apache-2.0
#include "darray/array/core/redistribute.hpp"

#include <list>

#include "darray/local/strided_copy.hpp"
#include "darray/plan/remap/remap.hpp"

namespace impishim::darray {
namespace {

constexpr std::size_t kPlans = 16;

}  // namespace

/// The most recently used plans, the latest first. All processes redistribute in the same order, so
/// every process has the same plans. So plans are compared by content, and dropped only by their
/// number.
class Redistributions {
 public:
  RemapPlan& plan(const Layout& to, const Layout& from, const Element& element) {
    for (auto each = plans_.begin(); each != plans_.end(); ++each) {
      if (each->serves(to, from, element)) {
        plans_.splice(plans_.begin(), plans_, each);
        return plans_.front().plan;
      }
    }
    RemapOptions options;
    options.backward = false;
    options.schedule.checks = Checks::kOff;
    plans_.push_front({to.distribution_ptr(), from.distribution_ptr(), element.type, element.size,
                       RemapPlan(to.communicator(), {to.distribution()}, {from.distribution()},
                                 element, options)});
    if (plans_.size() > kPlans) plans_.pop_back();
    return plans_.front().plan;
  }

 private:
  struct Entry {
    DistributionPtr to;
    DistributionPtr from;
    MPI_Datatype type;
    std::size_t size;
    RemapPlan plan;

    [[nodiscard]] bool serves(const Layout& wanted, const Layout& had,
                              const Element& element) const {
      return type == element.type && size == element.size && same(*to, wanted.distribution()) &&
             same(*from, had.distribution());
    }
    static bool same(const Distribution& a, const Distribution& b) {
      return &a == &b || (a.hash() == b.hash() && a == b);
    }
  };
  std::list<Entry> plans_;
};

void redistribute(const Layout& to, void* destination, const Layout& from, const void* source,
                  const Element& element, const char* operation, Checks checks) {
  if (to.shape() != from.shape()) {
    fail(ErrorKind::kShape, "{} elements in {} axes cannot become {} in {}", from.size(),
         from.shape().size(), to.size(), to.shape().size());
  }
  if (to.context() != from.context())
    fail(ErrorKind::kLayout, "arrays of different communicators do not meet");
  if (to.aligned(from)) {
    auto* target = static_cast<std::byte*>(destination);
    const auto* origin = static_cast<const std::byte*>(source);
    if (to.owned_size() == 0) return;
    Patch there = to.owned<char>(nullptr).patch();
    Patch here = from.owned<char>(nullptr).patch();
    there.offset = to.offset();
    here.offset = from.offset();
    StridedCopy(here, there, element.size).run(origin, target);
    return;
  }
  agree_on(to.communicator(), checks, [&] {
    return CollectiveCall(operation)
        .with("to", to.distribution())
        .with("from", from.distribution())
        .with("element", element);
  });
  std::shared_ptr<Redistributions>& plans = to.context()->redistributions();
  if (plans == nullptr) plans = std::make_shared<Redistributions>();
  plans->plan(to, from, element).execute(source, destination);
}

}  // namespace impishim::darray
