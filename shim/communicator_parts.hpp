/// What a spanning communicator has beside its description.
#pragma once

#include "shim/communicator.hpp"

namespace impishim::shim {

/// Gives it a companion, made of its handle's members without their attributes, and a queue for its collectives. Collective
/// over the local members.
void complete_description(Communicator& communicator);

}  // namespace impishim::shim
