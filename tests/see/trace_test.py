# SPDX-License-Identifier: Apache-2.0
"""IMPISHIM_TRACE: the traces of programs whose messages are known, read by another program than that
which wrote them."""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from perfetto import read_trace  # noqa: E402
from support import ARGUMENTS, Case, impirun, main  # noqa: E402

SKEW_MS = 5000
EVENT_BYTES = 64


class Traces(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name) / "trace"

    def systems(self, *words, second=()):
        """Two systems of two ranks. The second one's clock is wrong by SKEW_MS."""
        skew = ("-env", "IMPISHIM_TEST_CLOCK_SKEW_MS", SKEW_MS)
        first = ("-np", 2, ARGUMENTS.program, *words)
        return (*first, ":", *skew, *second, "-np", 2, ARGUMENTS.foreign_program, *words)

    def files(self):
        return sorted(self.prefix.parent.glob("*.pftrace"))

    def trace_of(self, *words, status=0, **variables):
        """The trace of a run, by rank: the files of all ranks, one after the other."""
        with impirun(*self.systems(*words), IMPISHIM_TRACE=str(self.prefix), **variables) as run:
            self.expect(run, status)
        return read_trace(b"".join(path.read_bytes() for path in self.files()))

    def messages(self, trace):
        """Each message's packets, sent, relayed and received, in the order of time."""
        found = {}
        for process in trace.values():
            for event in process.events:
                for flow in event.flows + event.ending_flows:
                    found.setdefault(flow, []).append(event)
        return [sorted(events, key=lambda event: event.begin) for events in found.values()]

    def check_messages(self, trace, least):
        """Each message is sent by one system and received in the other one, not earlier than it was
        sent: the clocks agree."""
        messages = self.messages(trace)
        self.assertGreaterEqual(len(messages), least)
        for events in messages:
            self.assertEqual(len([each for each in events if each.ending_flows]), 1)
            received = next(each for each in events if each.ending_flows)
            sent = next(each for each in events if each.flows and each.category == "packet")
            self.assertNotEqual(sent.process.system, received.process.system)
            errors = sent.process.error + received.process.error
            self.assertGreaterEqual(received.begin - sent.begin, -errors)
            self.assertLess(received.begin - sent.begin, 1e9 * SKEW_MS / 1000 / 2)
            self.assertEqual(sent.details["rank"], received.process.rank)
            self.assertEqual(received.details["rank"], sent.process.rank)
            self.assertEqual(sent.details.get("bytes"), received.details.get("bytes"))
        return messages

    def test_calls_and_messages_between_systems(self):
        trace = self.trace_of("long", 1000)
        self.assertEqual(sorted(trace), [0, 1, 2, 3])
        for rank, process in trace.items():
            self.assertEqual(process.system, rank // 2)
            send, receive, wait = (
                process.calls(name) for name in ("MPI_Send", "MPI_Irecv", "MPI_Wait")
            )
            self.assertEqual([len(each) for each in (send, receive, wait)], [1, 1, 1])
            peer = (rank + 2) % 4
            self.assertEqual(send[0].details["rank"], peer)
            self.assertEqual(send[0].details["bytes"], 1000)
            self.assertEqual(send[0].details["communicator"], "world")
            self.assertEqual(wait[0].details["rank"], peer)
            self.assertLessEqual(send[0].end, wait[0].begin)
            data = [
                each for each in process.instants("packet") if each.details.get("bytes") == 1000
            ]
            self.assertEqual(len(data), 2)  # one sent, one received
            self.assertIs(next(each for each in data if each.flows).inside, send[0])
        self.check_messages(trace, 4)

    def test_files_are_for_their_owner_alone(self):
        self.trace_of("long", 8)
        self.assertEqual(
            [path.name for path in self.files()], [f"trace.{i}.pftrace" for i in range(4)]
        )
        for path in self.files():
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_a_long_message_has_one_flow_and_many_packets(self):
        trace = self.trace_of("long", 1 << 20)
        messages = self.check_messages(trace, 4)
        first = [events for events in messages if events[0].details.get("bytes", 0) > 60000]
        self.assertEqual(len(first), 4)
        for process in trace.values():
            sizes = [each.details.get("bytes", 0) for each in process.instants("packet")]
            self.assertEqual(sum(sizes), 2 * (1 << 20) + sum(size for size in sizes if size < 1000))

    def test_a_message_through_relays_has_its_hops(self):
        trace = self.trace_of("long", 1000, IMPISHIM_HOST_PROCS="2")
        messages = [
            events for events in self.messages(trace) if events[0].details.get("bytes") == 1000
        ]
        self.assertEqual(len(messages), 4)
        hops = sorted(len(events) for events in messages)
        self.assertEqual(hops[-1], 4)  # sent, relayed by either host's other process, received
        for events in messages:
            kinds = sorted((each.category, bool(each.ending_flows)) for each in events)
            self.assertEqual(kinds[:2], [("packet", False), ("packet", True)])
            self.assertEqual(kinds[2:], [("relay", False)] * (len(events) - 2))
            self.assertEqual(len({each.process.rank for each in events}), len(events))

    def test_waits_lie_in_their_calls(self):
        trace = self.trace_of("rounds", 50)
        for rank in (0, 2):
            calls = trace[rank].calls("MPI_Recv")
            self.assertEqual(len(calls), 50)
            inside = [each for each in trace[rank].slices("wait") if each.inside in calls]
            self.assertGreaterEqual(len(inside), 40)  # the others had nothing to wait for
            self.assertEqual(len(trace[rank].calls("MPI_Send")), 50)

    def test_the_latest_events_are_kept(self):
        rounds, most = 10000, (1 << 20) // EVENT_BYTES
        with impirun(
            *self.systems("rounds", rounds),
            IMPISHIM_TRACE=str(self.prefix),
            IMPISHIM_TRACE_SIZE="1",
        ) as run:
            self.expect(run, 0)
            said = run.err
        self.assertRegex(said, r"\d+ older events of the trace are lost: 1 MiB hold 16384")
        trace = read_trace(b"".join(path.read_bytes() for path in self.files()))
        lost = [each for each in trace[0].events if "IMPISHIM_TRACE_SIZE" in each.name]
        self.assertEqual(len(lost), 1)
        self.assertEqual(len(trace[0].events), most + 1)
        self.assertGreaterEqual(len(trace[0].calls("MPI_Send")), 1000)

    def test_threads_have_tracks(self):
        for process in self.trace_of("threads").values():
            tracks = {each.track for each in process.calls("MPI_Send")}
            self.assertEqual(len(tracks), 2)
            self.assertEqual(len(process.calls("MPI_Send")), 40)
            for track in tracks:
                self.assertRegex(process.threads[track], r"^thread \d+: ")

    def test_an_aborted_job_leaves_its_traces(self):
        trace = self.trace_of("abort", status=3)
        self.assertIn(1, trace)
        self.assertEqual(len(trace[1].calls("MPI_Send")), 1)

    def test_systems_that_lose_another_one_leave_their_traces(self):
        with impirun(*self.systems("die"), IMPISHIM_TRACE=str(self.prefix)) as run:
            self.assertNotEqual(run.end(), 0)
        trace = read_trace(b"".join(path.read_bytes() for path in self.files()))
        # A launcher may end a process before it has written.
        self.assertTrue({2, 3} & set(trace), run)
        for rank in {2, 3} & set(trace):
            self.assertEqual(len(trace[rank].calls("MPI_Send")), 1)

    def test_one_system_alone_can_be_traced(self):
        # The clocks of systems are compared only if both trace, and the other one is not waited for.
        with impirun(
            *self.systems("long", 8, second=("-env", "IMPISHIM_TRACE", self.prefix))
        ) as run:
            self.expect(run, 0)
        trace = read_trace(b"".join(path.read_bytes() for path in self.files()))
        self.assertEqual(sorted(trace), [2, 3])
        for process in trace.values():
            self.assertIsNotNone(process.error)

    def test_statistics_and_questions_beside_a_trace(self):
        stats = self.prefix.with_name("stats")
        trace = self.trace_of("long", 8, IMPISHIM_STATS=str(stats), IMPISHIM_MONITOR="on")
        self.assertEqual(len(trace[0].calls("MPI_Send")), 1)
        self.assertTrue(os.path.exists(f"{stats}.3.json"))

    def test_a_folder_that_is_missing_is_named(self):
        prefix = self.prefix.parent / "missing" / "trace"
        with impirun(*self.systems("long", 8), IMPISHIM_TRACE=str(prefix)) as run:
            self.expect(run, 0)
            said = run.err
        self.assertIn(f"cannot write the trace to {prefix}.0.pftrace (IMPISHIM_TRACE): ", said)

    def test_a_wrong_size_is_refused(self):
        with impirun(
            *self.systems("long", 8), IMPISHIM_TRACE=str(self.prefix), IMPISHIM_TRACE_SIZE="big"
        ) as run:
            self.expect(run, 1)
            said = run.err
        self.assertTrue(re.search("IMPISHIM_TRACE_SIZE=big must be a number from 1 to 65536", said))


if __name__ == "__main__":
    main()
