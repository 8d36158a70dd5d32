#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
""" Jobs that were started apart find each other by `impirun -name-server`: a server of two systems,
and clients of one and two systems, one after the other; and a job that only an mpiexec has started.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from run_system_test import LAUNCHER_VARIABLES  # noqa: E402

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--impirun", required=True)
PARSER.add_argument("--server", required=True, help="program of the server's first system")
PARSER.add_argument("--other", required=True, help="program of the other systems")
PARSER.add_argument("--spawn", required=True, help="program of that MPI that spawns itself")
PARSER.add_argument("--mpiexec", required=True, help="launcher of the other systems' MPI")
PARSER.add_argument("--library", required=True, help="libimpishim.so for that MPI")
ARGUMENTS, REST = PARSER.parse_known_args()
LIMIT_S = 60
ALONE = {**LAUNCHER_VARIABLES, "IMPISHIM_HOST_ADDRESS": "127.0.0.1"}


class Job:
    """A job in a process group of its own, which ends with the object."""

    def __init__(self, words, **variables):
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **variables},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        self.process.stdout.close()

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def finish(self):
        out, _ = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out


def program(arguments, *systems):
    words = [ARGUMENTS.impirun]
    for procs, path in systems:
        words += [] if len(words) == 1 else [":"]
        words += ["-np", str(procs), path, *arguments]
    return words


def without_impirun(path, *arguments):
    """Two ranks that mpiexec starts with the library, and that join no other system."""
    joining = ["env", f"LD_PRELOAD={ARGUMENTS.library}", "IMPISHIM_SERVER=self"]
    return [ARGUMENTS.mpiexec, "-n", "2", *joining, path, *arguments]


def command_lines():
    """Those of all processes of this machine."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue  # the process has ended
    return found


class Services(unittest.TestCase):
    def setUp(self):
        signal.alarm(2 * LIMIT_S)
        self.names = Job([ARGUMENTS.impirun, "-name-server"], IMPISHIM_HOST_ADDRESS="127.0.0.1")
        self.addCleanup(self.names.__exit__)
        variable, self.server_name = self.names.line().split("=", 1)
        self.assertEqual(variable, "IMPISHIM_NAME_SERVER")

    def start(self, words, **variables):
        return Job(words, IMPISHIM_NAME_SERVER=self.server_name, **variables)

    def serve(self, **variables):
        first, other = (1, ARGUMENTS.server), (1, ARGUMENTS.other)
        with self.start(program(["serve", "2", "weather"], first, other), **variables) as server:
            self.assertEqual(server.line(), "published")
            for systems in ([other, first], [(2, ARGUMENTS.other)]):
                with self.start(program(["use", "weather"], *systems)) as client:
                    self.assertEqual(client.finish(), (0, "used\n"))
            self.assertEqual(server.finish(), (0, "served 2 jobs\n"))

    def test_jobs_meet_one_after_the_other(self):
        self.serve()

    def test_a_job_with_threads_meets_jobs_without(self):
        self.serve(IMPISHIM_TEST_THREADS="1")

    def test_a_job_without_impirun_connects(self):
        systems = (1, ARGUMENTS.server), (1, ARGUMENTS.other)
        with self.start(program(["serve", "1", "weather"], *systems)) as server:
            self.assertEqual(server.line(), "published")
            with self.start(without_impirun(ARGUMENTS.other, "use", "weather"), **ALONE) as client:
                self.assertEqual(client.finish(), (0, "used\n"))
            self.assertEqual(server.finish(), (0, "served 1 jobs\n"))

    def test_a_job_without_impirun_accepts(self):
        systems = (1, ARGUMENTS.server), (1, ARGUMENTS.other)
        with self.start(
            without_impirun(ARGUMENTS.other, "serve", "2", "weather"), **ALONE
        ) as server:
            self.assertEqual(server.line(), "published")
            with self.start(program(["use", "weather"], *systems)) as client:
                self.assertEqual(client.finish(), (0, "used\n"))
            with self.start(without_impirun(ARGUMENTS.other, "use", "weather"), **ALONE) as client:
                self.assertEqual(client.finish(), (0, "used\n"))
            self.assertEqual(server.finish(), (0, "served 2 jobs\n"))

    def test_a_job_without_impirun_spawns(self):
        variables = {**ALONE, "IMPISHIM_IMPIRUN": ARGUMENTS.impirun}
        with self.start(without_impirun(ARGUMENTS.spawn, "world"), **variables) as parents:
            self.assertEqual(parents.finish(), (0, "children of 2 ranks: right\n"))

    def refused(self, server, says):
        words = [
            word.replace("IMPISHIM_SERVER=self", f"IMPISHIM_SERVER={server}")
            for word in without_impirun(ARGUMENTS.other, "use", "weather")
        ]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            env={**os.environ, **ALONE, "IMPISHIM_CLIENT": "0"},
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(says, done.stderr)

    def test_a_job_without_impirun_has_no_number(self):
        self.refused("self", "IMPISHIM_CLIENT=0: with IMPISHIM_SERVER=self")

    def test_an_empty_server_is_no_job_of_its_own(self):
        self.refused("", "IMPISHIM_SERVER=: the address:port of the rendezvous server is needed")

    def test_no_service_is_an_error(self):
        with self.start(
            program(["use", "weather"], (1, ARGUMENTS.other), (1, ARGUMENTS.other))
        ) as client:
            status, _ = client.finish()
            self.assertNotEqual(status, 0)

    def test_a_name_server_ends_in_order(self):
        os.kill(self.names.process.pid, signal.SIGTERM)
        self.assertEqual(self.names.process.wait(10), 0)

    def test_its_name_is_not_on_a_command_line(self):
        self.assertRegex(self.server_name, r"^impishim://127\.0\.0\.1:\d+/[0-9a-f]{64}$")
        secret = re.sub(".*/", "", self.server_name)
        shown = command_lines()
        self.assertTrue([each for each in shown if "-name-server" in each])
        self.assertFalse([each for each in shown if secret in each])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *REST])
