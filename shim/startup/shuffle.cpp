// SPDX-License-Identifier: Apache-2.0
// The functions of include/impishim/shuffle.h.
#include "impishim/shuffle.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/shuffle/shuffle.hpp"
#include "wire/shuffle/shuffle_core.hpp"
#include "wire/shuffle/shuffle_message.hpp"
#include "wire/shuffle/shuffle_options.hpp"
#include "wire/topology/job_map.hpp"

#define IMPISHIM_PUBLIC extern "C" __attribute__((visibility("default")))

/// The opaque type of the public header.
struct impishim_shuffle {
  /// A communicator of the whole joined world: the shuffle uses its context.
  MPI_Comm comm = MPI_COMM_NULL;
  std::unique_ptr<impishim::wire::Shuffle> core;
};

namespace {

using impishim::Error;
using impishim::ErrorKind;
using impishim::log;
using impishim::log_line;
using impishim::LogArea;
using impishim::LogLevel;
using impishim::Result;
using impishim::shim::Job;
using impishim::shim::joined;
using impishim::wire::ShuffleMessage;
using impishim::wire::ShuffleOptions;
using impishim::wire::ShuffleQueueKind;
namespace calls = impishim::shim::calls;
namespace shim = impishim::shim;

constexpr std::size_t kMostBytes = std::size_t{1} << 31U;

int fail(std::string_view function, int error_class, std::string_view text) {
  const Job* job = joined();
  return shim::raise(job != nullptr ? job->joined_world : MPI_COMM_WORLD, error_class, function,
                     text);
}

int outcome(std::string_view function, const Result<void>& result) {
  return result ? MPI_SUCCESS
                : fail(function, shim::error_class_of(result.error().kind), result.error().text);
}

ShuffleOptions from_public(const impishim_shuffle_options& given) {
  ShuffleOptions options;
  options.local_origin = {given.local_origin_maxrpc, given.local_origin_buftarget};
  options.local_relay = {given.local_relay_maxrpc, given.local_relay_buftarget};
  options.remote = {given.remote_maxrpc, given.remote_buftarget};
  options.local_sender_limit = given.local_sender_limit;
  options.remote_sender_limit = given.remote_sender_limit;
  options.deliverq_max = given.deliverq_max;
  options.deliverq_threshold = given.deliverq_threshold;
  return options;
}

bool usable(const ShuffleOptions& options) {
  return std::min({options.local_origin.maxrpc, options.local_origin.buftarget,
                   options.local_relay.maxrpc, options.local_relay.buftarget, options.remote.maxrpc,
                   options.remote.buftarget, options.local_sender_limit,
                   options.remote_sender_limit, options.deliverq_max, options.deliverq_threshold}) >
             0 &&
         options.deliverq_threshold <= options.deliverq_max;
}

int flush(impishim_shuffle* shuffle, ShuffleQueueKind kind, std::string_view function) {
  if (shuffle == nullptr) return fail(function, MPI_ERR_ARG, "no shuffle");
  return outcome(function, shuffle->core->flush(kind));
}

/// Flushes this process's queues of `kind`, then waits until all processes have done so.
int flush_everywhere(Job& job, impishim_shuffle* shuffle, ShuffleQueueKind kind,
                     std::string_view function) {
  const int code = flush(shuffle, kind, function);
  return code != MPI_SUCCESS ? code : calls::Barrier(job, job.joined_world);
}

}  // namespace

IMPISHIM_PUBLIC int impishim_configure_log(const impishim_log_options* options) {
  if (options == nullptr) return MPI_ERR_ARG;
  impishim::LogSettings settings = impishim::log_settings();
  const auto change = [&](const char* text, Result<void> (impishim::LogSettings::*set)(
                                                std::string_view)) -> Result<void> {
    return text == nullptr ? Result<void>() : (settings.*set)(text);
  };
  for (const auto& done : {change(options->levels, &impishim::LogSettings::set_levels),
                           change(options->file, &impishim::LogSettings::set_file),
                           change(options->standard_error, &impishim::LogSettings::set_stderr),
                           change(options->ranks, &impishim::LogSettings::set_ranks),
                           change(options->buffer, &impishim::LogSettings::set_buffer)}) {
    if (done) continue;
    log_line(LogArea::kShuffle, LogLevel::kError, "impishim_configure_log: " + done.error().text);
    return MPI_ERR_ARG;
  }
  impishim::configure_log(settings);
  return MPI_SUCCESS;
}

IMPISHIM_PUBLIC int impishim_shuffle_options_init(impishim_shuffle_options* options) {
  if (options == nullptr) return MPI_ERR_ARG;
  auto read = ShuffleOptions::from_environment();
  if (!read) {
    log_line(LogArea::kShuffle, LogLevel::kError, read.error().text);
    return MPI_ERR_ARG;
  }
  *options = {read->local_origin.maxrpc,   read->local_origin.buftarget, read->local_relay.maxrpc,
              read->local_relay.buftarget, read->remote.maxrpc,          read->remote.buftarget,
              read->local_sender_limit,    read->remote_sender_limit,    read->deliverq_max,
              read->deliverq_threshold};
  return MPI_SUCCESS;
}

IMPISHIM_PUBLIC int impishim_shuffle_init(impishim_shuffle** shuffle,
                                          const impishim_shuffle_options* options,
                                          impishim_shuffle_deliver deliver, void* context) {
  constexpr std::string_view kName = "impishim_shuffle_init";
  if (shuffle == nullptr || deliver == nullptr) return fail(kName, MPI_ERR_ARG, "a null pointer");
  *shuffle = nullptr;
  Job* job = joined();
  if (job == nullptr || job->map.at_start().clients().size() < 2 ||
      !std::ranges::all_of(job->map.at_start().clients(), &impishim::wire::Client::impishim)) {
    return fail(kName, MPI_ERR_UNSUPPORTED_OPERATION,
                "it needs a job of several systems, all of them with this library");
  }
  impishim_shuffle_options defaults;
  if (options == nullptr) {
    if (impishim_shuffle_options_init(&defaults) != MPI_SUCCESS)
      return fail(kName, MPI_ERR_ARG, "a variable is wrong");
    options = &defaults;
  }
  const ShuffleOptions chosen = from_public(*options);
  if (!usable(chosen))
    return fail(kName, MPI_ERR_ARG,
                "options must be 1 at least, and the threshold at most deliverq_max");
  auto made = std::make_unique<impishim_shuffle>();
  // Not a duplicate, which would inherit the program's attributes.
  if (const int code = calls::Comm_split(*job, job->joined_world, 0, job->here, &made->comm);
      code != MPI_SUCCESS)
    return code;
  made->core = std::make_unique<impishim::wire::Shuffle>(
      *job->engine, job->here, job->communicators.find(made->comm)->context, chosen,
      [deliver, context](const ShuffleMessage& message) {
        deliver(message.source, message.destination, message.type, message.data.data(),
                message.data.size(), context);
      });
  job->shuffles.fetch_add(1);
  log(LogArea::kShuffle, LogLevel::kInfo, "a shuffle begins: {} of {} bytes to other hosts",
      chosen.remote.maxrpc, chosen.remote.buftarget);
  *shuffle = made.release();  // owned by the program until impishim_shuffle_shutdown()
  return MPI_SUCCESS;
}

IMPISHIM_PUBLIC int impishim_shuffle_enqueue(impishim_shuffle* shuffle, int destination,
                                             unsigned type, const void* data, size_t bytes) {
  constexpr std::string_view kName = "impishim_shuffle_enqueue";
  const Job* job = joined();
  if (job == nullptr || shuffle == nullptr || (data == nullptr && bytes > 0))
    return fail(kName, MPI_ERR_ARG, "a null pointer");
  if (destination < 0 || destination >= job->map.at_start().size())
    return fail(kName, MPI_ERR_RANK, "no such process in the job");
  if (bytes >= kMostBytes)
    return fail(kName, MPI_ERR_COUNT, "messages of 2^31 bytes and more do not fit a batch");
  const auto* first = static_cast<const std::byte*>(data);
  return outcome(kName,
                 shuffle->core->enqueue({job->here, destination, type, {first, first + bytes}}));
}

IMPISHIM_PUBLIC int impishim_shuffle_flush_origin(impishim_shuffle* shuffle) {
  return flush(shuffle, ShuffleQueueKind::kLocalOrigin, "impishim_shuffle_flush_origin");
}

IMPISHIM_PUBLIC int impishim_shuffle_flush_relay(impishim_shuffle* shuffle) {
  return flush(shuffle, ShuffleQueueKind::kLocalRelay, "impishim_shuffle_flush_relay");
}

IMPISHIM_PUBLIC int impishim_shuffle_flush_remote(impishim_shuffle* shuffle) {
  return flush(shuffle, ShuffleQueueKind::kRemote, "impishim_shuffle_flush_remote");
}

IMPISHIM_PUBLIC int impishim_shuffle_flush_delivery(impishim_shuffle* shuffle) {
  constexpr std::string_view kName = "impishim_shuffle_flush_delivery";
  if (shuffle == nullptr) return fail(kName, MPI_ERR_ARG, "no shuffle");
  return outcome(kName, shuffle->core->flush_delivery());
}

IMPISHIM_PUBLIC int impishim_shuffle_get_statistics(impishim_shuffle* shuffle,
                                                    impishim_shuffle_statistics* statistics) {
  if (shuffle == nullptr || statistics == nullptr)
    return fail("impishim_shuffle_get_statistics", MPI_ERR_ARG, "a null pointer");
  const auto all = shuffle->core->counters();
  *statistics = {all.sent[0],    all.sent[1],    all.sent[2],        all.batches[0],
                 all.batches[1], all.batches[2], all.received_local, all.received_remote,
                 all.delivered,  all.held_bytes, all.held_bytes_peak};
  return MPI_SUCCESS;
}

IMPISHIM_PUBLIC int impishim_shuffle_dump_state(impishim_shuffle* shuffle) {
  if (shuffle == nullptr) return fail("impishim_shuffle_dump_state", MPI_ERR_ARG, "no shuffle");
  log_line(LogArea::kShuffle, LogLevel::kInfo, shuffle->core->report());
  return MPI_SUCCESS;
}

/// Flushes hop by hop. When a barrier is complete, all flushed messages are in queues of the next
/// kind or in delivery queues.
IMPISHIM_PUBLIC int impishim_shuffle_shutdown(impishim_shuffle** shuffle) {
  constexpr std::string_view kName = "impishim_shuffle_shutdown";
  Job* job = joined();
  if (job == nullptr || shuffle == nullptr || *shuffle == nullptr)
    return fail(kName, MPI_ERR_ARG, "no shuffle");
  for (const auto kind :
       {ShuffleQueueKind::kLocalOrigin, ShuffleQueueKind::kRemote, ShuffleQueueKind::kLocalRelay}) {
    if (const int code = flush_everywhere(*job, *shuffle, kind, kName); code != MPI_SUCCESS)
      return code;
  }
  if (const int code = impishim_shuffle_flush_delivery(*shuffle); code != MPI_SUCCESS) return code;
  if (const int code = calls::Barrier(*job, job->joined_world); code != MPI_SUCCESS) return code;
  const std::unique_ptr<impishim_shuffle> ended(std::exchange(*shuffle, nullptr));
  const auto all = ended->core->counters();
  log(LogArea::kShuffle, LogLevel::kInfo, "a shuffle ends: {} messages delivered, {} batches sent",
      all.delivered, all.batches[0] + all.batches[1] + all.batches[2]);
  ended->core.reset();
  job->shuffles.fetch_sub(1);
  return calls::Comm_free(*job, &ended->comm);
}
