# SPDX-License-Identifier: Apache-2.0
"""Roads between two network namespaces, and what long_road measures over them."""

import json
import os
import subprocess

from harness import fail

LARGE = 512 << 20
SERVER_PORT = 5999
DELAY_MS = 25


class ThinRoad:
    """Two network namespaces with cables between them, one for each rate in Mbit/s."""

    RATE = 1e9 / 8  # bytes per second, of the first cable
    FAR = "10.97.0.1"

    def __init__(self, rates=(1000,)):
        self.ends = [f"impishim-road-{side}-{os.getpid()}" for side in "ab"]
        self.rates = rates

    def command(self, *words):
        subprocess.run(words, check=True, capture_output=True, text=True)

    def __enter__(self):
        try:
            for end in self.ends:
                self.command("ip", "netns", "add", end)
            for cable, rate in enumerate(self.rates):
                self.lay(cable, rate)
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            return getattr(error, "stderr", None) or str(error)
        return None

    def lay(self, cable, rate):
        one, other = self.ends
        name = f"cable{cable}"
        ends = ("link", "add", name, "netns", one, "type", "veth", "peer")
        self.command("ip", *ends, "name", name, "netns", other)
        for number, end in enumerate(self.ends, 1):
            address = f"10.{97 + cable}.0.{number}/24"
            self.command("ip", "-n", end, "address", "add", address, "dev", name)
            for device in ("lo", name):
                self.command("ip", "-n", end, "link", "set", device, "up")
            # A queue of 5 ms, as a switch has.
            shape = ("tbf", "rate", f"{rate}mbit", "burst", "128kb", "latency", "5ms")
            self.command("tc", "-n", end, "qdisc", "add", "dev", name, "root", *shape)

    def addresses(self, end):
        return ",".join(f"10.{97 + cable}.0.{end + 1}" for cable in range(len(self.rates)))

    def __exit__(self, *_):
        for end in self.ends:
            subprocess.run(["ip", "netns", "delete", end], check=False, capture_output=True)

    def inside(self, end, *words):
        return ["ip", "netns", "exec", self.ends[end], *map(str, words)]


class LongCable(ThinRoad):
    """Two network namespaces and a cable of 1 Gbit/s with a round trip of 50 ms, which loses a share
    of the frames."""

    def __init__(self, build, loss):
        super().__init__(rates=(1000,))
        self.program, self.loss, self.cable = build / "bin/long_cable", loss, None

    def lay(self, cable, rate):
        words = [self.program, *self.ends, "--device", "cable0", "--delay", DELAY_MS]
        words += ["--rate", rate, "--loss", self.loss]
        self.cable = subprocess.Popen(
            [*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self.cable.stdout.readline() != "ready\n":
            raise OSError("long_cable cannot make its devices")
        for number, end in enumerate(self.ends, 1):
            self.command("ip", "-n", end, "address", "add", f"10.97.0.{number}/24", "dev", "cable0")
            # Fewer frames leave more of the processors to the programs.
            self.command("ip", "-n", end, "link", "set", "cable0", "mtu", "9000")
            for device in ("lo", "cable0"):
                self.command("ip", "-n", end, "link", "set", device, "up")

    def __exit__(self, *_):
        if self.cable is not None:
            self.cable.communicate(timeout=30)
        super().__exit__()

    def plain_tcp(self, congestion, seconds=15):
        """Bytes per second of one TCP connection of iperf3."""
        server = subprocess.Popen(
            self.inside(1, "iperf3", "--server", "--one-off", "--forceflush"),
            stdout=subprocess.PIPE,
            text=True,
        )
        server.stdout.readline()
        words = ("--client", "10.97.0.2", "--time", seconds, "--congestion", congestion, "--json")
        done = subprocess.run(
            self.inside(0, "iperf3", *words), capture_output=True, text=True, timeout=seconds + 60
        )
        server.communicate(timeout=60)
        found = json.loads(done.stdout)
        if "error" in found:
            fail(f"iperf3: {found['error']}")
        return found["end"]["sum_received"]["bits_per_second"] / 8


class FreeRoad(ThinRoad):
    """Two network namespaces and a cable without a rate of its own. With `closed`, firewalls let
    nothing into either but to the server's port in the first one."""

    def __init__(self, closed):
        super().__init__()
        self.closed = closed

    def lay(self, cable, rate):
        super().lay(cable, rate)
        for end in self.ends:
            self.command("tc", "-n", end, "qdisc", "delete", "dev", f"cable{cable}", "root")
            if self.closed:
                self.close(end)

    def close(self, end):
        rules = (
            "add table inet fire",
            "add chain inet fire in { type filter hook input priority 0 ; policy drop ; }",
            "add rule inet fire in ct state established,related accept",
            "add rule inet fire in iifname lo accept",
            f"add rule inet fire in tcp dport {SERVER_PORT} accept",
        )
        subprocess.run(
            ["ip", "netns", "exec", end, "nft", "-f", "-"],
            input="\n".join(rules) + "\n",
            check=True,
            capture_output=True,
            text=True,
        )


def join_over(road, build, words, variables, server_words=()):
    """What a job of two systems prints, one at each end of the road, each started with `words`."""
    environment = {
        **os.environ,
        "IMPI_AUTH_KEY": "77",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        **variables,
    }
    server = subprocess.Popen(
        road.inside(0, build / "bin/impirun", "-server", "2", "-port", SERVER_PORT, *server_words),
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    server.stdout.readline()
    ends = [
        subprocess.Popen(
            road.inside(
                end, *(build / "bin/impirun", "-client", end, f"{road.FAR}:{SERVER_PORT}"), *words
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**environment, "IMPISHIM_HOST_ADDRESS": road.addresses(end)},
        )
        for end in (0, 1)
    ]
    said = [end.communicate(timeout=600) for end in ends]
    server.communicate(timeout=60)
    if any(end.returncode != 0 for end in (*ends, server)):
        fail(f"the road: {said}")
    return said


def cross(road, build, mpi, variables, rounds, large=LARGE, words=()):
    """The figures of long_road over the road, by name."""
    program = build / "tests/programs" / f"bench_long_road_{mpi}"
    delay = {"IMPISHIM_TEST_DELAY_MS": str(DELAY_MS)}
    said = join_over(
        road, build, ("-np", "2", program, large, rounds, *words), {**delay, **variables}
    )
    words = " ".join(out for out, _ in said).split()
    return {name: float(value) for name, value in zip(words[::2], words[1::2])}
