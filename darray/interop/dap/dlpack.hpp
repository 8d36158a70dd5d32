// SPDX-License-Identifier: Apache-2.0
/// The local piece as a DLPack tensor (https://dmlc.github.io/dlpack, 1.1): the C structures,
/// declared here since Debian's header is older than the versioned one, and conversion both ways.
/// DLPack knows no distributed arrays: the dimension dictionaries travel beside it.
#pragma once

#include <cstdint>
#include <memory>

#include "darray/interop/dap/buffer.hpp"

namespace impishim::darray::dlpack {

// Layout and names of members are DLPack's ABI.
struct Device {
  std::int32_t device_type;
  std::int32_t device_id;
};
inline constexpr std::int32_t kCpu = 1;
inline constexpr std::int32_t kCudaHost = 3;
inline constexpr std::int32_t kRocmHost = 11;

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
enum class Code : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kComplex = 5, kBool = 6 };

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: row-major (before 1.2)
  std::uint64_t byte_offset;
};

/// What a capsule named "dltensor" holds.
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};
inline constexpr Version kVersion{1, 1};
inline constexpr std::uint64_t kReadOnly = 1;

/// What a capsule named "dltensor_versioned" holds.
struct VersionedTensor {
  Version version;
  void* manager_ctx;
  void (*deleter)(VersionedTensor*);
  std::uint64_t flags;
  Tensor dl_tensor;
};

struct CallDeleter {
  void operator()(ManagedTensor* tensor) const {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
  void operator()(VersionedTensor* tensor) const {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};
using ManagedTensorPtr = std::unique_ptr<ManagedTensor, CallDeleter>;
using VersionedTensorPtr = std::unique_ptr<VersionedTensor, CallDeleter>;

/// The buffer as a tensor: same address. `owner` lives until the tensor's deleter is called;
/// release() the pointer to hand it over. Error kType: opaque elements; kShape: a stride that is no
/// multiple of the element's size; kUnsupported: a read-only buffer in the unversioned form, which
/// cannot say so.
ManagedTensorPtr to_dlpack(const dap::Buffer& buffer, std::shared_ptr<const void> owner = nullptr);
VersionedTensorPtr to_dlpack_versioned(const dap::Buffer& buffer,
                                       std::shared_ptr<const void> owner = nullptr);

/// The tensor's memory: same address, still owned by the tensor. Error kUnsupported: not in this
/// process's memory, vectors as elements, a type or major version not known here; kArgument: a
/// negative number of dimensions or extent.
dap::Buffer from_dlpack(const ManagedTensor& tensor);
dap::Buffer from_dlpack(const VersionedTensor& tensor);

}  // namespace impishim::darray::dlpack
