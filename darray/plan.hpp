// SPDX-License-Identifier: Apache-2.0
/// Plans, which convert distributions to messages: for remaps, halos, shifts, gathers, scatters,
/// broadcasts, reductions and scans.
#pragma once

#include "darray/plan/gather/broadcast.hpp"
#include "darray/plan/gather/gather.hpp"
#include "darray/plan/gather/scatter.hpp"
#include "darray/plan/halo/halo.hpp"
#include "darray/plan/reduce/reductions.hpp"
#include "darray/plan/reduce/scan.hpp"
#include "darray/plan/remap/relabel.hpp"
#include "darray/plan/remap/remap.hpp"
#include "darray/plan/remap/transpose.hpp"
#include "darray/plan/shift/shift.hpp"
