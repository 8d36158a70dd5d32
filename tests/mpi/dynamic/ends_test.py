#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
""" How jobs end that are connected by MPI_Comm_spawn: together, whatever the cause. """

import argparse
import os
import signal
import subprocess
import sys
import unittest

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--impirun", required=True)
PARSER.add_argument("--program", required=True)
PARSER.add_argument("--spawn", required=True, help="spawn.cpp")
PARSER.add_argument("--other", required=True, help="program of the second system")
ARGUMENTS, REST = PARSER.parse_known_args()
LIMIT_S = 60


def run(way):
    return run_words(["-np", "1", ARGUMENTS.program, way, ":", "-np", "1", ARGUMENTS.other, way])


def run_words(words):
    process = subprocess.Popen(
        [ARGUMENTS.impirun, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, out, err


class Ends(unittest.TestCase):
    def test_a_job_of_one_system(self):
        for form in ("world", "self", "multiple"):
            status, out, err = run_words(["-np", "3", ARGUMENTS.spawn, form])
            self.assertEqual((status, out), (0, "children of 3 ranks: right\n"), err)

    def test_in_order_without_disconnect(self):
        status, out, err = run("in order")
        self.assertEqual((status, out), (0, "the child said 7\n"), err)

    def test_a_child_that_dies_ends_its_parents(self):
        status, out, err = run("dies")
        self.assertNotEqual(status, 0)
        self.assertNotIn("went on", out)
        self.assertIn("ended without FINI", err)

    def test_a_child_that_aborts_ends_its_parents(self):
        status, out, err = run("aborts")
        self.assertNotEqual(status, 0)
        self.assertNotIn("went on", out)
        self.assertIn("MPI_Abort(3) was called by rank 0", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *REST])
