// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/detail/patch_type.hpp"

#include <cstdlib>
#include <limits>
#include <utility>

#include "darray/communicator/communicator.hpp"

namespace impishim::darray {
namespace {

constexpr Index kLongRun = 256;  // bytes

}  // namespace

// The delegated constructor completes first, so the destructor frees a partly built type if this
// constructor throws.
PatchType::PatchType(const Patch& patch, const Element& element) : PatchType() {
  const auto size = static_cast<MPI_Aint>(element.size);
  nest(1, element.items, 0, element.type);
  for (auto dimension = patch.dimensions.rbegin(); dimension != patch.dimensions.rend();
       ++dimension) {
    nest(static_cast<int>(dimension->extent), 1, static_cast<MPI_Aint>(dimension->stride) * size,
         type_);
  }
  check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
}

// Makes the type from `count` blocks of `block` elements of `inner`; blocks start `stride` bytes
// apart.
void PatchType::nest(int count, int block, MPI_Aint stride, MPI_Datatype inner) {
  MPI_Datatype outer = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_hvector(count, block, stride, inner, &outer),
            "MPI_Type_create_hvector");
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  type_ = outer;
}

PatchType::~PatchType() {
  if (type_ != MPI_DATATYPE_NULL && !mpi_is_over()) MPI_Type_free(&type_);
}

PatchType::PatchType(PatchType&& other) noexcept
    : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}

PatchType& PatchType::operator=(PatchType&& other) noexcept {
  std::swap(type_, other.type_);
  return *this;
}

const Patch* patch_of_long_runs(const Selection& elements, const Element& element) {
  if (elements.pieces().size() != 1) return nullptr;
  const auto* patch = std::get_if<Patch>(&elements.pieces().front());
  if (patch == nullptr || patch->dimensions.empty()) return nullptr;
  const Dimension& run = patch->dimensions.back();
  if (run.stride != 1 || run.extent * static_cast<Index>(element.size) < kLongRun) return nullptr;
  Index span = 1;  // from the first to the last element of the inner dimensions
  for (auto dimension = patch->dimensions.rbegin(); dimension != patch->dimensions.rend();
       ++dimension) {
    // MPI does not allow overlapping elements in a receive buffer.
    if (std::abs(dimension->stride) < span || dimension->extent > std::numeric_limits<int>::max())
      return nullptr;
    span += (dimension->extent - 1) * std::abs(dimension->stride);
  }
  return patch;
}

}  // namespace impishim::darray
