# SPDX-License-Identifier: Apache-2.0
"""The statistics of a program whose messages are known: every count and every byte."""

import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import Case, impirun, main  # noqa: E402
from watched import two_systems  # noqa: E402

MEGABYTE = 1 << 20


def expected_traffic(rank):
    """What programs/traffic.cpp sends: receiver -> messages, bytes."""
    sent = {peer: [3, 300] for peer in range(4) if peer != rank}

    def add(peer, messages, size):
        sent[peer][0] += messages
        sent[peer][1] += messages * size

    add((rank + 1) % 4, 1, 7 * 8)
    add((rank + 2) % 4, 6, 1000)
    if rank % 2 == 0:
        add(rank + 1, 1, MEGABYTE)
    return {str(peer): counts for peer, counts in sent.items()}


class Traffics(Case):
    def statistics_of(self, *words, **variables):
        with tempfile.TemporaryDirectory() as name:
            prefix = pathlib.Path(name) / "stats"
            with impirun(*two_systems(*words), IMPISHIM_STATS=str(prefix), **variables) as run:
                self.expect(run, 0)
            return [
                json.loads(pathlib.Path(f"{prefix}.{rank}.json").read_text(encoding="utf-8"))
                for rank in range(4)
            ]

    def calls_of(self, process, scope):
        return {
            each["name"]: each[scope]["calls"] for each in process["functions"] if scope in each
        }

    def check_traffic(self, processes):
        for rank, process in enumerate(processes):
            self.assertEqual(process["impishim_statistics"], 1)
            self.assertEqual(process["rank"], rank)
            self.assertEqual(process["size"], 4)
            self.assertEqual(process["system"], rank // 2)
            self.assertEqual(process["sent"], expected_traffic(rank))
        self.assertEqual(len({process["job"] for process in processes}), 1)

    def test_every_message_is_counted(self):
        processes = self.statistics_of()
        self.check_traffic(processes)
        for rank, process in enumerate(processes):
            inside, between = (
                process["message_bytes"]["inside"],
                process["message_bytes"]["between"],
            )
            total = sum(inside) + sum(between)
            self.assertEqual(total, sum(counts[0] for counts in process["sent"].values()))
            self.assertEqual(between[10], 6)  # 1000 bytes
            self.assertEqual(inside[7], 3)  # 100 bytes
            self.assertEqual(between[7], 6)
            self.assertEqual(inside[21:], [1] if rank % 2 == 0 else [])  # 2^20 bytes

    def test_batches_and_answers(self):
        for process in self.statistics_of("long", IMPISHIM_HOST_PROCS="1"):
            batches = process["batch_bytes"]["between"]
            # A call that finds no room hands nothing over.
            self.assertLessEqual(sum(batches), process["counters"]["remote_send_calls"])
            least = sum(count << max(i - 1, 0) for i, count in enumerate(batches))
            sent = process["sent_remote_origin"]["bytes"]
            self.assertLessEqual(least, sent)
            self.assertGreater(2 * least, sent)
            self.assertEqual(process["batch_bytes"]["inside"], [])
            self.assertEqual(sum(process["answer_ns"]), 3)

    def test_calls_are_inside_or_between(self):
        for rank, process in enumerate(self.statistics_of()):
            inside = self.calls_of(process, "inside")
            between = self.calls_of(process, "between")
            self.assertEqual((inside["MPI_Isend"], between["MPI_Isend"]), (3, 6))
            self.assertEqual((inside["MPI_Irecv"], between["MPI_Irecv"]), (3, 6))
            self.assertEqual(inside["MPI_Barrier"], 4)
            self.assertEqual(between["MPI_Allreduce"], 10)
            self.assertNotIn("MPI_Allreduce", inside)
            self.assertEqual(between["MPI_Sendrecv"], 1)
            self.assertEqual((between["MPI_Start"], between["MPI_Recv"]), (6, 5))
            self.assertEqual(inside["MPI_Send" if rank % 2 == 0 else "MPI_Recv"], 1)
            self.assertEqual(list(process["waited_ns"]), [str(1 - rank // 2)])

    def test_times_fit_the_run(self):
        for rank, process in enumerate(self.statistics_of("late")):
            in_calls = sum(
                each[scope]["ns"]
                for each in process["functions"]
                for scope in ("inside", "between", "other")
                if scope in each
            )
            in_bins = sum(sum(times) for times, _ in process["time_line"]["bins"])
            self.assertEqual(in_bins, in_calls)
            self.assertLessEqual(in_calls, process["elapsed_ns"])
            late = next(each for each in process["functions"] if each["name"] == "MPI_Allreduce")
            self.assertEqual(sum(late["between"]["durations"]), 10)
            if rank // 2 == 1:  # waits each time for 20 ms, but for what its own lateness takes
                self.assertGreater(late["between"]["ns"], 100e6)

    def test_a_job_that_is_asked_has_the_same_statistics(self):
        self.check_traffic(self.statistics_of(IMPISHIM_MONITOR="on"))


if __name__ == "__main__":
    main()
