# SPDX-License-Identifier: Apache-2.0
"""A job file whose second system starts through a real sshd, on a port and with keys of the test's
own."""

import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from support import ARGUMENTS, LONG, Case, free_port, impirun, main

SSHD = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")


class SshTest(Case):
    def setUp(self):
        if SSHD is None or shutil.which("ssh") is None:
            print("skipped: sshd or ssh is not installed (openssh-server, openssh-client)")
            self.skipTest("sshd or ssh is not installed (openssh-server, openssh-client)")
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)
        # sshd looks at the modes of all folders above a file of keys.
        self.folder = pathlib.Path(
            self.resources.enter_context(tempfile.TemporaryDirectory(prefix="impirun-ssh-"))
        )
        self.port = free_port()
        for name in ("host_key", "user_key"):
            self.run_tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name)
        keys = self.folder / "authorized_keys"
        shutil.copy(self.folder / "user_key.pub", keys)
        keys.chmod(0o600)
        host_key = (self.folder / "host_key.pub").read_text(encoding="utf-8")
        (self.folder / "known_hosts").write_text(
            f"[127.0.0.1]:{self.port} {host_key}", encoding="utf-8"
        )
        self.start_sshd(keys)

    def run_tool(self, *words):
        subprocess.run([str(word) for word in words], check=True, timeout=LONG)

    def start_sshd(self, keys):
        configuration = self.folder / "sshd_config"
        configuration.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host_key\n"
            f"AuthorizedKeysFile {keys}\nPidFile none\nUsePAM no\nStrictModes no\n"
            "PasswordAuthentication no\nPermitRootLogin prohibit-password\n",
            encoding="utf-8",
        )
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # sshd separates privileges there
        self.log = open(self.folder / "sshd.log", "w+", encoding="utf-8")
        self.resources.callback(self.log.close)
        self.sshd = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", str(configuration)], stderr=self.log, stdin=subprocess.DEVNULL
        )
        self.resources.callback(self.end_sshd)
        deadline = time.monotonic() + LONG
        while self.sshd.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port), timeout=LONG).close()
                return
            time.sleep(0.05)  # there is no event to wait for but the open port itself
        self.log.seek(0)
        self.fail(f"sshd does not listen:\n{self.log.read()}")

    def end_sshd(self):
        self.sshd.terminate()
        self.sshd.wait(timeout=LONG)

    def job(self, arguments, host="127.0.0.1", more=""):
        """A job of a system here and one behind sshd."""
        ssh = (
            f"ssh -F none -p {self.port} -i {self.folder}/user_key -o IdentitiesOnly=yes "
            f"-o UserKnownHostsFile={self.folder}/known_hosts -l {getpass.getuser()}"
        )
        # sshd gives a program few variables.
        variables = "\n".join(
            f'environment.{name} = "{os.environ[name]}"'
            for name in ("OMPI_MCA_osc", "OMPI_MCA_mpi_yield_when_idle")
            if name in os.environ
        )
        words = ", ".join(f'"{word}"' for word in arguments)
        file = self.folder / "job.toml"
        file.write_text(
            f'[server]\naddress = "127.0.0.1"\n{more}\n'
            f'[[system]]\nname = "here"\nnp = 1\nprogram = "{ARGUMENTS.program}"\nargs = [{words}]\n'
            f'[[system]]\nname = "there"\nnp = 2\nprogram = "{ARGUMENTS.program}"\nargs = [{words}]\n'
            f'host = "{host}"\nssh = "{ssh}"\nimpirun = "{ARGUMENTS.impirun}"\n'
            f'directory = "{self.folder}"\n{variables}\n',
            encoding="utf-8",
        )
        return file

    def start(self, *words, **environment):
        return self.resources.enter_context(impirun(*words, **environment))

    def processes_there(self):
        """Processes that sshd has started, which do not have the mark of a run."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.readlink(entry / "cwd") == str(self.folder):
                    found.append(int(entry.name))
        return found

    def await_end_there(self):
        deadline = time.monotonic() + LONG
        while self.processes_there() and time.monotonic() < deadline:
            time.sleep(0.05)  # they are no children of ours
        self.assertEqual(self.processes_there(), [])

    def test_joins_through_ssh(self):
        run = self.expect(self.start("-label", "-file", self.job(["show", "IMPISHIM_CLIENT"])), 0)
        self.assertEqual(
            sorted(run.lines["out"]),
            [
                f"[0:0] rank 0 in {os.getcwd()} IMPISHIM_CLIENT=0",
                f"[1:1] rank 1 in {self.folder} IMPISHIM_CLIENT=1",
                f"[1:2] rank 2 in {self.folder} IMPISHIM_CLIENT=1",
            ],
        )
        self.await_end_there()

    def test_secret_is_on_no_command_line_and_ctrl_c_ends_both_sides(self):
        run = self.start("-file", self.job(["wait"]))
        run.await_times("out", "ready", 3)
        secrets = set()
        lines = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if not entry.name.isdigit():
                    continue
                lines.append((entry / "cmdline").read_bytes())
                if int(entry.name) in run.processes() + self.processes_there():
                    for variable in (entry / "environ").read_bytes().split(b"\0"):
                        if variable.startswith((b"IMPISHIM_SECRET=", b"IMPI_AUTH_KEY=")):
                            secrets.add(variable.split(b"=", 1)[1])
        self.assertTrue(secrets)
        for secret in secrets:
            self.assertFalse([line for line in lines if secret in line])
        run.process.send_signal(signal.SIGINT)
        self.expect(run, 128 + signal.SIGINT)
        self.await_end_there()

    def test_tunnel_that_cannot_be_opened_is_told(self):
        more = f"port = {free_port()}\nrelay = true"
        file = self.job(["hello"], more=more)
        text = file.read_text(encoding="utf-8").replace('host = "', 'tunnel = true\nhost = "')
        # Both ends are this machine, whose port the server has.
        file.write_text(text, encoding="utf-8")
        run = self.start("-file", file)
        self.assertNotEqual(run.end(), 0)
        self.assertIn("remote port forwarding failed", run.err)

    def test_host_that_refuses_is_told(self):
        file = self.job(["hello"])
        text = file.read_text(encoding="utf-8").replace("user_key ", "no_such_key ")
        file.write_text(text, encoding="utf-8")
        run = self.expect(self.start("-file", file), 255)
        self.assertIn("Permission denied", run.err)
        self.assertIn("system there ended with status 255", run.err)


if __name__ == "__main__":
    main()
