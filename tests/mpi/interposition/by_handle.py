# SPDX-License-Identifier: Apache-2.0
"""Opens the MPI library by its name and looks functions up by the handle, as ctypes, Julia and
others do. Every rank prints one line, and where the functions come from."""

import ctypes
import os
import sys

library = ctypes.CDLL(sys.argv[1])


class Origin(ctypes.Structure):
    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def origin(name):
    found = Origin()
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p)
    ctypes.CDLL(None).dladdr(address, ctypes.byref(found))
    return os.path.basename(found.file.decode())


def symbol(name):
    """The address of a variable of the vendor's library, found by the handle."""
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, name)))


if "mpich" in sys.argv[1]:
    world, integer, add = (
        ctypes.c_int(0x44000000),
        ctypes.c_int(0x4C000405),
        ctypes.c_int(0x58000003),
    )
    of_vendor = "MPIR_Err_create_code"
else:
    world, integer, add = map(symbol, ("ompi_mpi_comm_world", "ompi_mpi_int", "ompi_mpi_op_sum"))
    of_vendor = "ompi_comm_free"

library.MPI_Init(None, None)
rank, size, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
library.MPI_Comm_rank(world, ctypes.byref(rank))
library.MPI_Comm_size(world, ctypes.byref(size))
library.MPI_Allreduce(ctypes.byref(rank), ctypes.byref(total), 1, integer, add, world)
text = f"rank {rank.value} of {size.value}, sum {total.value}, MPI_Send in {origin('MPI_Send')}"
sys.stdout.write(f"{text}, {of_vendor} in {origin(of_vendor)}\n")
sys.stdout.flush()
library.MPI_Finalize()
