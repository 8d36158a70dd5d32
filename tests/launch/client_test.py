# SPDX-License-Identifier: Apache-2.0
"""impirun -client with real MPI programs, and the server that they meet at."""

import contextlib
import os
import pathlib
import signal
import tempfile

from support import ARGUMENTS, Case, Client, Server, impirun, main, whole_lines

KEY = {"IMPI_AUTH_KEY": "99"}


class ClientTest(Case):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)

    def server(self, clients):
        return self.resources.enter_context(Server(clients, **KEY))

    def client(self, number, server, *words, **environment):
        return self.resources.enter_context(
            impirun("-client", number, server.address, *words, **{**KEY, **environment})
        )

    def pair(self, server, *words):
        """System 0 by its MPI's mpiexec, system 1 by a launcher of its own."""
        launcher = ["--", ARGUMENTS.mpiexec, "-n", 2, ARGUMENTS.program, *words]
        return self.client(0, server, "-np", 1, ARGUMENTS.program, *words), self.client(
            1, server, *launcher
        )

    def test_two_systems_join(self):
        server = self.server(2)
        first, second = self.pair(server, "hello", "-np", "--", "two words")
        self.expect(first, 0)
        self.expect(second, 0)
        tail = "[-np] [--] [two words]"
        self.assertEqual(first.lines["out"], [f"rank 0 of 3 {tail}"])
        self.assertEqual(whole_lines(second.out), [f"rank {rank} of 3 {tail}" for rank in (1, 2)])
        self.assertEqual(first.lines["err"], ["error output of rank 0"])
        self.expect(server, 0)

    def test_status_of_the_program(self):
        server = self.server(2)
        first, second = self.pair(server, "status", 7)
        self.expect(first, 7)
        self.expect(second, 7)
        self.expect(server, 0)

    def test_program_is_its_own_launcher(self):
        server = self.server(1)
        alone = self.client(0, server, "--", ARGUMENTS.program, "hello", "a")
        self.expect(alone, 0)
        self.assertEqual(alone.lines["out"], ["rank 0 of 1 [a]"])
        self.expect(server, 0)

    def test_library_reaches_the_program_only(self):
        """Neither the launcher nor what it starts besides the program is preloaded."""
        with tempfile.TemporaryDirectory() as folder:
            launcher = pathlib.Path(folder) / "mpiexec"
            launcher.write_text(
                f'#!/bin/sh\necho "preloaded: $LD_PRELOAD"\nexec {ARGUMENTS.mpiexec} "$@"\n',
                encoding="ascii",
            )
            launcher.chmod(0o755)
            server = self.server(1)
            alone = self.client(
                0, server, "-np", 1, ARGUMENTS.program, IMPISHIM_MPIEXEC=str(launcher)
            )
            self.expect(alone, 0)
            self.assertEqual(alone.lines["out"], ["preloaded: ", "rank 0 of 1"])
            self.expect(server, 0)

    def turned_away(self, number, reason, server, **environment):
        """The program does not start its work; the server and its job go on."""
        with impirun(
            "-client", number, server.address, "-np", 2, ARGUMENTS.program, **(environment or KEY)
        ) as run:
            self.assertNotEqual(run.end(), 0, run)
            self.assertIn(f"impishim: rendezvous server: {reason}", run.err)
            self.assertEqual(run.err.count(reason), 1, run)
            self.assertEqual(run.out, "")

    def test_wrong_key(self):
        server = self.server(1)
        self.turned_away(0, "wrong authentication key (IMPI_AUTH_KEY)", server, IMPI_AUTH_KEY="98")
        server.await_line(
            "err", ": wrong authentication key (IMPI_AUTH_KEY)"
        )  # further strangers of this minute share a line
        self.turned_away(0, "no authentication method in common", server, IMPI_AUTH_NONE="")
        self.expect(self.client(0, server, "-np", 1, ARGUMENTS.program), 0)
        self.expect(server, 0)

    def test_client_number_out_of_range(self):
        server = self.server(1)
        self.turned_away(1, "system 1 does not exist: this job has systems 0 to 0", server)
        server.await_line("err", ": system 1 does not exist")
        self.expect(self.client(0, server, "-np", 1, ARGUMENTS.program), 0)
        self.expect(server, 0)

    def test_client_number_taken_twice(self):
        server = self.server(2)
        first = self.client(0, server, "-np", 1, ARGUMENTS.program)
        server.await_line("err", "1 of 2")
        self.turned_away(0, "system 0 has joined already, from ", server)
        server.await_line("err", ": system 0 has joined already, from ")
        second = self.client(1, server, "-np", 1, ARGUMENTS.program)
        for run in (first, second, server):
            self.expect(run, 0)

    def test_garbage_does_not_disturb_a_job(self):
        server = self.server(2)
        first = self.client(0, server, "-np", 1, ARGUMENTS.program)
        server.await_line("err", "1 of 2")
        with Client(server) as stranger:
            stranger.socket.sendall(b"GET / HTTP/1.0\r\n\r\n")
            self.assertIn("it does not speak IMPI", stranger.reason())
        second = self.client(1, server, "-np", 1, ARGUMENTS.program)
        for run in (first, second, server):
            self.expect(run, 0)
        self.assertIn(f"turned away {stranger.name}: it does not speak IMPI", server.err)

    def kill_a_rank(self, run):
        """kill -9 to one process of the program, which is known by its executable."""
        program = os.path.realpath(ARGUMENTS.program)
        ranks = [
            process
            for process in run.processes()
            if os.path.realpath(f"/proc/{process}/exe") == program
        ]
        self.assertTrue(ranks, run)
        os.kill(max(ranks), signal.SIGKILL)

    def test_lost_client_is_named(self):
        server = self.server(2)
        first, second = self.pair(server, "wait")
        for run in (first, second):
            run.await_line("out", "ready")
        self.kill_a_rank(first)
        self.assertNotEqual(first.end(), 0, first)
        self.assertNotEqual(second.end(), 0, second)
        self.expect(server, 1)
        self.assertRegex(
            server.lines["err"][-1],
            r"^impirun: system [01] at [0-9.]+ port \d+ was lost: its connection ended",
        )
        self.assertRegex(second.err, r"impishim: rank \d+: .*host 0\b")

    def never_joined(self, status, *words):
        """System 1 ends without joining while system 0 waits: all are told at once, and system 1
        has that status."""
        server = self.server(2)
        first = self.client(0, server, "-np", 1, ARGUMENTS.program)
        server.await_line("err", "1 of 2")
        second = self.client(1, server, *words)
        self.expect(second, status)
        self.assertEqual(
            second.err.count(
                "impirun: system 1 ended before it had joined, and the server has been told"
            ),
            1,
            second,
        )
        self.assertNotEqual(first.end(), 0, first)
        self.assertIn("impishim: rendezvous server: system 1 ended before it had joined", first.err)
        self.expect(server, 1)
        self.assertEqual(
            server.lines["err"][-1].count("system 1 ended before it had joined; 1 of 2"), 1, server
        )

    def test_program_that_never_joins(self):
        """With a good status of its own, which does not stay."""
        self.never_joined(
            1,
            "-mpi",
            "openmpi" if "openmpi" in ARGUMENTS.program else "mpich",
            "-np",
            1,
            "/bin/true",
        )

    def test_own_launcher_that_never_starts_the_program(self):
        """With a status of its own, which stays."""
        with tempfile.TemporaryDirectory() as folder:
            launcher = pathlib.Path(folder) / "launcher"
            launcher.write_text("#!/bin/sh\nexit 5\n", encoding="ascii")
            launcher.chmod(0o755)
            self.never_joined(5, "--", launcher, ARGUMENTS.program)

    def test_all_clients_never_join(self):
        server = self.server(1)
        alone = self.client(0, server, "--", ARGUMENTS.program, "exit_early", 0)
        self.expect(alone, 1)
        self.assertIn("impirun: system 0 ended before it had joined", alone.err)
        self.expect(server, 1)
        self.assertIn("impirun: no program has joined", server.err)

    def test_client_that_joined_and_left(self):
        """It is no client that never joined: its place is free, and the others wait for the next
        one."""
        server = self.server(2)
        first = self.client(0, server, "-np", 1, ARGUMENTS.program)
        server.await_line("err", "1 of 2")
        self.kill_a_rank(first)
        self.assertNotEqual(first.end(), 0, first)
        self.assertNotIn("before it had joined", first.err)
        for run in [self.client(number, server, "-np", 1, ARGUMENTS.program) for number in (0, 1)]:
            self.expect(run, 0)
        self.expect(server, 0)

    def test_server_that_ends_early(self):
        """A job that has not begun ends with its server."""
        server = self.server(2)
        first = self.client(0, server, "-np", 1, ARGUMENTS.program)
        server.await_line("err", "1 of 2")
        server.process.kill()
        self.assertNotEqual(first.end(), 0, first)
        self.assertIn("impishim: rendezvous server: it disconnected", first.err)


if __name__ == "__main__":
    main()
