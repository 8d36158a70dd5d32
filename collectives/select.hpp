/// Which form a collective's phase among the masters takes: all of the choice is in the table below (IMPI 5.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace impishim::collectives {

/// Negotiated at startup: C_COLL_MAXLINEAR and C_COLL_XSIZE.
struct Limits {
  std::int32_t max_linear = 4;  ///< masters up to which the linear form is taken
  std::int64_t xsize = 1024;    ///< bytes from which the long form is taken
  bool impi_only = false;       ///< a foreign implementation takes part: only the forms of IMPI 0.0
  /// All clients represent data alike: masters may pass on bytes whose type they do not know.
  bool same_representation = true;
};

enum class Form : std::uint8_t {
  kLinear,  ///< every master talks to the root
  kTree,    ///< hypercube or binomial tree
};

enum class Collective : std::uint8_t { kBarrier, kBcast, kReduce, kGather };

/// Forms for: few masters; many and short data; many and long data.
struct Choice {
  Form few;
  Form many_short;
  Form many_long;
};

inline constexpr std::array<Choice, 4> kChoices{{
    {Form::kLinear, Form::kTree, Form::kTree},    // barrier
    {Form::kLinear, Form::kTree, Form::kTree},    // bcast
    {Form::kLinear, Form::kTree, Form::kTree},    // reduce
    {Form::kLinear, Form::kTree, Form::kLinear},  // gather: no long data is sent twice
}};

/// `bytes`: external32 size of one process's data, the same everywhere.
[[nodiscard]] inline Form choose(Collective collective, std::int32_t masters, std::uint64_t bytes, const Limits& limits) {
  const Choice& choice = kChoices[static_cast<std::size_t>(collective)];
  if (masters <= limits.max_linear) return choice.few;
  return bytes < static_cast<std::uint64_t>(limits.xsize) ? choice.many_short : choice.many_long;
}

/// Tags on the collective context (IMPI 4.2).
enum Tag : std::int32_t {
  kBarrierTag = 110,
  kBcastTag = 120,
  kGatherTag = 130,
  kReduceTag = 190,
};

}  // namespace impishim::collectives
