# SPDX-License-Identifier: Apache-2.0
"""IMPISHIM_METRICS: the numbers of a job in the text format of Prometheus, which is checked
strictly; served by the job itself, and by impirun -metrics."""

import pathlib
import re
import signal
import socket
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import (
    ARGUMENTS,
    LONG,
    NOHUP,
    Run,
    Server,
    blocked_signals,
    impirun,
    main,
)  # noqa: E402
from watched import WatchedCase, two_systems  # noqa: E402

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\d+(?:\.\d+)?(?:e[+-]\d+)?)")
# Prometheus' conventions: base units in the plural, and _total behind counters.
UNITS = re.compile(
    r"_(bytes|seconds|messages|packets|processes|receives|sends|stalls|sent|received)$"
)


def check(text):
    """Reads the format of Prometheus; the samples: (name, labels) -> value."""
    assert text.endswith("\n")
    samples, types, helps, current = {}, {}, set(), None
    for line in text[:-1].split("\n"):
        if match := re.fullmatch(rf"# HELP ({NAME}) (\S.*)", line):
            assert match[1] not in helps, line
            helps.add(match[1])
            current = match[1]
        elif match := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge)", line):
            assert match[1] == current and match[1] not in types, line
            types[match[1]] = match[2]
            assert (match[2] == "counter") == match[1].endswith("_total"), line
            assert UNITS.search(match[1].removesuffix("_total")), line
            assert match[1].startswith("impishim_"), line
        else:
            match = SAMPLE.fullmatch(line)
            # The samples of a name stand together, behind its type.
            assert match and match[1] == current and match[1] in types, line
            labels = tuple(sorted(re.findall(LABEL, match[2] or "")))
            assert len({label.split("=")[0] for label in labels}) == len(labels), line
            assert (match[1], labels) not in samples, line
            samples[match[1], labels] = float(match[3])
    assert helps == set(types)
    return samples


class Metricss(WatchedCase):
    def serve(self, place, through=()):
        """Starts a job, and `impirun -metrics` for it, by the words `through`."""
        self.start("not")
        key = {"IMPI_AUTH_KEY_FILE": self.key, "IMPISHIM_METRICS": place}
        metrics = self.begin(Run(*through, ARGUMENTS.impirun, "-metrics", self.server, **key))
        self.url = metrics.await_line("out", "http://")
        return metrics

    def free_port(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            return server.getsockname()[1]

    def read(self, url):
        return urllib.request.urlopen(url, timeout=LONG)  # noqa: S310

    def test_the_format_is_that_of_prometheus(self):
        port = self.free_port()
        self.serve(str(port))
        self.assertEqual(self.url, f"http://127.0.0.1:{port}/metrics")
        answer = self.read(self.url)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        first = check(answer.read().decode("utf-8"))
        self.assertEqual(first["impishim_processes", ()], 4)
        self.assertEqual(first["impishim_answering_processes", ()], 4)
        second = check(self.read(self.url).read().decode("utf-8"))
        self.assertEqual(set(first), set(second))
        counters = [key for key in first if key[0].endswith("_total")]
        for key in counters:
            self.assertGreaterEqual(second[key], first[key], key)
        sent = [key for key in counters if key[0] == "impishim_connection_sent_bytes_total"]
        peers = {label for _, labels in sent for label in labels if label.startswith("peer_system")}
        self.assertEqual(peers, {'peer_system="0"', 'peer_system="1"'})

    def await_processes(self, url, count):
        """The samples, once that many processes of the job have answered."""
        deadline = time.monotonic() + LONG
        while True:
            samples = check(self.read(url).read().decode("utf-8"))
            if samples["impishim_answering_processes", ()] == count:
                return samples
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_a_job_serves_its_numbers_itself(self):
        port = self.free_port()
        run = self.begin(impirun(*two_systems("not"), IMPISHIM_METRICS=str(port)))
        told = run.await_line("err", "metrics at")
        self.assertEqual(told, f"impirun: metrics at http://127.0.0.1:{port}/metrics")
        run.await_line("out", "about to hang")
        samples = self.await_processes(told.split()[-1], 4)
        self.assertEqual(samples["impishim_processes", ()], 4)
        run.process.send_signal(signal.SIGTERM)
        run.end()
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=LONG)

    def test_a_server_serves_the_numbers_of_its_job(self):
        port = self.free_port()
        common = {"IMPI_AUTH_NONE": "1", "IMPISHIM_MONITOR": "on"}
        server = self.begin(Server(2, IMPISHIM_METRICS=str(port), **common))
        url = server.await_line("err", "metrics at").split()[-1]
        self.assertEqual(check(self.read(url).read().decode("utf-8"))["impishim_processes", ()], 0)
        for system, program in enumerate((ARGUMENTS.program, ARGUMENTS.foreign_program)):
            words = ("-client", system, server.address, "-np", 1, program, "late")
            self.begin(impirun(*words, **common))
        self.await_processes(url, 2)

    def test_a_port_in_use_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with impirun(*two_systems("not"), IMPISHIM_METRICS=str(port)) as run:
                self.expect(run, 2)
        self.assertIn(f"cannot serve metrics at 127.0.0.1 port {port}: Address already", run.err)
        self.assertEqual(run.out, "")

    def test_processes_that_may_not_answer_are_named(self):
        variables = {"IMPISHIM_METRICS": str(self.free_port()), "IMPISHIM_MONITOR": "off"}
        with impirun(*two_systems("not"), **variables) as run:
            self.expect(run, 2)
        self.assertIn("IMPISHIM_METRICS has no numbers with IMPISHIM_MONITOR=off", run.err)
        self.assertEqual(run.out, "")

    def test_wrong_requests_are_refused(self):
        metrics = self.serve(str(port := self.free_port()))
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.read(f"http://127.0.0.1:{port}/")
        self.assertEqual(refused.exception.code, 404)
        with socket.create_connection(("127.0.0.1", port), timeout=LONG) as raw:
            raw.sendall(b"GET /metrics HTTP/1.1\nHost: a\n\nGET / HTTP/1.1\r\n\r\n")
            self.assertTrue(raw.recv(4096).startswith(b"HTTP/1.1 400 Bad Request\r\n"))
        # Others are answered while one connection says nothing.
        with socket.create_connection(("127.0.0.1", port), timeout=LONG):
            check(self.read(self.url).read().decode("utf-8"))
        metrics.process.send_signal(signal.SIGTERM)
        self.assertEqual(metrics.end(), 0)

    def test_ignored_signals_stay_ignored(self):
        metrics = self.serve(str(self.free_port()), through=NOHUP)
        self.assertEqual(blocked_signals(metrics), {signal.SIGINT, signal.SIGTERM})
        metrics.process.send_signal(signal.SIGHUP)
        check(self.read(self.url).read().decode("utf-8"))
        metrics.process.send_signal(signal.SIGTERM)
        self.assertEqual(metrics.end(), 0)

    def test_a_wrong_place_is_named(self):
        for place in ("", "0", "port", "70000", "nowhere.invalid:1"):
            environment = {"IMPISHIM_METRICS": place, "IMPI_AUTH_NONE": "1"}
            with Run(ARGUMENTS.impirun, "-metrics", "127.0.0.1:1", **environment) as run:
                self.assertIn(run.end(), (1, 2))
            self.assertTrue(run.err.startswith("impirun: "), run.err)
            self.assertEqual(run.out, "")


if __name__ == "__main__":
    main()
