# SPDX-License-Identifier: Apache-2.0
"""The job's key: on no command line, in no file that others can read, and from no variable of a
caller with fewer rights.

What other users see is read as another user; without root that part is left out. """

import contextlib
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, Case, Run, Server, impirun, main  # noqa: E402

KEY = "7301925846197302845"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
# Prints what the user who runs it can read of these processes: command lines and environments.
READER = (
    "import sys\nfor process in sys.argv[1:]:\n  for name in ('cmdline', 'environ'):\n    try:\n"
    "      print(open(f'/proc/{process}/{name}', 'rb').read())\n    except OSError:\n      pass\n"
)


class KeyTest(Case):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)
        self.folder = pathlib.Path(self.resources.enter_context(tempfile.TemporaryDirectory()))

    def start(self, *words, **environment):
        return self.resources.enter_context(impirun(*words, **environment))

    def wrapper(self):
        """A launcher of which nothing is known, and which does not pass the key on."""
        path = self.folder / "mpiexec"
        path.write_text(
            f'#!/bin/sh\nunset IMPI_AUTH_KEY\nexec {ARGUMENTS.mpiexec} "$@"\n', encoding="ascii"
        )
        path.chmod(0o755)
        return str(path)

    def keys_of(self, processes):
        """What the processes' environments hold in IMPI_AUTH_KEY."""
        keys = set()
        for process in processes:
            variables = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            keys |= {
                each.partition(b"=")[2] for each in variables if each.startswith(b"IMPI_AUTH_KEY=")
            }
        return keys

    def hidden(self, run, ranks, key=None):
        """While `ranks` processes of the program wait, no command line of the run has the key, and
        others cannot read it."""
        run.await_times("out", "ready", ranks)
        processes = run.processes()
        self.assertGreater(len(processes), ranks, run)
        lines = [pathlib.Path(f"/proc/{process}/cmdline").read_bytes() for process in processes]
        keys = {key.encode()} if key else self.keys_of(processes)
        self.assertEqual(len(keys), 1, run)
        for line in lines:
            self.assertNotIn(b"AUTH_KEY=", line)
            self.assertNotIn(next(iter(keys)), line)
        if os.geteuid() == 0 and shutil.which("setpriv"):
            read = subprocess.run(
                [*NOBODY, sys.executable, "-I", "-c", READER, *map(str, processes)],
                check=True,
                capture_output=True,
                timeout=30,
                env={"PATH": os.environ["PATH"]},
            ).stdout
            self.assertIn(os.path.basename(ARGUMENTS.program).encode(), read)
            self.assertNotIn(next(iter(keys)), read)
        return b"\0".join(lines).decode()

    def files_in(self, text):
        return {pathlib.Path(each) for each in re.findall(r"IMPI_AUTH_KEY_FILE=([^\0]+)", text)}

    def test_local_form(self):
        section = ["-np", 1, ARGUMENTS.program, "wait"]
        for words in (
            [*section, ":", *section],
            ["-systems", 2, "-n", 2, ARGUMENTS.program, "wait"],
        ):
            run = self.start(*words)
            self.hidden(run, 2)
            run.process.send_signal(signal.SIGTERM)
            run.end()

    def test_local_form_by_an_unknown_launcher(self):
        section = ["-np", 1, ARGUMENTS.program, "wait"]
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        run = self.start(
            *section,
            ":",
            *section,
            IMPISHIM_MPIEXEC=self.wrapper(),
            TMPDIR=str(self.folder),
            **as_root,
        )
        run.await_times("out", "ready", 2)
        text = b"\0".join(
            pathlib.Path(f"/proc/{each}/cmdline").read_bytes() for each in run.processes()
        ).decode()
        files = self.files_in(text)
        self.assertEqual(len(files), 1, text)
        self.assertEqual(stat.S_IMODE(next(iter(files)).stat().st_mode), 0o600)
        self.assertNotIn("AUTH_KEY=", text)
        self.assertNotIn(next(iter(files)).read_text(encoding="ascii").strip(), text)
        run.process.send_signal(signal.SIGTERM)
        run.end()
        self.assertFalse(next(iter(files)).exists())

    def client(self, server, *words, **environment):
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return self.start("-client", 0, server.address, *words, **as_root, **environment)

    def as_client(self, *words, **environment):
        """The client's command lines while its only rank waits; files for the key are named in
        them."""
        server = self.resources.enter_context(Server(1, IMPI_AUTH_KEY=KEY))
        run = self.client(server, *words, ARGUMENTS.program, "wait", **environment)
        text = self.hidden(run, 1, KEY)
        for file in self.files_in(text):
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
            self.assertEqual(file.read_text(encoding="ascii").strip(), KEY)
        run.process.send_signal(signal.SIGTERM)
        self.expect(run, 128 + signal.SIGTERM)
        self.assertEqual(server.end(), 1, server)
        return self.files_in(text)

    def test_client_form(self):
        self.assertEqual(self.as_client("-np", 1, IMPI_AUTH_KEY=KEY), set())

    def test_client_form_by_its_own_launcher(self):
        self.assertEqual(self.as_client("--", ARGUMENTS.mpiexec, "-n", 1, IMPI_AUTH_KEY=KEY), set())

    def test_client_form_by_an_unknown_launcher(self):
        """It drops the key: the file alone brings it to the rank."""
        files = self.as_client(
            "--", self.wrapper(), "-n", 1, IMPI_AUTH_KEY=KEY, HOME=str(self.folder)
        )
        self.assertEqual([file.parent for file in files], [self.folder])
        self.assertFalse(any(file.exists() for file in files), "it is removed at the end")

    def test_key_of_a_file(self):
        path = self.folder / "key"
        made = self.expect(self.start("-new-key"), 0)
        self.assertRegex(made.out, r"^\d+$")
        self.assertLess(int(made.out), 1 << 64)
        self.assertNotEqual(made.out, self.expect(self.start("-new-key"), 0).out)
        path.write_text(KEY + "\n", encoding="ascii")
        path.chmod(0o600)
        self.assertEqual(self.as_client("-np", 1, IMPI_AUTH_KEY_FILE=str(path)), set())
        self.assertEqual(
            self.as_client("--", self.wrapper(), "-n", 1, IMPI_AUTH_KEY_FILE=str(path)), {path}
        )
        self.assertTrue(path.exists(), "it is the user's")

    def test_status_of_a_killed_rank(self):
        """The client form's, whatever the launcher makes of it."""
        for words in (["-np", 2], ["--", ARGUMENTS.mpiexec, "-n", 2]):
            for number in (signal.SIGKILL, signal.SIGABRT):
                server = self.resources.enter_context(Server(1, IMPI_AUTH_KEY=KEY))
                self.expect(
                    self.client(
                        server, *words, ARGUMENTS.program, "raise", int(number), IMPI_AUTH_KEY=KEY
                    ),
                    128 + number,
                )
                self.assertEqual(server.end(), 1, server)

    def test_lines_of_a_client_stay_whole(self):
        server = self.resources.enter_context(Server(1, IMPI_AUTH_KEY=KEY))
        run = self.expect(
            self.client(server, "-np", 4, ARGUMENTS.program, "lines", 1000, IMPI_AUTH_KEY=KEY), 0
        )
        self.assertEqual(
            sorted(run.lines["out"]),
            [
                f"rank {rank} line {i:06}, which is long enough to be taken apart <{rank}>"
                for rank in range(4)
                for i in range(1000)
            ],
        )
        self.assertEqual(run.err, "")
        self.expect(server, 0)

    def test_program_with_more_rights_takes_no_variables(self):
        """Variables of a caller do not reach a program that has other rights than the caller."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root")
        program = self.folder / "impirun"
        shutil.copy(ARGUMENTS.impirun, program)
        program.chmod(0o4755)
        self.folder.chmod(0o755)
        with Run(*NOBODY, program, "-server", 1, IMPI_AUTH_KEY=KEY) as run:
            self.expect(run, 2)
            self.assertIn("no authentication method available", run.err)


if __name__ == "__main__":
    main()
