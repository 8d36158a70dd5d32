/// The local phases of collectives: the vendor's collectives on a spanning communicator's own handle.
///
/// Always the nonblocking forms: blocking and nonblocking collectives do not match each other (MPI-3.1 5.12), and whether a
/// process may block in the vendor's MPI is its own affair, unknown to the others (DESIGN.md 4b).
#pragma once

#include <mpi.h>

#include "collectives/groups.hpp"

namespace impishim::shim {

class NativeGroup final : public collectives::LocalGroup, private collectives::Pending {
 public:
  /// `handle`: the vendor's communicator of the local members.
  NativeGroup(MPI_Comm handle, int rank, int size) : handle_(handle), rank_(rank), size_(size) {}

  Pending& barrier() override;
  Pending& broadcast(const collectives::Data& data, std::int32_t root) override;
  Pending& reduce(const collectives::ConstData& contribution, const collectives::Data& result,
                  const collectives::Reduction& operation, std::int32_t root) override;
  Pending& gather(std::span<const std::byte> block, std::span<std::byte> all, std::int32_t root) override;

  /// The first error code that the vendor returned (its error handler has been called already), or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return first_code_; }

 private:
  bool done() override;
  Result<void> outcome() override;
  [[nodiscard]] bool in_vendor() const override { return true; }
  Pending& started(int code);

  MPI_Comm handle_;
  int rank_;
  int size_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int phase_code_ = MPI_SUCCESS;
  int first_code_ = MPI_SUCCESS;
};

}  // namespace impishim::shim
