// SPDX-License-Identifier: Apache-2.0
#include "shim/dynamic/group_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shim/comm/context.hpp"
#include "shim/comm/intercommunicator.hpp"
#include "shim/comm/own_communicator.hpp"
#include "shim/completion/wait.hpp"
#include "shim/dynamic/connected_jobs.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/refusal.hpp"
#include "shim/group/group.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/port/group_agreement.hpp"
#include "wire/port/group_info.hpp"
#include "wire/port/open_port.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

constexpr int kConnectTimeoutMs = 60000;

using Channels = std::vector<std::unique_ptr<wire::Channel>>;

/// Does `work` in a thread of its own, and makes progress meanwhile: it may wait for other
/// processes, which may wait for this one.
template <class Work>
auto in_background(Job& job, Work&& work) {
  std::optional<decltype(work())> result;
  std::atomic<bool> done{false};
  std::thread thread = quiet_thread("impishim-meet", [&] {
    result.emplace(work());
    done.store(true, std::memory_order_release);
    job.engine->wake();
  });
  drive_until(job, true, [&] { return done.load(std::memory_order_acquire); });
  thread.join();
  return std::move(*result);
}

/// What the root tells its group when the roots have agreed.
struct Agreed {
  std::uint64_t context = 0;
  bool accepts = false;
  std::array<std::byte, JobSecret::kSize> secret{};
};

wire::GroupTerms terms_of(const Job& job) {
  wire::GroupTerms terms;
  terms.values = job.map.values();
  terms.collectives = job.map.client(job.client).collectives;
  terms.wire_format = job.wire_format;
  return terms;
}

/// One side of the connection.
class GroupConnection {
 public:
  GroupConnection(Job& job, const GroupConnectionCall& call) : job_(job), call_(call) {}

  int run(MPI_Comm* newcomm) {
    int code = learn_group();
    if (code == MPI_SUCCESS) code = gather_members();
    if (code == MPI_SUCCESS) code = let_roots_agree();
    if (code == MPI_SUCCESS) code = connect_with_members();
    if (code != MPI_SUCCESS) return code;
    RankList remote = connected_jobs(job_).extend(theirs_, std::move(channels_));
    return make_of_two_groups(job_, call_.comm, agreed_.context,
                              {std::move(local_), std::move(remote)}, newcomm);
  }

 private:
  [[nodiscard]] bool is_root() const { return rank_ == call_.root; }

  /// Finds the members of this side, and checks the arguments.
  int learn_group() {
    int inter = 0;
    int code = calls::Comm_test_inter(job_, call_.comm, &inter);
    if (code == MPI_SUCCESS && inter != 0)
      return raise(call_.comm, MPI_ERR_COMM, call_.function, "not for intercommunicators");
    if (code == MPI_SUCCESS) code = calls::Comm_rank(job_, call_.comm, &rank_);
    if (code != MPI_SUCCESS) return code;
    const Communicator* communicator = spanning(&job_, call_.comm);
    if (communicator != nullptr) {
      local_ = communicator->members;
    } else {
      code = members_of_native(job_, call_.comm, false, local_);
      if (code != MPI_SUCCESS) return code;
    }
    if (call_.root < 0 || static_cast<std::size_t>(call_.root) >= local_.size()) {
      return raise(call_.comm, MPI_ERR_ROOT, call_.function,
                   fmt::format("the root is {} of {}", call_.root, local_.size()));
    }
    return check_reach(communicator);
  }

  /// Refuses groups whose processes cannot be reached one by one.
  int check_reach(const Communicator* communicator) {
    if (std::ranges::find(local_, kNoMember) != local_.end())
      return refuse(call_.comm, call_.function,
                    "a member was started by the MPI library itself, and is not in the joined job");
    if (communicator != nullptr && has_foreign_members(job_, *communicator))
      return refuse(call_.comm, call_.function,
                    "a member's system runs another IMPI implementation");
    if (job_.map.at_start().values().encrypted)
      return refuse(
          call_.comm, call_.function,
          "the job is encrypted (IMPISHIM_SECRET, IMPISHIM_CERTIFICATE, IMPISHIM_TLS), and "
          "connections with "
          "other jobs cannot be: set IMPISHIM_TLS=off to send everything in clear");
    const bool behind_gateway = std::ranges::any_of(local_, [&](wire::WorldRank rank) {
      return job_.map.host(job_.map.proc(rank).host).gateway >= 0;
    });
    if (!behind_gateway) return MPI_SUCCESS;
    return refuse(
        call_.comm, call_.function,
        "a member is behind a gateway (IMPISHIM_GATEWAY), and other jobs cannot reach it");
  }

  /// Collects the descriptions of this side's members at the root. A process that cannot listen
  /// tells so later, since the others wait for it.
  int gather_members() {
    std::uint16_t port = 1;
    auto listener = wire::HostListener::open(job_.map.proc(job_.here).id.host, job_.ports);
    if (listener) {
      port = listener->port();
      listener_.emplace(std::move(*listener));
    } else {
      failure_ = listener.error();
    }
    std::array<std::byte, wire::GroupMember::kBytes> mine{};
    connected_jobs(job_).describe(port).encode(mine);
    std::vector<std::byte> all(is_root() ? local_.size() * mine.size() : 0);
    constexpr int kBytes = wire::GroupMember::kBytes;
    const int code = calls::Gather(job_, mine.data(), kBytes, MPI_BYTE, all.data(), kBytes,
                                   MPI_BYTE, call_.root, call_.comm);
    if (code != MPI_SUCCESS || !is_root()) return code;
    auto members = wire::decode_members(all);
    if (!members) return raise(call_.comm, call_.function, members.error());
    mine_ = std::move(*members);
    return MPI_SUCCESS;
  }

  /// Tells all members the root's bytes. `size` is known to all members before, or is 0.
  int tell_all(std::vector<std::byte>& bytes) {
    std::uint64_t size = bytes.size();
    int code = calls::Bcast(job_, &size, 1, MPI_UINT64_T, call_.root, call_.comm);
    if (code != MPI_SUCCESS) return code;
    bytes.resize(size);
    return calls::Bcast(job_, bytes.data(), static_cast<int>(size), MPI_BYTE, call_.root,
                        call_.comm);
  }

  /// Meets the other root, and agrees with it. Runs in a thread of its own.
  Result<wire::GroupAgreement> meet_other_root() {
    auto met = call_.meet();
    if (!met) return met.error();
    connection_.emplace(std::move(*met));
    return wire::agree_on_groups(connection_->conversation, connection_->secret,
                                 {terms_of(job_), mine_}, random_context());
  }

  /// Lets the roots meet; all members learn what they agree on, or why they do not.
  int let_roots_agree() {
    std::optional<Error> error;
    std::vector<std::byte> remote;
    if (is_root()) {
      auto agreement = in_background(job_, [&] { return meet_other_root(); });
      if (agreement) {
        agreed_.context = agreement->context;
        agreed_.accepts = connection_->conversation.accepted();
        std::ranges::copy(agreement->secret.bytes(), agreed_.secret.begin());
        remote = agreement->remote.encode();
      } else {
        error = agreement.error();
      }
    }
    if (const int code = share_error(error); code != MPI_SUCCESS) return code;
    int code = calls::Bcast(job_, &agreed_, sizeof(agreed_), MPI_BYTE, call_.root, call_.comm);
    if (code == MPI_SUCCESS) code = tell_all(remote);
    if (code == MPI_SUCCESS) code = share_mine();
    if (code != MPI_SUCCESS) return code;
    auto info = wire::GroupInfo::decode(remote);
    if (!info) return raise(call_.comm, call_.function, info.error());
    theirs_ = std::move(info->members);
    return MPI_SUCCESS;
  }

  /// Tells all members this side's descriptions: each looks up its own job.
  int share_mine() {
    std::vector<std::byte> bytes;
    for (const wire::GroupMember& each : mine_) {
      std::array<std::byte, wire::GroupMember::kBytes> encoded{};
      each.encode(encoded);
      bytes.insert(bytes.end(), encoded.begin(), encoded.end());
    }
    const int code = tell_all(bytes);
    if (code != MPI_SUCCESS || is_root()) return code;
    auto members = wire::decode_members(bytes);
    if (!members) return raise(call_.comm, call_.function, members.error());
    mine_ = std::move(*members);
    return MPI_SUCCESS;
  }

  /// Raises the root's error on all members. Returns MPI_SUCCESS if it has none.
  int share_error(const std::optional<Error>& error) {
    std::vector<std::byte> text;
    if (error) {
      const auto bytes = std::as_bytes(std::span(error->text));
      text.assign(bytes.begin(), bytes.end());
      if (text.empty()) text.push_back(std::byte{'?'});
    }
    if (const int code = tell_all(text); code != MPI_SUCCESS) return code;
    if (text.empty()) return MPI_SUCCESS;
    return raise(call_.comm, call_.error_class, call_.function,
                 std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  }

  /// Connects this process with the members of the other group. All members of both groups succeed,
  /// or none.
  int connect_with_members() {
    if (listener_) {
      const JobSecret secret{std::span<const std::byte, JobSecret::kSize>(agreed_.secret)};
      auto made = in_background(job_, [&] {
        return wire::connect_members({mine_, agreed_.accepts}, {theirs_, !agreed_.accepts}, rank_,
                                     std::move(*listener_), secret, kConnectTimeoutMs);
      });
      if (made) {
        channels_ = std::move(*made);
      } else {
        failure_ = made.error();
      }
    }
    wipe(agreed_.secret);
    std::optional<Error> first;
    int code = first_failure(first);
    if (code != MPI_SUCCESS) return code;
    if (is_root()) {
      first = in_background(
          job_, [&] { return wire::agree_on_outcome(connection_->conversation, first); });
    }
    return share_error(first);
  }

  /// Brings the error of the lowest rank that has one to the root.
  int first_failure(std::optional<Error>& first) {
    const int none = static_cast<int>(local_.size());
    const int mine = failure_ ? rank_ : none;
    int lowest = none;
    int code = calls::Allreduce(job_, &mine, &lowest, 1, MPI_INT, MPI_MIN, call_.comm);
    if (code != MPI_SUCCESS || lowest == none) return code;
    std::array<char, 512> text{};
    if (lowest == rank_) failure_->text.copy(text.data(), text.size() - 1);
    code = calls::Bcast(job_, text.data(), static_cast<int>(text.size()), MPI_CHAR, lowest,
                        call_.comm);
    first = Error{ErrorKind::kConnection, fmt::format("rank {}: {}", lowest, text.data())};
    return code;
  }

  Job& job_;
  const GroupConnectionCall& call_;
  int rank_ = 0;
  RankList local_;
  std::optional<wire::HostListener> listener_;
  std::optional<Error> failure_;  ///< of this process
  std::optional<wire::PortConnection> connection_;
  std::vector<wire::GroupMember> mine_;
  std::vector<wire::GroupMember> theirs_;
  Agreed agreed_;
  Channels channels_;
};

}  // namespace

int connect_groups(Job& job, const GroupConnectionCall& call, MPI_Comm* newcomm) {
  *newcomm = MPI_COMM_NULL;
  return GroupConnection(job, call).run(newcomm);
}

}  // namespace impishim::shim
