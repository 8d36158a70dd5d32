// SPDX-License-Identifier: Apache-2.0
/// Everything of the library at once.
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
