# SPDX-License-Identifier: Apache-2.0
"""impirun -top: once for scripts, and in a terminal that tmux makes."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, LONG, main  # noqa: E402
from watched import PAGE, WatchedCase, marked  # noqa: E402


class Terminal:
    """A terminal of tmux, on a server of its own."""

    # A shell tells the status: tmux 3.3 does not always see that its child has ended.
    WRAPPER = 'status=$1; shift; "$@"; echo "$?" > "$status.new"; mv "$status.new" "$status"'

    def __init__(self, folder, command, environment, columns=150, rows=30):
        self.socket = str(pathlib.Path(folder) / "tmux")
        self.status = pathlib.Path(folder) / "status"
        command = ["sh", "-c", self.WRAPPER, "sh", str(self.status), *command]
        self.tmux(
            *("-f", "/dev/null", "new-session", "-d"),
            *("-x", str(columns), "-y", str(rows), *command),
            environment=environment,
        )
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def tmux(self, *words, environment=None):
        return subprocess.run(
            ["tmux", "-S", self.socket, *words],
            env=environment or os.environ,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        ).stdout

    def record(self):
        """The file that has what is written to the terminal from now on."""
        path = pathlib.Path(self.socket).with_name("written")
        self.tmux("pipe-pane", "-o", f"exec cat > {shlex.quote(str(path))}")
        return path

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def await_screen(self, condition):
        deadline = time.monotonic() + LONG
        while not condition(shown := self.screen()):
            if time.monotonic() > deadline:
                raise AssertionError(shown)
            time.sleep(0.1)
        return shown

    def await_end(self):
        """The status that the command has ended with."""
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            if self.status.exists():
                return self.status.read_text(encoding="ascii").strip()
            time.sleep(0.1)
        raise AssertionError("not over: " + self.screen())

    def end(self):
        self.tmux("kill-server")


def form_of(line):
    """The line without its numbers, and the spaces that they leave."""
    return " ".join(re.sub(r"\b\d[\d.:]*[kMGTPE]?(?= |$)", "N", line).split())


class Tops(WatchedCase):
    def once(self, *options):
        return subprocess.run(
            [ARGUMENTS.impirun, "-top", self.server, "-once", *options],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )

    def terminal(self):
        if shutil.which("tmux") is None:
            raise unittest.SkipTest("tmux is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        terminal = Terminal(folder.name, [ARGUMENTS.impirun, "-top", self.server], self.environment)
        self.addCleanup(terminal.end)
        return terminal

    def test_once_has_the_rates_of_a_job_that_moves(self):
        self.start("not")
        deadline = time.monotonic() + LONG
        # A process is asked as soon as it has called the server, which may be after MPI_Init.
        while True:
            asked = self.once("-json")
            self.assertEqual((asked.returncode, asked.stderr), (0, ""))
            answer = json.loads(asked.stdout)
            if sum("sent_bytes_per_second" in each for each in answer["processes"]) == 4:
                break
            self.assertLess(time.monotonic(), deadline, asked.stdout)
        self.assertEqual(answer["size"], 4)
        rates = {(pair["from"], pair["to"]): pair for pair in answer["pairs"]}
        self.assertEqual(set(rates), {(0, 1), (1, 0)})
        for pair in rates.values():
            # Each message has a header of 128 bytes.
            self.assertGreater(pair["bytes_per_second"], 128 * pair["packets_per_second"])
            self.assertGreater(pair["packets_per_second"], 0)
        for process in answer["processes"]:
            self.assertGreater(process["counters"]["resident_bytes"], 1 << 20)
            # Each rank sends to the next one: every second one to the other system.
            way = "sent" if process["rank"] % 2 else "received"
            self.assertGreater(process[f"messages_{way}_per_second"], 0)

    def test_once_names_what_ranks_wait_for(self):
        self.start("cycle")
        deadline = time.monotonic() + LONG
        while not (
            waits := [
                process["waits"]
                for process in json.loads(self.once("-json").stdout)["processes"]
                if process["rank"] == 1 and "waits" in process
            ]
        ):
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(waits[0]["text"], "MPI_Recv on world, from rank 2 with tag 7")
        text = self.once().stdout
        self.assertRegex(text, r"(?m)^    1   0 .* s in MPI_Recv on world, from rank 2 with tag 7$")
        self.assertRegex(text, r"(?m)^from 0 +- +0$")

    def test_the_transcript_of_the_documentation(self):
        ((_, command, expected),) = marked(PAGE, "tests/see/top_test.py runs this")
        self.assertRegex(command, r"^IMPI_AUTH_KEY_FILE=\S+ impirun -top 127\.0\.0\.1:\d+ -once$")
        self.start("late")
        deadline = time.monotonic() + LONG
        while (text := self.once().stdout).count(" in MPI_Barrier") < 3 or "4 of 4" not in text:
            self.assertLess(time.monotonic(), deadline)
        host = socket.gethostname()[:12]
        self.assertEqual(
            [form_of(line.replace(host, "node1", 1)) for line in text.splitlines()],
            [form_of(line) for line in expected],
        )

    def test_the_screen_is_drawn_again_until_q(self):
        self.start("cycle")
        terminal = self.terminal()
        pattern = re.compile(
            r"^ +2 +1 .* (\d+)\.\d s in MPI_Recv on world, from rank 3", re.MULTILINE
        )
        written = terminal.record()
        first = terminal.await_screen(pattern.search)
        seconds = int(pattern.search(first)[1])
        later = terminal.await_screen(
            lambda shown: (m := pattern.search(shown)) and int(m[1]) > seconds
        )
        self.assertEqual(
            later.splitlines()[0], f"impishim {self.server}: 4 of 4 processes in 2 systems"
        )
        self.assertEqual(len(pattern.findall(later)), 1)
        # A screen that is cleared before it is drawn flickers: each one begins at the top, and
        # clears the rest of each line behind what is new.
        terminal.await_screen(
            lambda _: written.exists() and written.read_bytes().count(b"\x1b[H") > 2
        )
        output = written.read_bytes()
        self.assertIsNone(re.search(rb"\x1b\[[123]J|\x1b\[2K|\x1bc", output))
        terminal.tmux("send-keys", "q")
        self.assertEqual(terminal.await_end(), "0")

    def test_a_small_screen_shows_what_fits(self):
        self.start("cycle")
        terminal = self.terminal()
        terminal.await_screen(lambda shown: "MPI_Recv" in shown)
        terminal.tmux("resize-window", "-x", "60", "-y", "6")
        shown = terminal.await_screen(lambda shown: "MPI_Recv" not in shown and "from 0" in shown)
        self.assertTrue(all(len(line) <= 60 for line in shown.splitlines()))

    def test_the_end_of_the_job_ends_it(self):
        run = self.start("cycle")
        terminal = self.terminal()
        terminal.await_screen(lambda shown: "4 of 4 processes" in shown)
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(terminal.await_end(), "1")
        # tmux moves the screen up by its own line.
        self.assertIn("impirun: ", terminal.tmux("capture-pane", "-p", "-S", "-5"))

    def test_without_a_terminal_it_says_so(self):
        self.start("cycle")
        asked = subprocess.run(
            [ARGUMENTS.impirun, "-top", self.server],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )
        self.assertEqual((asked.returncode, asked.stdout), (2, ""))
        self.assertIn("-top needs a terminal", asked.stderr)


if __name__ == "__main__":
    main()
