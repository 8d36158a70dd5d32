/// What one rank does in a plan, before it becomes schedules: pure lists, which can be made for any
/// rank of any number of ranks.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "darray/local/selection.hpp"

namespace impishim::darray {

/// Elements that travel to or from one rank, or stay. What a rank lists for a peer is in the order
/// in which the peer lists it.
struct RankPlan {
  struct Message {
    int peer = 0;
    Selection elements;
  };
  /// Copies of a piece that get it from one of them, after all messages have arrived.
  struct Multicast {
    int root = 0;
    std::vector<int>
        members;         // ascending, the root among them; always the same list on all of them
    Selection elements;  // of the destination
  };

  std::vector<Message>
      sends;  // elements of the source; at most one message for each peer, never to this rank
  std::vector<Message> receives;                       // elements of the destination
  std::vector<std::pair<Selection, Selection>> local;  // source, destination
  std::optional<Multicast> multicast;
  Selection fills;  // elements of the destination that get a value which comes from nowhere

  void add_send(int peer, Selection elements);
  void add_receive(int peer, Selection elements);
  void add_local(Selection source, Selection destination);
  /// Appends another plan of the same rank: what is for one peer becomes one message. Two
  /// multicasts have the same members.
  void append(RankPlan other);
};

}  // namespace impishim::darray
