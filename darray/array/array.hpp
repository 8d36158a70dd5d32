/// Distributed arrays and all that is done with them.
#pragma once

#include "darray/array/arithmetic.hpp"
#include "darray/array/dist_array.hpp"
#include "darray/array/elements.hpp"
#include "darray/array/files.hpp"
#include "darray/array/functions.hpp"
#include "darray/array/initial.hpp"
#include "darray/array/order.hpp"
#include "darray/array/reductions.hpp"
#include "darray/array/text.hpp"
