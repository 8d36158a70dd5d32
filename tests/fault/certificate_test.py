# SPDX-License-Identifier: Apache-2.0
"""Systems that prove themselves by certificates: who joins, and what is said to the others. Each
refusal is told at both ends, nothing hangs, and the server goes on waiting for the right ones."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from resume_test import VARIABLES, reset_again_and_again  # noqa: E402
from support import ARGUMENTS, Case, impirun, main  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MAKE = HERE.parent / "support" / "make_certificates.sh"
GUIDE = HERE.parent.parent / "docs" / "user-guide.md"
ALL_FOUR = [f"rank {rank}: system {rank // 2}, host" for rank in range(4)]


def made_certificates(folder):
    subprocess.run(["sh", MAKE, folder], check=True)
    return pathlib.Path(folder)


class Certified(Case):
    def setUp(self):
        resources = contextlib.ExitStack()
        self.addCleanup(resources.close)
        self.resources = resources
        self.folder = pathlib.Path(resources.enter_context(tempfile.TemporaryDirectory()))

    def files(self, name, authority="authority", **others):
        return {
            "IMPISHIM_CERTIFICATE": str(self.folder / f"{name}.pem"),
            "IMPISHIM_PRIVATE_KEY": str(self.folder / f"{name}.key"),
            "IMPISHIM_AUTHORITY": str(self.folder / f"{authority}.pem"),
            **others,
        }

    def serve(self, *words, **environment):
        server = self.resources.enter_context(impirun("-server", "2", *words, **environment))
        # Before its context ends, which would wait for it.
        self.addCleanup(lambda: server.process.poll() is None and server.process.terminate())
        port = server.await_line("out", ":").rsplit(":", 1)[1]
        return server, f"127.0.0.1:{port}"

    def system(self, number, address, program, **environment):
        return self.resources.enter_context(
            impirun("-client", str(number), address, "-np", "2", program, **environment)
        )

    def joins(self, server, address, *environments):
        """Systems of two MPI libraries, if there are two, join."""
        programs = (ARGUMENTS.program, ARGUMENTS.foreign_program)
        systems = [
            self.system(number, address, programs[number], **environment)
            for number, environment in enumerate(environments)
        ]
        for run in (*systems, server):
            self.expect(run, 0)
            self.assertNotIn("impishim:", run.err)
        for line in ALL_FOUR:
            self.assertIn(line, systems[0].out)


class Certificates(Certified):
    def setUp(self):
        super().setUp()
        made_certificates(self.folder)

    def test_two_systems_join(self):
        server, address = self.serve(**self.files("server"))
        self.joins(server, address, self.files("system"), self.files("server"))
        # On a slow machine it tells who has joined.
        self.assertNotIn("turned away", server.err)

    def test_gateways(self):
        """Ranks 1 and 3 reach the other system through the first ranks of their systems."""
        server, address = self.serve(**self.files("server"))
        gateway = {"IMPISHIM_GATEWAY": "0"}
        self.joins(
            server, address, self.files("system", **gateway), self.files("server", **gateway)
        )

    def test_the_local_form(self):
        words = (ARGUMENTS.program, ":", "-np", "2", ARGUMENTS.foreign_program)
        with impirun("-np", "2", *words, **self.files("server")) as run:
            self.expect(run, 0)
            self.assertNotIn("turned away", run.err)
            for line in ALL_FOUR:
                self.assertIn(line, run.out)

    def test_a_launcher_that_is_not_known(self):
        """It passes no variables on."""
        script = self.folder / "launcher"
        script.write_text(
            "#!/bin/sh\nunset IMPISHIM_CERTIFICATE IMPISHIM_PRIVATE_KEY IMPISHIM_AUTHORITY "
            f'IMPI_AUTH_KEY IMPISHIM_SERVER_NAME\nexec {ARGUMENTS.mpiexec} "$@"\n',
            encoding="ascii",
        )
        script.chmod(0o700)
        server, address = self.serve(**self.files("server"))
        words = ("--", str(script), "-n", "2", ARGUMENTS.program)
        systems = [
            self.resources.enter_context(
                impirun(
                    *("-client", str(number), address, *words),
                    **self.files("system", IMPISHIM_SERVER_NAME="server.example"),
                )
            )
            for number in (0, 1)
        ]
        for run in (*systems, server):
            self.expect(run, 0)

    def refused(self, of_server, of_system, told_system, told_server):
        """A system is refused, and then two right ones join the same server."""
        server, address = self.serve(**of_server)
        system = self.system(0, address, ARGUMENTS.program, **of_system)
        self.assertNotEqual(system.end(), 0, system)
        self.assertIn(told_system, system.err)
        server.await_line("err", told_server)
        return server, address

    def expect_refused(self, name, told_system, told_server, authority="authority"):
        server, address = self.refused(
            self.files("server"), self.files(name, authority), told_system, told_server
        )
        self.joins(server, address, self.files("system"), self.files("system"))

    def test_a_foreign_system(self):
        self.expect_refused(
            "foreign",
            "the peer refuses the certificate of this end (TLS alert 'unknown CA'): it comes from no "
            "authority that the peer trusts",
            "the certificate of the peer is refused (unable to get local issuer certificate): it "
            "must come from an authority in the IMPISHIM_AUTHORITY",
        )

    def test_an_expired_system(self):
        self.expect_refused(
            "expired",
            "the peer refuses the certificate of this end (TLS alert 'certificate expired')",
            "the certificate of the peer is refused (certificate has expired): renew it there",
        )

    def test_a_system_that_trusts_another_authority(self):
        self.expect_refused(
            "system",
            "the certificate of the peer is refused (unable to get local issuer certificate)",
            "the peer refuses the certificate of this end (TLS alert 'unknown CA')",
            authority="other_authority",
        )

    def test_a_system_that_looks_for_another_server(self):
        server, address = self.refused(
            self.files("server"),
            self.files("system", IMPISHIM_SERVER_NAME="other.example"),
            "the certificate of the peer is refused (hostname mismatch): the server's address must "
            "be among the alternative names",
            "it is damaged, too weak, or not for this server",
        )
        named = self.files("system", IMPISHIM_SERVER_NAME="server.example")
        self.joins(server, address, named, named)

    def test_a_server_without_that_purpose(self):
        self.refused(
            self.files("system"),
            self.files("server"),
            "its extended key usage must allow serverAuth",
            "its extended key usage must allow serverAuth",
        )

    def test_a_system_with_a_secret(self):
        server, address = self.refused(
            self.files("server"),
            {"IMPISHIM_SECRET": "of a system"},
            "the peer refuses the key of this channel",
            "the peer has a secret, and this end certificates",
        )
        self.joins(server, address, self.files("system"), self.files("system"))

    def test_a_server_with_a_secret(self):
        secret = {"IMPISHIM_SECRET": "of the server"}
        server, address = self.refused(
            secret,
            self.files("system"),
            "the peer does not accept a connection with certificates",
            "the peer offers no key (one that uses certificates has none)",
        )
        self.joins(server, address, secret, secret)

    def test_a_system_without_certificates(self):
        server, address = self.refused(
            self.files("server"),
            {"IMPI_AUTH_NONE": ""},
            "this server encrypts with certificates: set IMPISHIM_CERTIFICATE",
            "turned away",
        )
        self.joins(server, address, self.files("system"), self.files("system"))

    def test_a_server_without_certificates(self):
        """A server with a key, too, since it cannot do without all."""
        self.refused(
            {"IMPI_AUTH_NONE": ""},
            self.files("system"),
            "both ends must use encryption, or neither (IMPISHIM_TLS); server and systems need "
            "certificates",
            "turned away",
        )

    def expect_setting_error(self, text, **environment):
        """Both impirun -server and -client end at once, and so does MPI_Init."""
        for words in (("-server", "2"), ("-client", "0", "127.0.0.1:9", "-np", "1")):
            program = (ARGUMENTS.program,) if words[0] == "-client" else ()
            with impirun(*words, *program, **environment) as run:
                self.assertEqual(run.end(), 2, run)
                self.assertIn(text, run.err)
                self.assertNotIn("BEGIN", run.err)
                self.assertEqual(len(run.lines["err"]), 1, run)

    def test_settings_that_do_not_fit(self):
        both = self.files("server", IMPISHIM_SECRET="and a secret")
        self.expect_setting_error("unset one of them", **both)
        for missing in ("IMPISHIM_CERTIFICATE", "IMPISHIM_PRIVATE_KEY", "IMPISHIM_AUTHORITY"):
            some = self.files("server")
            del some[missing]
            self.expect_setting_error(f"{missing} is not set: certificates need", **some)
        self.expect_setting_error(
            "IMPISHIM_CERTIFICATE is not set", IMPISHIM_SERVER_NAME="a", IMPI_AUTH_NONE=""
        )
        other = self.files("server", IMPISHIM_PRIVATE_KEY=str(self.folder / "system.key"))
        self.expect_setting_error("is not the key of the first certificate", **other)
        nowhere = self.files("server", IMPISHIM_AUTHORITY=str(self.folder / "nowhere"))
        self.expect_setting_error("cannot be opened: No such file", **nowhere)
        (self.folder / "server.key").chmod(0o640)
        self.expect_setting_error("is open to other users (mode 0640)", **self.files("server"))

    def test_connections_that_are_reset(self):
        """Those between hosts, and those to the server, to which the systems return."""
        variables = {**VARIABLES, "IMPISHIM_PORT": "4730-4745"}
        server, address = self.serve("-port", "4749", **variables, **self.files("server"))
        soak = os.environ["IMPISHIM_TEST_SOAK"]
        words = ("-np", "1", soak, "0", "0", "6")
        systems = [
            self.resources.enter_context(
                impirun("-client", str(each), address, *words, **variables, **self.files("system"))
            )
            for each in (0, 1)
        ]
        systems[0].await_line("out", "soaking")
        cuts = reset_again_and_again(4)
        for run in (*systems, server):
            self.expect(run, 0)
        self.assertIn("all as they were sent", systems[0].out)
        self.assertGreater(systems[0].err.count("is taken up again"), 10, cuts)
        for number in (0, 1):
            self.assertIn(f"system {number} has returned, from 127.0.0.1", server.err)


def recipe():
    """The commands of the user guide that make certificates."""
    text = GUIDE.read_text(encoding="utf-8").split("### Certificates instead of a secret\n", 1)[1]
    block = re.search(r"```\n(.*?)```", text, re.DOTALL).group(1)
    return re.sub(r"^[$>] ", "", block, flags=re.MULTILINE)


class Recipe(Certified):
    def test_of_the_user_guide(self):
        subprocess.run(["sh", "-euc", recipe()], cwd=self.folder, check=True, capture_output=True)
        for name in ("login.example", "192.0.2.17"):
            server, address = self.serve(**self.files("server"))
            systems = [self.files(site, IMPISHIM_SERVER_NAME=name) for site in ("a", "b")]
            self.joins(server, address, *systems)


if __name__ == "__main__":
    main()
