# SPDX-License-Identifier: Apache-2.0
"""impirun -why: programs that hang, over two systems and inside one, and what is said of them."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, LONG, main  # noqa: E402
from watched import PAGE, WatchedCase, marked  # noqa: E402

STUCK = 3


class Whys(WatchedCase):
    def ask(self, *options, key=None, **variables):
        return subprocess.run(
            [ARGUMENTS.impirun, "-why", self.server, *options],
            env={**self.environment, "IMPI_AUTH_KEY_FILE": key or self.key, **variables},
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )

    def await_answer(self, condition):
        """Asks until the answer fulfils the condition: calls count from their first second on. The
        answer, and the text that a person gets then."""
        deadline = time.monotonic() + LONG
        while True:
            asked = self.ask("-json")
            self.assertEqual(asked.stderr, "")
            answer = json.loads(asked.stdout)
            if condition(answer):
                self.assertEqual(asked.returncode, STUCK if answer["stuck"] else 0)
                return answer, self.ask().stdout
            if time.monotonic() > deadline:
                self.fail(asked.stdout)
            time.sleep(0.2)

    def test_a_cycle_over_two_systems(self):
        self.start("cycle")
        answer, text = self.await_answer(lambda a: a["cycles"])
        self.assertEqual(answer["cycles"], [{"ranks": [0, 1, 2, 3], "certain": True}])
        self.assertEqual(answer["mismatches"], [])
        self.assertIn("deadlock: ranks 0-3 wait for each other in a cycle\n", text)
        for rank in range(4):
            peer = (rank + 1) % 4
            self.assertIn(
                f"  rank {rank} waits for rank {peer}, in MPI_Recv on world, from rank {peer} with "
                "tag 7\n",
                text,
            )

    def test_collectives_that_do_not_fit(self):
        self.start("mismatch")
        answer, text = self.await_answer(lambda a: a["mismatches"])
        self.assertEqual(len(answer["mismatches"]), 1)
        self.assertIn(
            "mismatch in collective 2 on dup of world: ranks 0-2 in MPI_Allreduce, rank 3 in "
            "MPI_Bcast\n",
            text,
        )

    def test_the_transcript_of_the_documentation(self):
        ((_, command, expected),) = marked(PAGE, "tests/see/why_test.py runs this")
        self.assertRegex(command, r"^IMPI_AUTH_KEY_FILE=\S+ impirun -why 127\.0\.0\.1:\d+$")
        self.start("mismatch")
        _, text = self.await_answer(lambda a: a["mismatches"])
        without_times = [re.sub(r"\d+\.\d (to \d+\.\d )?s$", "", line) for line in expected]
        self.assertEqual(
            [re.sub(r"\d+\.\d (to \d+\.\d )?s$", "", line) for line in text.splitlines()],
            without_times,
        )

    def test_a_cycle_inside_a_system(self):
        self.start("inside")
        answer, text = self.await_answer(lambda a: a["cycles"] and a["late"])
        self.assertEqual(answer["cycles"], [{"ranks": [0, 1], "certain": True}])
        self.assertEqual(answer["behind"], [[2, 3]])
        self.assertIn(
            "MPI_Barrier on world, collective 2: begun by ranks 2-3, awaited: ranks 0-1\n", text
        )

    def test_receives_from_any_source(self):
        self.start("wildcard")
        answer, text = self.await_answer(lambda a: a["cycles"])
        self.assertTrue(answer["cycles"][0]["certain"])
        self.assertIn("ranks 0-3: MPI_Recv on world, from any rank with any tag, ", text)

    def test_a_rank_that_computes(self):
        self.start("late")
        answer, text = self.await_answer(lambda a: a["late"])
        self.assertFalse(answer["stuck"])
        self.assertEqual(answer["late"][0]["late"], [[3, 3]])
        self.assertIn("rank 3: outside of MPI since MPI_Barrier, ", text)
        self.assertIn("no deadlock is seen\n", text)

    def test_requests_are_named(self):
        self.start("requests")
        answer, text = self.await_answer(lambda a: a["cycles"])
        self.assertFalse(answer["cycles"][0]["certain"])
        self.assertIn("possible deadlock: ", text)
        self.assertRegex(
            text,
            "rank 1: MPI_Waitall, for: MPI_Irecv on world, from rank 2 with tag 5; MPI_Irecv on "
            "world, from rank 0 with tag 6; MPI_Issend on world, to rank 2 with tag 7; MPI_Issend",
        )

    def test_a_rank_that_does_not_come_to_finalize(self):
        self.start("finalize")
        answer, _ = self.await_answer(lambda a: a["cycles"])
        self.assertEqual({len(cycle["ranks"]) for cycle in answer["cycles"]}, {2})
        calls = [process["calls"][0]["function"] for process in answer["processes"]]
        self.assertEqual(calls, ["MPI_Recv"] + 3 * ["MPI_Finalize"])

    def test_a_job_that_moves_is_not_accused(self):
        self.start("not")
        for _ in range(10):
            asked = self.ask("-json")
            answer = json.loads(asked.stdout)
            self.assertFalse(answer["stuck"], asked.stdout)
            self.assertEqual(len(answer["processes"]), 4)
            self.assertEqual(asked.returncode, 0)

    def test_a_stopped_rank_is_named(self):
        run = self.start("cycle")
        answer, _ = self.await_answer(lambda a: a["cycles"])
        stopped = answer["processes"][2]["process"]
        self.assertIn(stopped, run.processes())
        os.kill(stopped, signal.SIGSTOP)
        try:
            text = self.ask().stdout
        finally:
            os.kill(stopped, signal.SIGCONT)
        self.assertIn("no answer from rank 2: stopped, or out of reach\n", text)
        self.assertIn("3 of 4 processes have answered", text)

    def test_a_job_that_has_lost_a_system_is_asked(self):
        self.start("lost")
        answer, text = self.await_answer(lambda a: a["cycles"] and len(a["unwatched"]) == 2)
        self.assertEqual(answer["cycles"], [{"ranks": [0, 1], "certain": True}])
        self.assertEqual(answer["unwatched"], [2, 3])
        self.assertIn("ranks 2-3 cannot be asked", text)

    def test_a_wrong_key_learns_nothing(self):
        self.start("cycle")
        wrong = pathlib.Path(self.key).with_suffix(".wrong")
        wrong.write_text("17\n", encoding="ascii")
        wrong.chmod(0o600)
        try:
            asked = self.ask(key=str(wrong))
        finally:
            wrong.unlink()
        self.assertEqual((asked.returncode, asked.stdout), (1, ""))
        self.assertIn("wrong authentication key", asked.stderr)

    def test_an_encrypted_job_needs_the_secret(self):
        secret = "the secret of this job"
        self.start("cycle", IMPISHIM_SECRET=secret)
        self.assertEqual(self.ask().returncode, 1)
        asked = self.ask("-json", IMPISHIM_SECRET=secret)
        self.assertEqual(len(json.loads(asked.stdout)["processes"]), 4)
        self.assertNotIn(secret, asked.stdout + asked.stderr)

    def test_wrong_words_are_refused(self):
        for words in (["-why"], ["-why", "nowhere"], ["-why", "127.0.0.1:1", "-all"]):
            asked = subprocess.run(
                [ARGUMENTS.impirun, *words],
                env={**os.environ, "IMPI_AUTH_NONE": "1"},
                capture_output=True,
                text=True,
                timeout=LONG,
                check=False,
            )
            self.assertEqual((asked.returncode, asked.stdout), (2, ""), words)
            self.assertTrue(asked.stderr.startswith("impirun: "), asked.stderr)


if __name__ == "__main__":
    main()
