// SPDX-License-Identifier: Apache-2.0
/// Includes the whole library.
#pragma once

#include "darray/array.hpp"
#include "darray/base/error.hpp"
#include "darray/index/distribution.hpp"
#include "darray/index/intersect.hpp"
#include "darray/index/make_distribution.hpp"
#include "darray/interop.hpp"
#include "darray/local/strided_view.hpp"
#include "darray/plan.hpp"
#include "darray/schedule.hpp"
