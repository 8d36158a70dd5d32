# SPDX-License-Identifier: Apache-2.0
"""impirun -server, spoken to by clients made of sockets."""

import contextlib
import os
import pathlib
import random
import resource
import socket
import struct
import time

from support import DONE, FINI, HELLO, KEY, NONE, NOTE, WAITING, Case, Client, Server, main

BOTH = 1 << NONE | 1 << KEY


def finish(clients):
    """From having joined to the end: an empty exchange."""
    for client in clients:
        client.size()
    for client in clients:
        client.send(DONE)
    for client in clients:
        client.answers()
    for client in clients:
        client.send(FINI)


class ServerTest(Case):
    def setUp(self):
        self.resources = contextlib.ExitStack()
        self.addCleanup(self.resources.close)

    def server(self, *words, **environment):
        return self.resources.enter_context(
            Server(*words, **(environment or {"IMPI_AUTH_NONE": ""}))
        )

    def client(self, server):
        return self.resources.enter_context(Client(server))

    def test_address_alone_goes_to_standard_output(self):
        server = self.server(1)
        self.assertRegex(server.address, r"^\d+\.\d+\.\d+\.\d+:\d+$")
        finish([self.client(server).join(0)])
        self.expect(server, 0)
        self.assertEqual(server.lines["out"], [server.address])
        self.assertIn("1 of 1 systems have joined", server.err)

    def test_listens_on_the_port_asked_for(self):
        with socket.socket() as finder:
            finder.bind(("127.0.0.1", 0))
            port = finder.getsockname()[1]
        server = self.server(1, "-port", port)
        self.assertEqual(server.port, port)
        finish([self.client(server).join(0)])
        self.expect(server, 0)

    def test_tells_who_has_joined(self):
        server = self.server(3)
        clients = []
        for number, line in (
            (2, "1 of 3 systems have joined; missing: 0, 1"),
            (0, "2 of 3 systems have joined; missing: 1"),
            (1, "3 of 3 systems have joined"),
        ):
            clients.append(self.client(server).join(number))
            self.assertEqual(server.await_line("err", "have joined"), f"impirun: {line}")
        finish(clients)
        self.expect(server, 0)

    def test_warns_of_clients_without_authentication(self):
        server = self.server(2, IMPI_AUTH_NONE="", IMPI_AUTH_KEY="5")
        with_key = self.client(server).join(0, BOTH, 5)
        without = self.client(server).join(1, 1 << NONE)
        finish([with_key, without])
        self.expect(server, 0)
        warnings = [line for line in server.lines["err"] if "Warning" in line]
        self.assertEqual(
            warnings, [f"impirun: Warning: {without.name} has authenticated with IMPI_AUTH_NONE."]
        )

    def preferred(self, *words):
        server = self.server(1, *words, IMPI_AUTH_NONE="", IMPI_AUTH_KEY="5")
        client = self.client(server)
        chosen = client.authenticate(BOTH, 5)
        client.send(0x494D5049, struct.pack(">i", 0))
        finish([client])
        self.expect(server, 0)
        return chosen

    def test_preference_of_methods(self):
        self.assertEqual(self.preferred(), KEY)
        self.assertEqual(self.preferred("-auth", "1,0"), KEY)
        self.assertEqual(self.preferred("-auth", "0,1"), NONE)
        self.assertEqual(self.preferred("-auth", "3,1-0"), KEY)
        self.assertEqual(self.preferred("-auth", "0-3"), NONE)
        self.assertEqual(self.preferred("-auth", "0"), NONE)

    def test_wrong_key(self):
        server = self.server(1, IMPI_AUTH_KEY="18446744073709551615")
        stranger = self.client(server)
        stranger.authenticate(1 << KEY, 5)
        self.assertEqual(stranger.reason(), "wrong authentication key (IMPI_AUTH_KEY)")
        server.await_line("err", f"turned away {stranger.name}: wrong authentication key")
        finish([self.client(server).join(0, 1 << KEY, 18446744073709551615)])
        self.expect(server, 0)

    def test_no_method_in_common(self):
        server = self.server(1, IMPI_AUTH_KEY="7")
        stranger = self.client(server)
        stranger.send(0x41555448, struct.pack(">I", 1 << NONE))
        self.assertIn("no authentication method in common", stranger.reason())
        server.await_line("err", f"turned away {stranger.name}: no authentication method in common")
        finish([self.client(server).join(0, 1 << KEY, 7)])
        self.expect(server, 0)

    def test_client_number_taken_twice(self):
        server = self.server(2)
        first = self.client(server).join(0)
        server.await_line("err", "1 of 2")
        second = self.client(server).join(0)
        # Whether the first one's machine still answers is found out before.
        self.assertEqual(
            second.reason(),
            f"system 0 has joined already, from {first.name}, whose machine answers: "
            "end that one first",
        )
        server.await_line("err", f"turned away {second.name}: system 0 has joined already")
        finish([first, self.client(server).join(1)])
        self.expect(server, 0)

    def test_client_number_out_of_range(self):
        server = self.server(2)
        for number in (2, -1, 2147483647):
            stranger = self.client(server).join(number)
            self.assertEqual(
                stranger.reason(), f"system {number} does not exist: this job has systems 0 to 1"
            )
        finish([self.client(server).join(number) for number in (1, 0)])
        self.expect(server, 0)

    def test_client_that_leaves_early_can_be_replaced(self):
        server = self.server(2)
        self.client(server).join(0).close()
        server.await_line("err", "left before all had joined")
        finish([self.client(server).join(number) for number in (0, 1)])
        self.expect(server, 0)

    def test_lost_client_is_named(self):
        server = self.server(3)
        clients = [self.client(server).join(number) for number in range(3)]
        for client in clients:
            client.size()
            client.send(DONE)
        for client in clients:
            client.answers()
        clients[0].send(FINI)
        clients[1].close()
        reason = f"system 1 at {clients[1].name} was lost: its connection ended without FINI"
        self.assertEqual(clients[2].reason(), reason)
        self.expect(server, 1)
        self.assertEqual(server.lines["err"][-1], f"impirun: {reason}")

    def test_client_lost_during_the_exchange(self):
        server = self.server(2)
        clients = [self.client(server).join(number) for number in range(2)]
        for client in clients:
            client.size()
        clients[1].coll(0x1000, bytes(8))
        clients[0].close()
        self.assertIn("system 0 at", clients[1].reason())
        self.expect(server, 1)

    def test_timeout_names_who_is_missing(self):
        server = self.server(3, "-timeout", 1)
        waiting = self.client(server).join(1)
        text = "not all systems came within 1 s: 1 of 3 systems have joined; missing: 0, 2"
        self.assertEqual(waiting.reason(), text)
        self.expect(server, 1)
        self.assertEqual(server.lines["err"][-1], f"impirun: {text}")

    def test_timeout_does_not_bound_the_job(self):
        """Only waiting for the clients is bounded: without the second client, the server would
        end."""
        server = self.server(2, "-timeout", 1)
        late = self.server(1, "-timeout", 1)
        clients = [self.client(server).join(number) for number in range(2)]
        self.expect(late, 1)  # the time is over
        finish(clients)
        self.expect(server, 0)

    def test_32_clients(self):
        server = self.server(32)
        numbers = list(range(32))
        random.Random(1).shuffle(numbers)
        clients = {number: self.client(server).join(number) for number in numbers}
        self.assertEqual({client.size() for client in clients.values()}, {32})
        for number, client in clients.items():
            client.coll(0x1100, struct.pack(">I", 100 + number))
            if number % 2 == 1:
                client.coll(0x49530001, bytes([number]))
            client.send(DONE)
        expected = {0x1100: (0xFFFFFFFF, struct.pack(">32I", *range(100, 132)))}
        odd = {0x49530001: (0xAAAAAAAA, bytes(range(1, 32, 2)))}
        for number, client in clients.items():
            self.assertEqual(client.answers(), {**expected, **odd} if number % 2 == 1 else expected)
            client.send(FINI)
        self.expect(server, 0)
        self.assertIn("32 of 32 systems have joined", server.err)

    def test_garbage_disturbs_nobody(self):
        server = self.server(2)
        first = self.client(server).join(0)
        server.await_line("err", "1 of 2")
        noise = random.Random(2).randbytes(100000)
        reasons = []
        for garbage, reason in (
            (b"GET / HTTP/1.0\r\n\r\n", "it does not speak IMPI"),
            (noise, "it does not speak IMPI"),
            (b"AUTH\x7f\xff\xff\xff", "it does not speak IMPI"),
            (bytes(4096), "it does not speak IMPI"),
            (b"AUTH\0\0\0\3abc", "AUTH without a mask"),
        ):
            stranger = self.client(server)
            with contextlib.suppress(ConnectionError):
                stranger.socket.sendall(garbage)
            with contextlib.suppress(ConnectionError):
                self.assertIn(reason, stranger.reason())
            reasons.append(f"turned away {stranger.name}: {reason}")
        self.assertIn(reasons[0], server.await_line("err", "turned away"))
        cut = self.client(server)
        cut.socket.sendall(b"AUT")
        cut.close()
        member = self.client(server).join(1)
        self.assertEqual(member.size(), 2)
        self.client(server).socket.sendall(noise)
        self.assertEqual(first.size(), 2)
        for client in (first, member):
            client.coll(0x1100, struct.pack(">I", 1))
            client.send(DONE)
        for client in (first, member):
            self.assertEqual(client.answers(), {0x1100: (3, struct.pack(">II", 1, 1))})
            client.send(FINI)
        self.expect(server, 0)
        # A line a minute is enough for strangers.
        self.assertEqual(
            [
                line
                for line in server.lines["err"]
                if "turned away" in line or "closed before" in line
            ],
            [line for line in server.lines["err"] if reasons[0] in line],
        )

    def test_garbage_from_a_client_ends_its_job(self):
        server = self.server(2)
        clients = [self.client(server).join(number) for number in range(2)]
        for client in clients:
            client.size()
        clients[0].coll(0x1200, bytes(4))
        clients[0].coll(0x1100, bytes(4))
        self.assertIn("labels must ascend", clients[0].reason())
        self.assertIn("system 0 at", clients[1].reason())
        self.expect(server, 1)
        self.assertIn(
            "it sent label 0x1100 after 0x1200; labels must ascend", server.lines["err"][-1]
        )

    def test_silent_strangers_do_not_keep_clients_out(self):
        server = self.server(3, IMPI_AUTH_KEY="7", IMPI_AUTH_NONE="")
        first = self.client(server).join(0)
        server.await_line("err", "1 of 3")
        # One that has authenticated, and not joined, is no stranger any more.
        joining = self.client(server)
        self.assertEqual(joining.authenticate(1 << KEY, 7), KEY)
        joining.send(0x12345678)
        for _ in range(700):
            self.client(server)
        joining.send(0x494D5049, struct.pack(">i", 1))
        finish([first, joining, self.client(server).join(2)])
        self.expect(server, 0)
        self.assertEqual(server.err.count("too many connections at once"), 1)

    def processor_time(self, run):
        """Seconds that the process has computed."""
        fields = (
            pathlib.Path(f"/proc/{run.process.pid}/stat")
            .read_text(encoding="ascii")
            .rsplit(")", 1)[1]
            .split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_lack_of_descriptors_ends_nothing(self):
        """Room for two connections, and both are clients: a third one waits, and so does the
        server, without spinning."""
        server = self.resources.enter_context(
            Server(3, through=("prlimit", "--nofile=8:64"), IMPI_AUTH_NONE="")
        )
        clients = [self.client(server).join(0), self.client(server).join(1)]
        server.await_line("err", "2 of 3 systems have joined")
        clients.append(self.client(server))
        server.await_line(
            "err", "cannot accept more connections: Too many open files; see ulimit -n"
        )
        begin = self.processor_time(server)
        time.sleep(1)  # what is measured is that it does nothing
        self.assertLess(self.processor_time(server) - begin, 0.5)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (64, 64))
        clients[2].join(2)
        finish(clients)
        self.expect(server, 0)
        self.assertEqual(server.err.count("cannot accept"), 1)

    def test_strangers_give_way_where_descriptors_lack(self):
        server = self.resources.enter_context(
            Server(2, through=("prlimit", "--nofile=12"), IMPI_AUTH_NONE="")
        )
        for _ in range(20):
            self.client(server)
        finish([self.client(server).join(number) for number in range(2)])
        self.expect(server, 0)

    def test_private_commands_go_only_to_clients_that_announce_themselves(self):
        server = self.server(2)
        ours = self.client(server)
        ours.authenticate(1 << NONE)
        ours.send(HELLO)
        self.assertEqual(ours.receive(), (HELLO, b""))
        ours.send(0x494D5049, struct.pack(">i", 0))
        self.assertEqual(ours.receive(), (WAITING, struct.pack(">III", 0, 2, 0b10)))
        # A second one with its number is told to both.
        second = self.client(server).join(0)
        command, text = ours.receive()
        self.assertEqual(command, NOTE)
        self.assertIn(f"another system 0 asks to join, from {second.name}", text.decode())
        self.assertIn("whose machine answers", second.reason())
        foreign = self.client(server).join(1)
        for client in (ours, foreign):
            self.assertEqual(client.size(), 2)
            client.coll(0x1100, b"x")
        ours.coll(0x49530030, bytes(32))
        for client in (ours, foreign):
            client.send(DONE)
        self.assertEqual(foreign.answers(), {0x1100: (3, b"xx")})
        for client in (ours, foreign):
            client.send(FINI)
        self.expect(server, 0)

    def test_unknown_commands_and_labels_are_passed_over(self):
        server = self.server(2)
        clients = [self.client(server).join(number) for number in range(2)]
        for number, client in enumerate(clients):
            client.size()
            client.send(0x4E455721, b"a later version's command")
            client.coll(0x1100, bytes([number]))
            client.send(0x4E455722)
            client.coll(0x7FFFFFFF, b"ab" if number == 0 else b"")
            client.send(DONE)
        for client in clients:
            answers = client.answers()
            self.assertEqual(
                list(answers.items()), [(0x1100, (3, b"\0\1")), (0x7FFFFFFF, (3, b"ab"))]
            )
            client.send(FINI)
            self.assertTrue(client.closed())
        self.expect(server, 0)


if __name__ == "__main__":
    main()
