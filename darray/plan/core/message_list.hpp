// SPDX-License-Identifier: Apache-2.0
/// The work of one rank in a plan, before it becomes schedules: pure lists, which can be made for
/// any rank of any number of ranks.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "darray/local/selection.hpp"

namespace impishim::darray {

/// The elements that one rank sends, receives or keeps. A rank lists the elements for a peer in the
/// order in which the peer lists them.
struct MessageList {
  struct Message {
    int peer = 0;
    Selection elements;
  };
  /// Several ranks hold copies of a piece and receive it from one of them, the root, after all
  /// messages have arrived.
  struct Multicast {
    int root = 0;
    std::vector<int> members;  // ascending, including the root; the same list on all members
    Selection elements;        // of the destination
  };

  std::vector<Message>
      sends;  // elements of the source; at most one message for each peer, none to this rank
  std::vector<Message> receives;                       // elements of the destination
  std::vector<std::pair<Selection, Selection>> local;  // source, destination
  std::optional<Multicast> multicast;
  Selection fills;  // elements of the destination that are set to the fill value

  void add_send(int peer, Selection elements);
  void add_receive(int peer, Selection elements);
  void add_local(Selection source, Selection destination);
  /// Appends another plan of the same rank. Messages to or from the same peer become one message.
  /// If both plans have a multicast, its members are the same.
  void append(MessageList other);
};

}  // namespace impishim::darray
