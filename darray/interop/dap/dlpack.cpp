// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/dlpack.hpp"

#include <utility>

namespace impishim::darray::dlpack {

namespace {

/// A tensor with the arrays and the owner that its pointers refer to. It lives until the deleter is
/// called.
template <class Managed>
struct Holder {
  Managed managed{};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::shared_ptr<const void> owner;
};

Code code_of(char kind) {
  switch (kind) {
    case 'i':
      return Code::kInt;
    case 'u':
      return Code::kUInt;
    case 'f':
      return Code::kFloat;
    case 'c':
      return Code::kComplex;
    case 'b':
      return Code::kBool;
    default:
      fail(ErrorKind::kType, "DLPack has no elements of kind '{}'", kind);
  }
}

template <class Managed>
std::unique_ptr<Managed, CallDeleter> make(const dap::Buffer& buffer,
                                           std::shared_ptr<const void> owner) {
  const Index size = dap::item_size_of(buffer.typestr);
  const Code code = code_of(buffer.typestr[1]);
  if (size > 16)
    fail(ErrorKind::kType, "'{}' has more bits than DLPack counts here", buffer.typestr);
  auto holder = std::make_unique<Holder<Managed>>();
  holder->shape = buffer.shape;
  for (std::size_t axis = 0; axis < buffer.strides.size(); ++axis) {
    if (buffer.strides[axis] % size != 0)
      fail(ErrorKind::kShape, "axis {}: the stride of {} bytes is no multiple of the element's {}",
           axis, buffer.strides[axis], size);
    holder->strides.push_back(buffer.strides[axis] / size);
  }
  holder->owner = std::move(owner);
  Managed& managed = holder->managed;
  managed.dl_tensor = {buffer.data,
                       {kCpu, 0},
                       static_cast<std::int32_t>(buffer.shape.size()),
                       {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(size * 8), 1},
                       holder->shape.data(),
                       holder->strides.data(),
                       0};
  managed.deleter = [](Managed* self) {
    std::unique_ptr<Holder<Managed>>(static_cast<Holder<Managed>*>(self->manager_ctx)).reset();
  };
  managed.manager_ctx = holder.get();
  return std::unique_ptr<Managed, CallDeleter>(&holder.release()->managed);
}

dap::Buffer buffer_of(const Tensor& tensor) {
  if (tensor.device.device_type != kCpu && tensor.device.device_type != kCudaHost &&
      tensor.device.device_type != kRocmHost)
    fail(ErrorKind::kUnsupported,
         "a tensor on DLPack's device {}: only this process's memory is taken",
         tensor.device.device_type);
  if (tensor.dtype.lanes != 1)
    fail(ErrorKind::kUnsupported, "elements of {} lanes", tensor.dtype.lanes);
  if (tensor.dtype.bits % 8 != 0 || tensor.dtype.bits == 0)
    fail(ErrorKind::kUnsupported, "elements of {} bits", tensor.dtype.bits);
  constexpr std::string_view kKinds = "iuf??cb";
  const char kind = tensor.dtype.code < kKinds.size() ? kKinds[tensor.dtype.code] : '?';
  if (kind == '?')
    fail(ErrorKind::kUnsupported, "elements of DLPack's type code {}", tensor.dtype.code);
  if (tensor.ndim < 0) fail(ErrorKind::kArgument, "a tensor of {} dimensions", tensor.ndim);
  dap::Buffer buffer;
  buffer.item_size = tensor.dtype.bits / 8;
  buffer.typestr = dap::detail::typestr(kind, static_cast<std::size_t>(buffer.item_size));
  buffer.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  const auto dimensions = static_cast<std::size_t>(tensor.ndim);
  for (std::size_t axis = 0; axis < dimensions; ++axis) {
    if (tensor.shape[axis] < 0)
      fail(ErrorKind::kArgument, "axis {}: extent {} is negative", axis, tensor.shape[axis]);
    buffer.shape.push_back(tensor.shape[axis]);
    if (tensor.strides != nullptr)
      buffer.strides.push_back(tensor.strides[axis] * buffer.item_size);
  }
  if (tensor.strides == nullptr)
    buffer.strides = dap::row_major_strides(buffer.shape, buffer.item_size);
  return buffer;
}

}  // namespace

ManagedTensorPtr to_dlpack(const dap::Buffer& buffer, std::shared_ptr<const void> owner) {
  if (buffer.read_only)
    fail(ErrorKind::kUnsupported,
         "DLPack's unversioned tensor cannot say that it is read-only: ask for the versioned one");
  return make<ManagedTensor>(buffer, std::move(owner));
}

VersionedTensorPtr to_dlpack_versioned(const dap::Buffer& buffer,
                                       std::shared_ptr<const void> owner) {
  auto tensor = make<VersionedTensor>(buffer, std::move(owner));
  tensor->version = kVersion;
  tensor->flags = buffer.read_only ? kReadOnly : 0;
  return tensor;
}

dap::Buffer from_dlpack(const ManagedTensor& tensor) { return buffer_of(tensor.dl_tensor); }

dap::Buffer from_dlpack(const VersionedTensor& tensor) {
  if (tensor.version.major != kVersion.major)
    fail(ErrorKind::kUnsupported, "a DLPack tensor of version {}.{}; {}.x is supported",
         tensor.version.major, tensor.version.minor, kVersion.major);
  dap::Buffer buffer = buffer_of(tensor.dl_tensor);
  buffer.read_only = (tensor.flags & kReadOnly) != 0;
  return buffer;
}

}  // namespace impishim::darray::dlpack
