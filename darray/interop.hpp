// SPDX-License-Identifier: Apache-2.0
/// The Distributed Array Protocol (DAP), and the formats that are related to it.
#pragma once

#include "darray/interop/collective/collective.hpp"
#include "darray/interop/dap/block_cyclic.hpp"
#include "darray/interop/dap/dim_data.hpp"
#include "darray/interop/dap/dlpack.hpp"
#include "darray/interop/dap/export.hpp"
#include "darray/interop/dap/json.hpp"
#include "darray/interop/dap/partitioned.hpp"
#include "darray/interop/dap/validate.hpp"
