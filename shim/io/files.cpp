// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "shim/io/file.hpp"
#include "shim/job/job.hpp"
#include "wire/base/mutex.hpp"
#include "wire/file/file_service.hpp"

namespace impishim::shim {

void Files::add(std::unique_ptr<File> file) {
  const File& added = *file;
  const MutexLock lock(mutex_);
  files_.push_back(std::move(file));
  by_handle_.insert(added.handle, *files_.back());
}

void Files::drop(const File& file) {
  const MutexLock lock(mutex_);
  std::erase_if(files_, [&](const auto& each) { return each.get() == &file; });
}

std::shared_ptr<File> Files::share(const File& file) {
  const MutexLock lock(mutex_);
  return *std::ranges::find(files_, &file, &std::shared_ptr<File>::get);
}

wire::FileService& Files::service() {
  const MutexLock lock(mutex_);
  if (service_ == nullptr) service_ = std::make_unique<wire::FileService>(*job_.engine, job_.here);
  return *service_;
}

wire::FileService* Files::service_if_made() {
  const MutexLock lock(mutex_);
  return service_.get();
}

Files& files_of(Job& job) {
  if (Files* made = job.files.load(std::memory_order_acquire); made != nullptr) return *made;
  std::call_once(job.files_once, [&job] {
    job.files_owner = std::make_shared<Files>(job);
    job.files.store(job.files_owner.get(), std::memory_order_release);
  });
  return *job.files.load(std::memory_order_acquire);
}

}  // namespace impishim::shim
