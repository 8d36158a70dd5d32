#include "shim/native_group.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "shim/handle_bits.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// `count` elements of a type, for functions whose counts are ints.
class VendorCount {
 public:
  VendorCount(std::uint64_t count, MPI_Datatype type) : type_(type), count_(static_cast<int>(count)) {
    if (count <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return;
    MPI_Aint lower_bound = 0;
    MPI_Aint extent = 0;
    vendor::Type_get_extent(type, &lower_bound, &extent);
    const auto rest = static_cast<int>(count % kChunk);
    const std::array<MPI_Aint, 2> places{0, static_cast<MPI_Aint>(count - static_cast<std::uint64_t>(rest)) * extent};
    const std::array<int, 2> lengths{static_cast<int>(count / kChunk), rest};
    MPI_Datatype chunk = MPI_DATATYPE_NULL;
    vendor::Type_contiguous(kChunk, type, &chunk);
    const std::array<MPI_Datatype, 2> types{chunk, type};
    vendor::Type_create_struct(2, lengths.data(), places.data(), types.data(), &made_);
    vendor::Type_free(&chunk);
    vendor::Type_commit(&made_);
    type_ = made_;
    count_ = 1;
  }
  ~VendorCount() {
    if (made_ != MPI_DATATYPE_NULL) vendor::Type_free(&made_);  // operations under way keep what they need
  }
  VendorCount(const VendorCount&) = delete;
  VendorCount& operator=(const VendorCount&) = delete;
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

 private:
  static constexpr int kChunk = 1 << 30;
  MPI_Datatype type_;
  int count_;
  MPI_Datatype made_ = MPI_DATATYPE_NULL;
};

MPI_Datatype type_of(const collectives::ElementType& type) { return from_bits<MPI_Datatype>(type.native_handle); }

}  // namespace

// With one local member there is nobody to talk to: the vendor is not called.

collectives::Pending& NativeGroup::barrier() {
  if (size_ == 1) return started(MPI_SUCCESS);
  return started(vendor::Ibarrier(handle_, &request_));
}

collectives::Pending& NativeGroup::broadcast(const collectives::Data& data, std::int32_t root) {
  if (size_ == 1) return started(MPI_SUCCESS);
  const VendorCount count(data.count, type_of(*data.type));
  return started(vendor::Ibcast(data.base, count.count(), count.type(), root, handle_, &request_));
}

collectives::Pending& NativeGroup::reduce(const collectives::ConstData& contribution, const collectives::Data& result,
                                          const collectives::Reduction& operation, std::int32_t root) {
  if (size_ == 1) {
    copy(contribution, result);
    return started(MPI_SUCCESS);
  }
  const bool in_place = rank_ == root && contribution.base == result.base;
  return started(vendor::Ireduce(in_place ? MPI_IN_PLACE : contribution.base, result.base, static_cast<int>(contribution.count),
                                 type_of(*contribution.type), from_bits<MPI_Op>(operation.native_handle()), root, handle_,
                                 &request_));
}

collectives::Pending& NativeGroup::gather(std::span<const std::byte> block, std::span<std::byte> all, std::int32_t root) {
  const bool in_place = rank_ == root && block.data() == all.data() + static_cast<std::size_t>(rank_) * block.size();
  if (size_ == 1) {
    if (!in_place) std::ranges::copy(block, all.begin());
    return started(MPI_SUCCESS);
  }
  const VendorCount count(block.size(), MPI_BYTE);
  return started(vendor::Igather(in_place ? MPI_IN_PLACE : block.data(), count.count(), count.type(), all.data(), count.count(),
                                 count.type(), root, handle_, &request_));
}

collectives::Pending& NativeGroup::started(int code) {
  phase_code_ = code;
  return *this;
}

bool NativeGroup::done() {
  if (request_ == MPI_REQUEST_NULL || phase_code_ != MPI_SUCCESS) return true;
  int complete = 0;
  phase_code_ = vendor::Test(&request_, &complete, MPI_STATUS_IGNORE);
  return complete != 0 || phase_code_ != MPI_SUCCESS;
}

Result<void> NativeGroup::outcome() {
  if (phase_code_ == MPI_SUCCESS) return {};
  if (first_code_ == MPI_SUCCESS) first_code_ = phase_code_;
  return Error{ErrorKind::kSystem, "the phase inside this system failed"};
}

}  // namespace impishim::shim
