// SPDX-License-Identifier: Apache-2.0
/// Distributed arrays and all operations on them.
#pragma once

#include "darray/array/core/dist_array.hpp"
#include "darray/array/core/elements.hpp"
#include "darray/array/io/files.hpp"
#include "darray/array/io/initial.hpp"
#include "darray/array/io/text.hpp"
#include "darray/array/keys/get_data.hpp"
#include "darray/array/keys/set_data.hpp"
#include "darray/array/math/arithmetic.hpp"
#include "darray/array/math/functions.hpp"
#include "darray/array/math/order.hpp"
#include "darray/array/math/reductions.hpp"
#include "darray/array/math/where.hpp"
