# SPDX-License-Identifier: Apache-2.0
"""Two sites that reach each other only in part: firewalls, address translation, forwarded ports,
asymmetric routes. Made of network namespaces.

The sites `left` and `right` are joined by a router, where the rendezvous server runs. Needs root,
the right to make namespaces, and nftables; without them each test is skipped and says so. """

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from network_test import inside, ip, made_namespaces  # noqa: E402
from support import ARGUMENTS, Case, Run, certificates, main  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TUNNEL = HERE / "tunnel.py"

LEFT, RIGHT = "10.99.0.1", "192.168.7.2"
ROUTER = "10.99.0.254"
ROUTER_AT_RIGHT = "192.168.7.1"


def cable(one, other, name):
    ip("link", "add", name, "netns", one, "type", "veth", "peer", "name", name, "netns", other)


def attach(namespace, device, address):
    ip("-n", namespace, "address", "add", address, "dev", device)
    for each in ("lo", device):
        ip("-n", namespace, "link", "set", each, "up")


def write_setting(namespace, name, value):
    subprocess.run(
        ["ip", "netns", "exec", namespace, "sh", "-c", f"echo {value} > /proc/sys/net/{name}"],
        check=True,
    )


class Islands:
    """Namespaces `left` and `right`, which have a loopback and nothing else."""

    def __enter__(self):
        self.left, self.right = (f"impishim-{side}-{os.getpid()}" for side in "uv")
        made_namespaces((self.left, self.right))
        for namespace in (self.left, self.right):
            ip("-n", namespace, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for namespace in (self.left, self.right):
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)


class Sites:
    """Namespaces `left`, `router` and `right`. The router forwards what its rules accept."""

    def __init__(self):
        self.left, self.router, self.right = (f"impishim-{side}-{os.getpid()}" for side in "wxy")

    def __enter__(self):
        made_namespaces((self.left, self.router, self.right))
        cable(self.left, self.router, "west")
        cable(self.right, self.router, "east")
        attach(self.left, "west", f"{LEFT}/24")
        attach(self.router, "west", f"{ROUTER}/24")
        attach(self.right, "east", f"{RIGHT}/24")
        attach(self.router, "east", f"{ROUTER_AT_RIGHT}/24")
        ip("-n", self.left, "route", "add", "default", "via", ROUTER)
        ip("-n", self.right, "route", "add", "default", "via", ROUTER_AT_RIGHT)
        write_setting(self.router, "ipv4/ip_forward", 1)
        return self

    def __exit__(self, *_):
        for namespace in (self.left, self.router, self.right):
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)

    def rules(self, *lines):
        """Gives the router these rules of nftables."""
        try:
            subprocess.run(
                ["ip", "netns", "exec", self.router, "nft", "-f", "-"],
                input="\n".join(lines) + "\n",
                check=True,
                capture_output=True,
                text=True,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", None) or error
            raise unittest.SkipTest(f"nftables cannot be used here: {reason}") from None

    def admit(self, *accepted):
        """Forwards new connections only if one of these matches accepts them."""
        self.rules(
            "add table inet fire",
            "add chain inet fire road { type filter hook forward priority 0 ; policy drop ; }",
            "add rule inet fire road ct state established,related accept",
            *(f"add rule inet fire road {match} accept" for match in accepted),
        )


class Reach(Case):
    def joined(self, sites, left, right, server_variables=None, server_words=()):
        """The server on the router, and a system of two ranks at each site with these
        variables."""
        server = inside(
            sites.router,
            "-server",
            "2",
            *server_words,
            IMPISHIM_HOST_ADDRESS=ROUTER,
            **(server_variables or {}),
        )
        address = server.await_line("out", ":")
        systems = [
            inside(
                site, "-client", str(number), address, "-np", "2", ARGUMENTS.program, **variables
            )
            for number, (site, variables) in enumerate(((sites.left, left), (sites.right, right)))
        ]
        return server, systems

    def expect_joined(
        self, sites, left=None, right=None, hosts=range(4), server=None, server_words=()
    ):
        """Returns what the systems have written to standard error."""
        server, (at_left, at_right) = self.joined(
            sites, left or {}, right or {}, server, server_words
        )
        with server, at_left, at_right:
            for run in (at_left, at_right, server):
                self.expect(run, 0)
            for rank, (system, host) in enumerate(zip((0, 0, 1, 1), hosts)):
                self.assertIn(
                    f"rank {rank}: system {system}, host {host}", at_left.out + at_right.out
                )
            return at_left.err + at_right.err

    def test_nothing_enters_the_higher_system(self):
        with Sites() as sites:
            sites.admit("iifname east")
            self.expect_joined(sites)

    def test_nothing_enters_the_lower_system(self):
        with Sites() as sites:
            sites.admit("iifname west")
            self.expect_joined(sites)

    def test_address_translation(self):
        """No machine at the left knows a way to the addresses at the right."""
        with Sites() as sites:
            ip("-n", sites.left, "route", "delete", "default")
            sites.rules(
                "add table ip translate",
                "add chain ip translate out { type nat hook postrouting priority 100 ; }",
                "add rule ip translate out oifname west masquerade",
            )
            self.expect_joined(sites)

    def test_forwarded_ports(self):
        """The translator forwards two known ports to the right, and nothing leaves there."""
        with Sites() as sites:
            sites.admit("iifname west")
            sites.rules(
                "add table ip translate",
                "add chain ip translate in { type nat hook prerouting priority -100 ; }",
                f"add rule ip translate in iifname west tcp dport 4720-4721 dnat to {RIGHT}",
            )
            self.expect_joined(
                sites,
                right={
                    "IMPISHIM_HOST_ADDRESS": ROUTER,
                    "IMPISHIM_LISTEN_ADDRESS": "east",
                    "IMPISHIM_PORT": "4720-4721",
                },
            )

    def test_one_secret_and_address_translation(self):
        """Encrypted by default, since the sites have addresses of their own."""
        with Sites() as sites, tempfile.TemporaryDirectory() as folder:
            secret = pathlib.Path(folder) / "secret"
            secret.write_text(
                subprocess.check_output([ARGUMENTS.impirun, "-new-secret"], text=True)
            )
            secret.chmod(0o600)
            ip("-n", sites.left, "route", "delete", "default")
            sites.rules(
                "add table ip translate",
                "add chain ip translate out { type nat hook postrouting priority 100 ; }",
                "add rule ip translate out oifname west masquerade",
            )
            variables = {"IMPISHIM_SECRET_FILE": str(secret)}
            self.expect_joined(sites, variables, variables, server=variables)

    def test_one_of_two_addresses(self):
        """Nothing answers at the first one, and only the right connects."""
        with Sites() as sites:
            ip("-n", sites.left, "address", "add", "10.99.0.77/24", "dev", "west")
            sites.admit(f"ip daddr {LEFT}")
            self.expect_joined(sites, left={"IMPISHIM_HOST_ADDRESS": f"10.99.0.77,{LEFT}"})

    def test_one_port(self):
        with Sites() as sites:
            sites.admit("iifname east tcp dport 4711")
            self.expect_joined(
                sites,
                left={"IMPISHIM_PORT": "4711", "IMPISHIM_HOST_PROCS": "node"},
                right={"IMPISHIM_HOST_PROCS": "node"},
                hosts=(0, 0, 1, 1),
            )

    def test_both_closed_and_a_relay(self):
        with Sites() as sites:
            sites.admit()
            told = self.expect_joined(sites, server_words=("-relay",))
            self.assertIn("systems 0 and 1 reach each other only through the relay", told)

    def test_both_closed_and_an_encrypted_job_over_a_relay(self):
        with Sites() as sites:
            sites.admit()
            variables = {"IMPISHIM_SECRET": "of the two sites and the server"}
            self.expect_joined(
                sites, variables, variables, server=variables, server_words=("-relay",)
            )

    def test_both_closed_and_certificates_over_a_relay(self):
        # The certificate's name, since it does not hold the router's address.
        named = {"IMPISHIM_SERVER_NAME": "server.example"}
        with Sites() as sites, certificates(**named) as files:
            sites.admit()
            self.expect_joined(
                sites,
                files("system"),
                files("server"),
                server=files("server"),
                server_words=("-relay",),
            )

    def test_one_direction_needs_no_relay(self):
        with Sites() as sites:
            sites.admit("iifname west")
            told = self.expect_joined(sites, server_words=("-relay",))
            self.assertNotIn("relay", told)

    def test_one_forwarded_port(self):
        """The recipe of README.md: two machines without a network between them, and a tunnel from a
        port at the right to the server at the left."""
        with Islands() as islands, tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "tunnel")
            variables = {"IMPISHIM_SECRET": "of the two sites"}
            server = inside(islands.left, "-server", "2", "-port", "5000", "-relay", **variables)
            server.await_line("out", ":5000")
            ends = [
                Run("ip", "netns", "exec", site, sys.executable, TUNNEL, *words)
                for site, words in ((islands.left, (path, "5000")), (islands.right, ("5000", path)))
            ]
            with server, ends[0], ends[1]:
                for end in ends:
                    end.await_line("out", "tunnel")
                at_left, at_right = (
                    inside(
                        site,
                        "-client",
                        str(number),
                        "127.0.0.1:5000",
                        "-np",
                        "2",
                        ARGUMENTS.program,
                        **variables,
                    )
                    for number, site in enumerate((islands.left, islands.right))
                )
                with at_left, at_right:
                    for run in (at_left, at_right, server):
                        self.expect(run, 0)
                    self.assertIn("rank 3: system 1, host 3", at_left.out + at_right.out)
                for end in ends:
                    end.process.terminate()

    def test_both_closed(self):
        with Sites() as sites:
            sites.admit()
            server, (at_left, at_right) = self.joined(sites, {}, {})
            with server, at_left, at_right:
                for run in (at_left, at_right, server):
                    self.assertNotEqual(run.end(), 0, run)
                # The system that gives up first tells why, and the other one may learn of that.
                for run, other in ((at_left, RIGHT), (at_right, LEFT)):
                    self.assertRegex(
                        run.err,
                        rf"no connection with host .*{other}.* in time|system \d at .* was lost",
                        run,
                    )
                self.assertIn("no connection with host", at_left.err + at_right.err)

    def test_asymmetric_routes(self):
        """Bytes to the right take one cable, and those to the left another one."""
        with Sites() as sites:
            cable(sites.left, sites.right, "south")
            attach(sites.left, "south", "10.98.0.1/24")
            attach(sites.right, "south", "10.98.0.2/24")
            for site in (sites.left, sites.right):
                for device in ("all", "default", "south"):
                    write_setting(site, f"ipv4/conf/{device}/rp_filter", 0)
            sites.admit("ip saddr 10.98.0.2", f"ip daddr {ROUTER}")
            self.expect_joined(
                sites,
                left={"IMPISHIM_HOST_ADDRESS": "west"},
                right={"IMPISHIM_HOST_ADDRESS": "south"},
            )


if __name__ == "__main__":
    main()
