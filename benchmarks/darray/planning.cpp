// SPDX-License-Identifier: Apache-2.0
/// What it costs to make a plan: PT-11 and PT-13. Ranks of large jobs are simulated: plans are
/// local work.
#include <string>

#include "benchmarks/darray/matrix.hpp"
#include "darray/plan/remap/remap.hpp"
#include "tests/mpi/darray/counting.hpp"

namespace {

using namespace bench;
using impishim::darray::Checks;
using impishim::darray::element_of;
using impishim::darray::make_distribution;
using impishim::darray::MessageList;
using impishim::darray::plan_remap;
using impishim::darray::RemapPlan;
using impishim::darray::Systems;

/// Blocks of rows to blocks of columns of three axes: everyone is everyone's partner.
struct Layouts {
  explicit Layouts(int processes)
      : from(make_distribution(kShape, processes, {.kinds = "b"})),
        to(make_distribution(kShape, processes, {.kinds = "nb"})) {}
  static constexpr std::array<Index, 3> kShape{2048, 2048, 16};
  DistributionPtr from, to;
};

/// Of one rank in the middle of so many.
void simulated(const Setting& setting, int processes) {
  const Layouts layouts(processes);
  const Systems systems(std::vector<int>(static_cast<std::size_t>(processes), 0));
  const std::string title = "plan of one of " + std::to_string(processes) + " ranks";
  Contest contest(setting, title);
  const auto plan = [&] {
    return plan_remap(processes / 2, systems, {*layouts.to}, {*layouts.from});
  };
  contest.add("plan_remap", [&] { keep(plan()); });
  contest.measure();
  const MessageList found = plan();
  Index elements = 0;
  for (const auto& message : found.sends) elements += message.elements.size();
  for (const auto& [source, destination] : found.local) elements += source.size();
  const bool all = elements == layouts.from->owned_size(processes / 2) &&
                   found.sends.size() == static_cast<std::size_t>(processes - 1) &&
                   found.receives.size() == found.sends.size();
  print_fact(setting, title + ": partners", all, std::to_string(found.sends.size()) + " partners");
}

/// The whole construction, ready to be executed. Each rank does it while the others wait for it
/// elsewhere: if it needed them, it would never end.
void construction(const Setting& setting) {
  const Layouts layouts(setting.size);
  const impishim::darray::Communicator communicator(setting.comm);
  impishim::darray::RemapOptions options;
  options.schedule.checks = Checks::kOff;
  const auto plan = [&] {
    return RemapPlan(communicator, {*layouts.to}, {*layouts.from}, element_of<double>(), options);
  };
  impishim_test::count_from_here();
  for (int rank = 0; rank < setting.size; ++rank) {
    if (rank == setting.rank) keep(plan());
    MPI_Barrier(setting.comm);
  }
  const long messages = impishim_test::counted().messages;
  print_fact(setting, "construction without messages", messages == 0,
             "MPI counts " + std::to_string(messages) +
                 "; each rank while the others wait for it in a barrier");
  Contest contest(setting, "construction");
  contest.add("RemapPlan", [&] { keep(plan()); });
  contest.add("RemapPlan, checked", [&] {
    keep(RemapPlan(communicator, {*layouts.to}, {*layouts.from}, element_of<double>()));
  });
  contest.measure();
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = begin(argc, argv);
  if (setting.wants({"PT-11"})) {
    construction(setting);
    simulated(setting, 2);
  }
  if (setting.wants({"PT-11", "PT-13"})) {
    for (const int processes : {64, 1024}) simulated(setting, processes);
  }
  end(setting);
}
