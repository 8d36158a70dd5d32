// SPDX-License-Identifier: Apache-2.0
/// The local piece as a DLPack tensor (https://dmlc.github.io/dlpack, 1.1), with conversion in both
/// directions. The C structures are declared here because Debian's header is older than the
/// versioned structure. DLPack has no distributed arrays: the dimension dictionaries are passed
/// separately.
#pragma once

#include <cstdint>
#include <memory>

#include "darray/interop/dap/buffer.hpp"

namespace impishim::darray::dlpack {

// The layout and the names of members are DLPack's ABI.
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
  std::int64_t* strides;  ///< in elements; null means row-major (before 1.2)
  std::uint64_t byte_offset;
};

/// The content of a capsule named "dltensor".
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

/// The content of a capsule named "dltensor_versioned".
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

/// Returns the buffer as a tensor with the same address. `owner` lives until the tensor's deleter
/// is called; release() the pointer to transfer the tensor. Throws Error(kType) if the elements are
/// opaque. Throws Error(kShape) if a stride is not a multiple of the element's size. Throws
/// Error(kUnsupported) if the buffer is read-only and the form is unversioned, because that form
/// cannot mark a tensor as read-only.
ManagedTensorPtr to_dlpack(const dap::Buffer& buffer, std::shared_ptr<const void> owner = nullptr);
VersionedTensorPtr to_dlpack_versioned(const dap::Buffer& buffer,
                                       std::shared_ptr<const void> owner = nullptr);

/// Returns the tensor's memory with the same address; the tensor still owns it. Throws
/// Error(kUnsupported) if the memory is not this process's, if elements are vectors, or if the type
/// or the major version is unknown here. Throws Error(kArgument) if the number of dimensions or an
/// extent is negative.
dap::Buffer from_dlpack(const ManagedTensor& tensor);
dap::Buffer from_dlpack(const VersionedTensor& tensor);

}  // namespace impishim::darray::dlpack
