// SPDX-License-Identifier: Apache-2.0
/// One collective call of this process: its arguments, its buffers, and what they must hold
/// afterwards.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/mpi/collectives/sweep/buffer.hpp"
#include "tests/mpi/collectives/sweep/space.hpp"

namespace sweep {

enum class Function : std::uint8_t {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
};
inline constexpr std::size_t kFunctionCount = 22;
const char* name(Function function);

enum class Form : std::uint8_t { kBlocking, kNonblocking, kPersistent };

/// Numbers as int and as Large: each form of a function takes the pointer that it knows.
template <class Large>
class Numbers {
 public:
  Numbers() : small_(1), large_(1) {}  // never a null pointer
  void add(Large value) {
    small_.back() = static_cast<int>(value);
    large_.back() = value;
    small_.push_back(0);
    large_.push_back(0);
  }
  operator const int*() const { return small_.data(); }
  operator const Large*() const { return large_.data(); }

 private:
  std::vector<int> small_;
  std::vector<Large> large_;
};
using Counts = Numbers<MPI_Count>;
using Displacements = Numbers<MPI_Aint>;

/// Arguments of all functions; each takes its own.
struct Arguments {
  const void* send = nullptr;
  void* receive = nullptr;
  int send_count = 0;
  int receive_count = 0;
  MPI_Datatype send_type = MPI_DATATYPE_NULL;
  MPI_Datatype receive_type = MPI_DATATYPE_NULL;
  Counts send_counts;
  Counts receive_counts;
  Displacements send_displacements;
  Displacements receive_displacements;
  std::vector<MPI_Datatype> send_types;
  std::vector<MPI_Datatype> receive_types;
  int root = 0;
  MPI_Op op = MPI_OP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// Calls the function in one of its forms; `large` takes the one for counts of MPI_Count, where
/// there is one (MPI 4).
int call(Function function, Form form, bool large, const Arguments& arguments,
         MPI_Request* request);

/// A block and its content in a round of the operation, which `seed` names.
struct Part {
  Block block;
  std::function<Dense(std::uint64_t seed)> content;
};

struct Operation {
  Function function = Function::kBarrier;
  std::string text;  ///< for messages
  Arguments arguments;
  std::vector<Part> sent;      ///< in the send buffer
  std::vector<Part> present;   ///< in the receive buffer before
  std::vector<Part> received;  ///< and after
  std::vector<Block> open;     ///< of the receive buffer: may become anything
  std::optional<Buffer> send_buffer;
  std::optional<Buffer> receive_buffer;
  Op op = Op::kMove;            ///< what is done to the data
  std::size_t bytes = 0;        ///< about so many, of one process
  bool drawn_in_place = false;  ///< in place, wherever the function has that
  bool in_place = false;        ///< the send buffer is MPI_IN_PLACE here
  bool user_operation = false;  ///< the operation is to be freed

  /// Makes the buffers for the parts, and their addresses arguments. To be called once, when all
  /// parts are known.
  void make_buffers();
  /// Contents for a round that begins.
  void fill(std::uint64_t seed);
  /// Empty, or what is wrong.
  [[nodiscard]] std::string difference() const;
};

/// What an operation is made from. `shared` gives the same to all members of the communicator,
/// `own` differs.
struct Draft {
  const Space& space;
  Random shared;
  Random own;
  bool big = false;  ///< a few MiB
  /// Other datatypes are left out: the vendor's own collectives fail with them (see left_out.hpp).
  bool plain = false;
  Operation operation;
};

/// Fill in the operation for the function that it names.
void draft_movement(Draft& draft);
void draft_reduction(Draft& draft);
void draft_neighbourhood(Draft& draft);

/// The rank that is root (in its group), and what this process passes for it.
struct Root {
  int rank;
  int argument;
  bool is_root;
  bool bystander;  ///< in the root's group, without being it
};
Root draw_root(Draft& draft);
/// Whether the operation is in place; never so on intercommunicators.
bool draw_in_place(Draft& draft);

/// What is moved: `repeats` times a pattern of one or two basic types.
struct Payload {
  std::vector<const Basic*> pattern;
  std::size_t repeats = 0;
};
/// Repeats are multiples of 6, so that types of 1, 2, 3 and 6 of them fit. For about `blocks` of
/// them in a buffer.
Payload draw_payload(Draft& draft, int blocks);
/// A type of this process's choice for the payload's pattern, and the repeats in one item of it.
struct Item {
  const Layout* layout;
  std::size_t repeats;
};
/// `plain`: one without negative displacements or lower bounds.
Item draw_item(Random& random, const Payload& payload, bool plain);
/// What `from` sends to `to` (-1: to all).
Part part(const Block& block, const Payload& payload, int from, int to);

/// How the blocks for several peers lie: one after another, with counts and displacements of their
/// own, with types of their own.
enum class Spread : std::uint8_t { kEqual, kCounts, kTypes };
/// Sets the arguments for one block, or for one of each peer, on the side that sends or receives.
/// `amounts` are repeats.
Block one_block(Draft& draft, const Payload& payload, std::size_t amount, bool sending);
std::vector<Block> many_blocks(Draft& draft, const Payload& payload,
                               const std::vector<std::size_t>& amounts, Spread spread,
                               bool sending);
/// The same with these types for the peers; all the same unless the spread is kTypes.
std::vector<Block> place_blocks(Draft& draft, const std::vector<Item>& items,
                                const std::vector<std::size_t>& amounts, Spread spread,
                                bool sending);

}  // namespace sweep
