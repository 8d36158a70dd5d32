# SPDX-License-Identifier: Apache-2.0
"""impishim_darray with NumPy: __distarray__ both ways (DAP-01 to DAP-11), and its neighbours.
IndexRun with the module in PYTHONPATH."""

import unittest

import numpy as np

import impishim_darray as da


class Exporter:
    """Somebody else's distributed array."""

    def __init__(self, array, *dim_data, version="0.10.0"):
        self.dictionary = {"__version__": version, "buffer": array, "dim_data": tuple(dim_data)}

    def __distarray__(self):
        return self.dictionary


def block(size, parts, part, start, stop, **others):
    return dict(
        dist_type="b",
        size=size,
        proc_grid_size=parts,
        proc_grid_rank=part,
        start=start,
        stop=stop,
        **others
    )


def address(array):
    return array.__array_interface__["data"][0]


class Import(unittest.TestCase):
    def test_dap08_same_memory(self):
        array = np.arange(10.0)
        piece = da.from_distarray(Exporter(array, block(18, 2, 0, 0, 10, padding=(1, 1))))
        view = np.asarray(piece)
        self.assertEqual(address(view), address(array))
        view[3] = -1
        self.assertEqual(array[3], -1)
        array[4] = 44
        self.assertEqual(view[4], 44)
        self.assertEqual(piece.owned, (slice(0, 9, 1),))
        self.assertEqual(piece.global_shape, (18,))
        self.assertEqual(
            (piece.to_global(0, 9), piece.to_local(0, 8), piece.to_local(0, 9)), (9, 8, None)
        )

    def test_dap10_strided_and_fortran_order(self):
        base = np.arange(48, dtype=np.int32).reshape(6, 8)
        for array in (base[::2, ::-3], base.T, np.asfortranarray(base), base[:, 3]):
            piece = da.from_distarray(Exporter(array, *[{} for _ in array.shape]))
            view = np.asarray(piece)
            self.assertEqual(address(view), address(array))
            self.assertEqual(view.strides, array.strides)
            np.testing.assert_array_equal(view, array)

    def test_dap11_object_or_dictionary(self):
        exporter = Exporter(np.zeros(7), {})
        self.assertEqual(da.from_distarray(exporter).global_shape, (7,))
        self.assertEqual(da.from_distarray(exporter.__distarray__()).global_shape, (7,))
        with self.assertRaisesRegex(da.Error, "DAP-01"):
            da.from_distarray(3)

    def test_dap07_zero_dimensions(self):
        array = np.array(2.5)
        piece = da.from_distarray(Exporter(array))
        self.assertEqual(piece.global_shape, ())
        self.assertEqual(float(np.asarray(piece)), 2.5)
        self.assertRegex(da.validate(Exporter(np.zeros(1)))[0], "DAP-06")

    def test_memory_outlives_the_exporter(self):
        piece = da.from_distarray(Exporter(np.arange(1000.0), {}))
        view = np.asarray(piece)
        del piece
        self.assertEqual(view.sum(), 499500)

    def test_read_only(self):
        array = np.zeros(3)
        array.flags.writeable = False
        self.assertFalse(np.asarray(da.from_distarray(Exporter(array, {}))).flags.writeable)


class Validate(unittest.TestCase):
    def expect(self, rule, source, level="lenient"):
        found = da.validate(source, level)
        self.assertTrue(any(rule in text for text in found), found)
        with self.assertRaisesRegex(da.Error, rule):
            da.from_distarray(source, level)

    def test_dap01_three_keys(self):
        valid = Exporter(np.zeros(7), {}).__distarray__()
        self.assertEqual(da.validate(valid), [])
        for key in valid:
            self.expect("DAP-01", {k: v for k, v in valid.items() if k != key})
        self.expect("DAP-01", {**valid, "owner": 1})

    def test_dap02_dap03_version(self):
        self.expect("DAP-02", Exporter(np.zeros(7), {}, version="v1.0.0alpha"))
        self.expect("DAP-02", Exporter(np.zeros(7), {}, version=10))
        self.expect("DAP-03", Exporter(np.zeros(7), {}, version="1.0.0"))
        self.assertEqual(da.validate(Exporter(np.zeros(7), {}, version="0.9.0")), [])

    def test_dap04_buffer(self):
        self.expect("DAP-04", {"__version__": "0.10.0", "buffer": [1.0, 2.0], "dim_data": ({},)})
        for buffer in (bytearray(7), memoryview(b"seven!!"), bytes(7)):
            self.assertEqual(da.validate(Exporter(buffer, {})), [])

    def test_dap05_tuple(self):
        source = {"__version__": "0.10.0", "buffer": np.zeros(7), "dim_data": [{}]}
        self.expect("DAP-05", source, "strict")
        self.assertEqual(da.validate(source, "lenient"), [])
        self.expect("DAP-05", {**source, "dim_data": 3})
        self.expect("DAP-05", {**source, "dim_data": (3,)})

    def test_dap06_number_of_dimensions(self):
        self.expect("DAP-06", Exporter(np.zeros((3, 3)), {}))

    def test_dap20_dist_type(self):
        self.expect("DAP-20", Exporter(np.zeros(4), dict(block(4, 1, 0, 0, 4), dist_type="q")))

    def test_dap27_numpy_integers_are_integers_and_booleans_are_not(self):
        for kind in (np.int8, np.uint64, np.int64, np.intc):
            self.assertEqual(
                da.validate(
                    Exporter(np.zeros(2), block(kind(4), kind(2), kind(1), kind(2), kind(4)))
                ),
                [],
            )
        for true in (True, np.True_):
            self.expect("DAP-27", Exporter(np.zeros(2), block(4, 2, true, 2, 4)), "strict")
            self.assertEqual(
                da.validate(Exporter(np.zeros(2), block(4, 2, true, 2, 4)), "lenient"), []
            )
        self.expect("DAP-27", Exporter(np.zeros(4), block(4.0, 1, 0, 0, 4)))
        self.expect("DAP-27", Exporter(np.zeros(4), block(np.float64(4), 1, 0, 0, 4)))
        self.expect("DAP-27", Exporter(np.zeros(4), block(2**63, 1, 0, 0, 4)))

    def test_dap35_tuple_or_list(self):
        for padding in ((1, 1), [1, 1], (np.int32(1), 1)):
            self.assertEqual(
                da.validate(Exporter(np.zeros(10), block(18, 2, 0, 0, 10, padding=padding))), []
            )
        for padding in (1, (1,), (1, 1, 1), "11", (1, -1), None):
            self.expect("DAP-35", Exporter(np.zeros(10), block(18, 2, 0, 0, 10, padding=padding)))

    def test_dap40_periodic(self):
        for periodic in (True, False, np.True_):
            self.assertEqual(
                da.validate(Exporter(np.zeros(4), block(4, 1, 0, 0, 4, periodic=periodic))), []
            )
        self.expect("DAP-40", Exporter(np.zeros(4), block(4, 1, 0, 0, 4, periodic=1)))

    def test_dap60_indices(self):
        def labelled(indices, count=3):
            return Exporter(
                np.zeros(count),
                dict(dist_type="u", size=3, proc_grid_size=1, proc_grid_rank=0, indices=indices),
            )

        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
            self.assertEqual(da.validate(labelled(np.array([5, 0, 7], kind))), [])
        self.assertEqual(da.validate(labelled(b"\x05\x00\x07")), [])
        self.assertEqual(da.validate(labelled(np.arange(6)[::-2])), [])
        piece = da.from_distarray(labelled(np.array([5, -1, 7], "i2")))
        self.assertEqual([piece.to_global(0, k) for k in range(3)], [5, -1, 7])
        for indices in (
            [5, 0, 7],
            (5, 0, 7),
            np.zeros(3),
            np.zeros((3, 1), int),
            5,
            np.array([1, 2, 2**63], "u8"),
        ):
            self.expect("DAP-60", labelled(indices))
        self.expect("DAP-61", labelled(np.array([3, 3, 1])), "strict")


class Depth(unittest.TestCase):
    def test_what_holds_itself_is_refused(self):
        endless = []
        endless.append(endless)
        around = {}
        around["again"] = [around]
        for value in (endless, around):
            for level in ("strict", "lenient"):
                with self.assertRaisesRegex(da.Error, "nested more than 64 deep"):
                    da.from_distarray(Exporter(np.zeros(4), dict(colour=value)), level)
        deep = 3
        for _ in range(60):
            deep = [deep]
        first = block(4, 1, 0, 0, 4, colour=deep)
        self.assertEqual(
            da.from_distarray(Exporter(np.zeros(4), first), "lenient").dim_data[0], first
        )


class Export(unittest.TestCase):
    def test_round_trip_through_python(self):
        array = np.arange(9.0).reshape(3, 3)
        piece = da.to_distarray(array, (5, 7), 6, 0, kinds="bc", grid=[2, 3], block_sizes={1: 2})
        offered = piece.__distarray__()
        self.assertEqual(sorted(offered), ["__version__", "buffer", "dim_data"])
        self.assertIs(offered["buffer"], array)
        self.assertIsInstance(offered["dim_data"], tuple)
        self.assertEqual(offered["dim_data"][0], block(5, 2, 0, 0, 3))
        self.assertEqual(
            offered["dim_data"][1],
            dict(dist_type="c", size=7, proc_grid_size=3, proc_grid_rank=0, start=0, block_size=2),
        )
        again = da.from_distarray(piece)
        self.assertEqual(again.dim_data, piece.dim_data)
        self.assertEqual(address(np.asarray(again)), address(array))

    def test_dap28_dap43_everything_leaves_as_it_came(self):
        labels = np.array([4, -2], "i2")
        first = block(10, 1, 0, 0, 10, padding=[2, 2], periodic=True, colour={"green"})
        second = dict(
            dist_type="u",
            size=2,
            proc_grid_size=1,
            proc_grid_rank=0,
            indices=labels,
            one_to_one=True,
        )
        exporter = Exporter(np.zeros((10, 2)), first, second)
        kept = da.from_distarray(exporter, "lenient").__distarray__()["dim_data"]
        self.assertEqual(kept[0], dict(first, padding=(2, 2)))
        self.assertIs(kept[1]["indices"], labels)
        strict = da.from_distarray(exporter).__distarray__()["dim_data"]
        self.assertNotIn("colour", strict[0])
        self.assertEqual((strict[0]["padding"], strict[0]["periodic"]), ((2, 2), True))

    def test_wrong_buffers(self):
        with self.assertRaisesRegex(da.Error, "DAP-34"):
            da.to_distarray(np.zeros(4), (9,), 2, 0)
        with self.assertRaisesRegex(da.Error, "DAP-06"):
            da.to_distarray(np.zeros((5, 1)), (9,), 2, 0)

    def test_lenient_keys_leave_everywhere_alike(self):
        exporter = Exporter(np.zeros(4), block(4, 1, 0, 0, 4, block_size=2), version="0.10.3")
        piece = da.from_distarray(exporter, "lenient")
        self.assertEqual(piece.dim_data[0]["block_size"], 2)
        self.assertIn('"block_size":2', piece.to_json())
        self.assertEqual(piece.__distarray__()["__version__"], "0.10.3")
        self.assertEqual(
            da.from_distarray(exporter.__distarray__(), "lenient").__distarray__()["dim_data"],
            exporter.dictionary["dim_data"],
        )

    def test_dlpack_device_and_copy(self):
        piece = da.from_distarray(Exporter(np.zeros(4), {}))
        self.assertIn(
            "dltensor_versioned",
            repr(piece.__dlpack__(max_version=(1, 1), dl_device=(1, 0), copy=False)),
        )
        with self.assertRaises(BufferError):
            piece.__dlpack__(dl_device=(2, 0))
        with self.assertRaises(BufferError):
            piece.__dlpack__(copy=True)

    def test_dlpack(self):
        array = np.arange(24.0).reshape(4, 6)[::2, 1:]
        piece = da.from_distarray(Exporter(array, {}, {}))
        self.assertEqual(piece.__dlpack_device__(), (1, 0))
        view = np.from_dlpack(piece)
        self.assertEqual(address(view), address(array))
        np.testing.assert_array_equal(view, array)
        self.assertIn("dltensor_versioned", repr(piece.__dlpack__(max_version=(1, 0))))

    def test_json(self):
        self.assertIn('"dim_data":[{}]', da.from_distarray(Exporter(np.zeros(7), {})).to_json())


class AllProcesses(unittest.TestCase):
    def test_check_processes(self):
        def pairs(*parts):
            return [((part,), (part["stop"] - part["start"],)) for part in parts]

        good = pairs(block(18, 2, 0, 0, 10, padding=(1, 1)), block(18, 2, 1, 8, 18, padding=(1, 1)))
        self.assertEqual(da.check_processes(good), [])
        bad = pairs(block(18, 2, 0, 0, 10, padding=(1, 2)), block(18, 2, 1, 8, 18, padding=(1, 1)))
        self.assertRegex(da.check_processes(bad)[0], "rank 1: dimension 0: 'padding': DAP-37")
        self.assertRegex(da.check_processes(good[:1])[0], "DAP-24")
        self.assertEqual(da.check_processes([((), ()), ((), ())], replicated=True), [])

    def test_partitioned(self):
        pieces = [
            (
                (
                    dict(
                        dist_type="c",
                        size=5,
                        proc_grid_size=2,
                        proc_grid_rank=rank,
                        start=2 * rank,
                        block_size=2,
                    ),
                ),
                (3 - rank,),
            )
            for rank in (0, 1)
        ]
        mine = np.array([0, 1, 4])
        partitioned = da.partitioned(pieces, 0, mine)
        self.assertEqual((partitioned["shape"], partitioned["partition_tiling"]), ((5,), (3,)))
        self.assertEqual(partitioned["locals"], [(0,), (2,)])
        self.assertEqual(
            [partitioned["partitions"][(k,)]["location"] for k in range(3)], [(0,), (1,), (0,)]
        )
        self.assertIsNone(partitioned["partitions"][(1,)]["data"])
        last = np.asarray(partitioned["get"](partitioned["partitions"][(2,)]["data"]))
        last[0] = 40
        self.assertEqual(mine.tolist(), [0, 1, 40])


if __name__ == "__main__":
    unittest.main()
