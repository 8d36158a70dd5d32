// SPDX-License-Identifier: Apache-2.0
/// Schedules. A schedule states which rank sends which elements to which other rank. It is built
/// once and run often.
#pragma once

#include "darray/schedule/block_schedule.hpp"
#include "darray/schedule/lookup_schedule.hpp"
#include "darray/schedule/reduce_schedule.hpp"
#include "darray/schedule/tree_schedule.hpp"
#include "darray/schedule/word_schedule.hpp"
