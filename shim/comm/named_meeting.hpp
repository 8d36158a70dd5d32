// SPDX-License-Identifier: Apache-2.0
/// Meetings of processes that share no communicator, as in MPI_Comm_create_from_group. A name tells
/// meetings apart that a process holds at the same time.
///
/// Inside a system the messages are letters on private_comm (job/letter_box.hpp). Between systems
/// they have a context of their own that contains the name. So neither meets a message of the
/// program's.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"

namespace impishim::shim {

/// Names of meetings, of 64 bits.
using MeetingName = std::uint64_t;

/// What the processes meet for. Meetings for different purposes do not disturb each other.
enum class MeetingPurpose : std::uint8_t { kGroup, kLeaders };

/// Computes the name from a string tag (MPI-4.0 7.4.2). Two string tags have the same name with a
/// probability of 2^-56.
[[nodiscard]] MeetingName meeting_name(MeetingPurpose purpose, std::string_view stringtag);

// The functions below return MPI_SUCCESS or codes of the vendor that have been raised.

/// Returns the native ranks of those `members` that are in this system, in their order.
[[nodiscard]] std::vector<int> native_members(const Job& job, const RankList& members);

/// Combines the words of another process into those of this one.
using CombineWords =
    std::function<void(std::span<std::uint64_t> mine, std::span<const std::uint64_t> theirs)>;
/// Combines at the first of `native`, native ranks that include this process, the words of all of
/// them.
[[nodiscard]] int collect_words(Job& job, const std::vector<int>& native, MeetingName name,
                                std::span<std::uint64_t> words, const CombineWords& combine);
/// Gives the words of the first of `native` to all of them.
[[nodiscard]] int distribute_words(Job& job, const std::vector<int>& native, MeetingName name,
                                   std::span<std::uint64_t> words);

/// Replaces `value` by the maximum over the processes of this system with the native ranks
/// `native`, which include this process. When it returns, all of them are inside.
[[nodiscard]] int greatest_by_letters(Job& job, const std::vector<int>& native, MeetingName name,
                                      std::uint64_t& value);

/// Replaces `value` by the maximum over all `members`, which include this process. When it returns,
/// all of them are inside.
[[nodiscard]] int greatest_of_group(Job& job, const RankList& members, MeetingName name,
                                    std::uint64_t& value);

/// Exchanges a value with the process `other`, which is not this one.
[[nodiscard]] int swap_values(Job& job, wire::WorldRank other, MeetingName name, std::uint64_t mine,
                              std::uint64_t& theirs);

}  // namespace impishim::shim
