# SPDX-License-Identifier: Apache-2.0
"""Files of h5py and NumPy are loaded by a program with distributed arrays and saved again, and h5py
and NumPy find the same in them."""

import argparse
import os
import pathlib
import subprocess
import tempfile
import unittest

import h5py
import numpy as np

LAUNCH = []


def arrays():
    """Name, array and how h5py is to store it."""
    table = np.arange(24).reshape(4, 6)
    yield "plain", table.astype("float64"), {}
    yield "foreign", table.astype(">f8"), {}
    yield "foreign_integers", (table - 12).astype(">i8"), {}
    yield "chunked", table.astype("int16"), {"chunks": (3, 4), "compression": "gzip"}
    yield "growing", table.astype("uint8"), {"maxshape": (None, 6)}
    yield "checked", table.astype("float32"), {
        "chunks": (1, 6),
        "fletcher32": True,
        "shuffle": True,
    }
    yield "bools", table % 3 == 0, {}
    yield "complex", (table + 1j * table[::-1]).astype("complex128"), {}
    yield "half_complex", (table - 2j * table).astype("complex64"), {"chunks": True}
    yield "foreign_complex", (table - 2j * table).astype(">c16"), {}
    yield "long", table.astype("longdouble") / 3, {}
    yield "number", np.float64(2.5), {}
    yield "empty", np.zeros((0, 3)), {}
    yield "three_axes", np.arange(30, dtype="int64").reshape(5, 3, 2), {}


def type_name(array):
    name = array.dtype.newbyteorder("=").name
    return "longdouble" if name == "float128" else name


class Files(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def copy(self, pairs):
        words = [str(word) for triple in pairs for word in triple]
        done = subprocess.run([*LAUNCH, "copy", *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_same(self, found, expected, name):
        self.assertEqual(found.dtype, expected.dtype.newbyteorder("="), name)
        self.assertEqual(found.shape, expected.shape, name)
        np.testing.assert_array_equal(found, expected, name)

    def test_hdf5(self):
        theirs, ours = self.folder / "theirs.h5", self.folder / "ours.hdf5"
        with h5py.File(theirs, "w", userblock_size=1024) as file:
            for name, array, options in arrays():
                file.create_dataset(f"group/{name}", data=array, **options)
        self.copy(
            (type_name(array), f"{theirs}:group/{name}", f"{ours}:copies/{name}")
            for name, array, _ in arrays()
        )
        with h5py.File(ours, "r") as file:
            for name, array, _ in arrays():
                self.assert_same(file[f"copies/{name}"][()], array, name)

    def test_into_a_file_of_theirs(self):
        theirs = self.folder / "theirs.h5"
        with h5py.File(theirs, "w", userblock_size=1024, libver="latest") as file:
            file["before"] = np.arange(1000)
            file["before"].attrs["unit"] = "metres"
        self.copy([("int64", f"{theirs}:before", f"{theirs}:after")])
        with h5py.File(theirs, "r+") as file:
            self.assert_same(file["after"][()], np.arange(1000), "after")
            self.assert_same(file["before"][()], np.arange(1000), "before")
            self.assertEqual(file["before"].attrs["unit"], "metres")
            file["later"] = 1
            self.assert_same(file["after"][()], np.arange(1000), "after that")

    def test_npy(self):
        theirs = {name: array for name, array, _ in arrays() if array.dtype.isnative}
        for name, array in theirs.items():
            np.save(self.folder / f"{name}.npy", array)
        self.copy(
            (type_name(array), self.folder / f"{name}.npy", self.folder / f"{name}.ours.npy")
            for name, array in theirs.items()
        )
        for name, array in theirs.items():
            self.assert_same(np.load(self.folder / f"{name}.ours.npy"), array, name)

    def test_types_that_arrays_do_not_have(self):
        theirs = self.folder / "theirs.h5"
        records = np.zeros(3, dtype=[("r", "f8"), ("j", "f8")])
        cases = {
            "half": np.zeros(3, "float16"),
            "text": np.array([b"ab", b"cd"]),
            "records": records,
            "nothing": h5py.Empty("f8"),
        }
        with h5py.File(theirs, "w") as file:
            for name, value in cases.items():
                file[name] = value
        for name in cases:
            with self.subTest(name):
                done = subprocess.run(
                    [*LAUNCH, "copy", "float64", f"{theirs}:{name}", self.folder / f"{name}.h5"],
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"dataset '{name}'", done.stdout + done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "launch", nargs=argparse.REMAINDER, help="the program, and what launches it"
    )
    LAUNCH = parser.parse_args().launch
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    unittest.main(argv=[__file__])
