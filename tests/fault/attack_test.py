# SPDX-License-Identifier: Apache-2.0
"""Attacks of another user of the machine on the ports of a job: each fails, and the job goes on as
if there were none.

Needs root, to be other users and to make a network namespace; without it each test is skipped and
says so. """

import ctypes
import itertools
import os
import pathlib
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from network_test import ip, made_namespaces  # noqa: E402
from support import ARGUMENTS, Case, Run, main  # noqa: E402

ATTACKER = pathlib.Path(__file__).resolve().parent / "attacker.py"
MAKE_CERTIFICATES = (
    pathlib.Path(__file__).resolve().parent.parent / "support" / "make_certificates.sh"
)
HOLDING_PROXY = pathlib.Path(__file__).resolve().parent / "holding_proxy.py"
OTHER_USER = 65534
HOSTS = ("127.0.0.5", "127.0.0.6")
MAGIC = 0x494D504D
REFUSED = "00000004"  # Refusal::kNoProof
TURNED_AWAY = "turned away a connection from 127.0.0.6 port"
ETH_P_ALL, PACKET_OUTGOING, SO_RCVBUFFORCE = 3, 4, 33
NUMBERS = itertools.count()


class Machine:
    """A network namespace with a loopback and nothing else, and what is started in it."""

    def __enter__(self):
        self.name = f"impishim-attack-{os.getpid()}-{next(NUMBERS)}"
        made_namespaces((self.name,))
        ip("-n", self.name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "delete", self.name], check=False, capture_output=True)

    def run(self, *words, **environment):
        return Run(
            "ip", "netns", "exec", self.name, *words, IMPI_AUTH_KEY="8103957724619", **environment
        )

    def client(self, number, server, *words, **environment):
        return self.run(
            ARGUMENTS.impirun,
            "-client",
            number,
            server,
            *words,
            IMPISHIM_HOST_ADDRESS=HOSTS[number],
            **environment,
        )

    def attacker(self, how, *words):
        return self.run(
            "setpriv",
            f"--reuid={OTHER_USER}",
            f"--regid={OTHER_USER}",
            "--clear-groups",
            sys.executable,
            ATTACKER,
            how,
            *HOSTS,
            *words,
        )

    def recorder(self):
        """A socket that sees what passes the loopback."""
        made = []

        def enter_and_open():
            # setns(2) moves this thread alone.
            with open(f"/run/netns/{self.name}", encoding="ascii") as namespace:
                os_setns(namespace.fileno())
            made.append(socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)))
            made[0].setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)

        thread = threading.Thread(target=enter_and_open)
        thread.start()
        thread.join()
        return made[0]


def os_setns(descriptor):
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def payloads(recorder):
    """What TCP has carried so far, a packet each."""
    recorder.setblocking(False)
    while True:
        try:
            packet, origin = recorder.recvfrom(65536)
        except BlockingIOError:
            return
        if origin[2] == PACKET_OUTGOING and packet[9] == socket.IPPROTO_TCP:
            header = (packet[0] & 15) * 4
            yield packet[header + (packet[header + 12] >> 4) * 4 :]


class Attacks(Case):
    def attacked(self, how, *words, first=None):
        """Both systems join, but what system 1 says is held back when system 0 listens. The attacker
        does what it can, then comes system 1: both must end well. The two and the attacker."""
        with Machine() as machine:
            server = machine.run(
                ARGUMENTS.impirun, "-server", "2", IMPISHIM_HOST_ADDRESS="127.0.0.1"
            )
            address = server.await_line("out", ":")
            zero = machine.client(0, address, *(first or ("-np", "1", ARGUMENTS.program)))
            proxy = machine.run(sys.executable, HOLDING_PROXY, address)
            attacker = machine.attacker(how, *words)
            with server, zero, proxy, attacker:
                through = proxy.await_line("out", "proxy").split()[1]
                with machine.client(1, through, "-np", "1", ARGUMENTS.program) as one:
                    attacker.await_line("out", "ready")
                    proxy.process.send_signal(signal.SIGUSR1)
                    for run in (one, zero, server, attacker):
                        self.expect(run, 0)
                    proxy.process.terminate()
                    self.expect(proxy, 0)
                    self.assertIn("rank 1: system 1, host 1", zero.out)
                    return zero, one, attacker

    def test_a_number_without_the_secret(self):
        zero, one, attacker = self.attacked("claim")
        self.assertIn("got nothing", attacker.out)
        self.assertIn(TURNED_AWAY, zero.err)
        self.assertEqual(one.err, "")

    def test_a_reflected_challenge(self):
        zero, _, attacker = self.attacked("echo")
        self.assertIn("got " + REFUSED, attacker.out)
        self.assertIn("it claims to be number 1 and does not know this job's secret", zero.err)

    def test_a_recorded_handshake(self):
        """All that host 1 has said to host 0 in one job, said again in the next one with the same
        key."""
        with Machine() as machine, machine.recorder() as recorder, tempfile.TemporaryDirectory() as folder:
            server = machine.run(
                ARGUMENTS.impirun, "-server", "2", IMPISHIM_HOST_ADDRESS="127.0.0.1"
            )
            address = server.await_line("out", ":")
            systems = [
                machine.client(number, address, "-np", "1", ARGUMENTS.program) for number in (0, 1)
            ]
            with server, systems[0], systems[1]:
                for run in (*systems, server):
                    self.expect(run, 0)
            packets = list(payloads(recorder))
            hello = [
                index
                for index, data in enumerate(packets)
                if data[:8] == struct.pack(">iI", 1, MAGIC)
            ]
            self.assertEqual(len(hello), 1, [len(each) for each in packets])
            answer = next(data for data in packets[hello[0] + 1 :] if len(data) == 32)
            recording = pathlib.Path(folder) / "recording"
            recording.write_bytes(packets[hello[0]] + answer)
            os.chmod(folder, 0o755)
            recording.chmod(0o644)
            zero, _, attacker = self.attacked("replay", recording)
        self.assertIn("got " + REFUSED, attacker.out)
        self.assertIn("it claims to be number 1 and does not know this job's secret", zero.err)

    def overheard(self, **environment):
        """All bytes on the network of a job whose messages contain a known text."""
        with Machine() as machine, machine.recorder() as recorder:
            server = machine.run(
                ARGUMENTS.impirun, "-server", "2", IMPISHIM_HOST_ADDRESS="127.0.0.1", **environment
            )
            address = server.await_line("out", ":")
            systems = [
                machine.client(
                    number, address, "-np", "1", ARGUMENTS.foreign_program, "say", **environment
                )
                for number in (0, 1)
            ]
            with server, systems[0], systems[1]:
                for run in (*systems, server):
                    self.expect(run, 0)
                self.assertIn("heard: the pass phrase of the job", systems[1].out)
                self.assertNotIn("Warning", server.err)
            return b"".join(payloads(recorder))

    def test_an_eavesdropper_hears_a_plain_job(self):
        heard = self.overheard()
        self.assertIn(b"the pass phrase of the job", heard)
        self.assertIn(struct.pack(">Q", 8103957724619), heard)

    def test_an_eavesdropper_hears_nothing_of_an_encrypted_job(self):
        heard = self.overheard(IMPISHIM_SECRET="known to both systems")
        self.assertGreater(len(heard), 1000)
        for secret in (
            b"the pass phrase",
            struct.pack(">Q", 8103957724619),
            b"known to both",
            b"COLL",
            b"IMPISHIM",
        ):
            self.assertNotIn(secret, heard)

    def test_an_eavesdropper_hears_nothing_of_a_job_with_certificates(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["sh", MAKE_CERTIFICATES, folder], check=True)
            heard = self.overheard(
                IMPISHIM_CERTIFICATE=f"{folder}/server.pem",
                IMPISHIM_PRIVATE_KEY=f"{folder}/server.key",
                IMPISHIM_AUTHORITY=f"{folder}/authority.pem",
            )
        self.assertGreater(len(heard), 1000)
        for secret in (
            b"the pass phrase",
            struct.pack(">Q", 8103957724619),
            b"server.example",
            b"authority",
            b"COLL",
            b"IMPISHIM",
        ):
            self.assertNotIn(secret, heard)

    def flooded(self, zero):
        """Hundreds of connections have two lines at most."""
        lines = [line for line in zero.lines["err"] if "turned away" in line]
        self.assertIn(len(lines), (1, 2), zero)
        self.assertEqual(len(zero.lines["err"]), len(lines), zero)

    def test_a_flood_of_silent_connections(self):
        zero, _, attacker = self.attacked("flood")
        self.assertIn("got nothing", attacker.out)
        self.flooded(zero)

    def test_a_flood_and_few_descriptors(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "few_descriptors"
            script.write_text('#!/bin/sh\nulimit -n 40\nexec "$@"\n', encoding="ascii")
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
            zero, _, _ = self.attacked(
                "flood", first=("--", ARGUMENTS.mpiexec, "-n", "1", script, ARGUMENTS.program)
            )
        self.flooded(zero)


if __name__ == "__main__":
    main()
