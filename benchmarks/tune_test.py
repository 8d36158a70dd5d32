#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table that scripts/tune writes from measured times. """

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tune  # noqa: E402

SIZES = [8, 1024, 65536]


def measured(**faster):
    """Ten microseconds for everything, but for what `faster` names as collective_form: the times by
    size."""
    found = {}
    for collective in tune.COLLECTIVES:
        for form in (None, "linear", "exchange"):
            for size in SIZES:
                found[form, collective, size] = [10.0, 11.0, 9.0]
    for name, times in faster.items():
        collective, form = name.rsplit("_", 1)
        for size, us in times.items():
            found[form, collective, size] = [us]
    return found


class Table(unittest.TestCase):
    def items(self, **faster):
        return [line.split()[0] for line in tune.table(measured(**faster), 4, SIZES)]

    def test_nothing_is_faster(self):
        self.assertEqual(self.items(bcast_linear={8: 9.6, 1024: 12.0}), [])

    def test_a_form_holds_until_the_next_size_with_another(self):
        self.assertEqual(
            self.items(reduce_exchange={8: 5.0, 1024: 5.0}),
            ["reduce@0=exchange", "reduce@65536=default"],
        )

    def test_sizes_are_those_by_which_forms_are_chosen(self):
        self.assertEqual(self.items(allgather_linear={65536: 5.0}), ["allgather@262144=linear"])
        self.assertEqual(self.items(alltoall_linear={65536: 5.0}), ["alltoall@65536=linear"])


if __name__ == "__main__":
    unittest.main()
