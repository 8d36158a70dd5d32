// SPDX-License-Identifier: Apache-2.0
/// Schedules: which rank sends which elements to which other, built once and run often.
#pragma once

#include "darray/schedule/block_schedule.hpp"
#include "darray/schedule/lookup_schedule.hpp"
#include "darray/schedule/reduce_schedule.hpp"
#include "darray/schedule/tree_schedule.hpp"
#include "darray/schedule/word_schedule.hpp"
