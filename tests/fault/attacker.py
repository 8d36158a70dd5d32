# SPDX-License-Identifier: Apache-2.0
"""Another user of the machine, without the job's key, at a host's port: run by attack_test.py as
that user. It prints "ready" once it has done what it can before the right host comes, and at the
end "got" with the number of bytes that it has received.

  attacker.py HOW ADDRESS SOURCE [FILE]    HOW: claim, echo, replay FILE, flood
"""

import pathlib
import select
import socket
import struct
import sys
import time

HOW, ADDRESS, SOURCE = sys.argv[1:4]
LISTENING = "0A"
MAGIC = 0x494D504D
CONNECTIONS = 500


def listening_port():
    """The port at ADDRESS on which some process listens; every user may read this."""
    wanted = "{:08X}".format(struct.unpack("=I", socket.inet_aton(ADDRESS))[0])
    while True:
        for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, port = local.split(":")
            if address == wanted and state == LISTENING:
                return int(port, 16)
        time.sleep(0.02)


def connected(port):
    made = socket.socket()
    made.bind((SOURCE, 0))
    made.connect((ADDRESS, port))
    return made


def say(connection, data):
    try:
        connection.sendall(data)
    except OSError:
        pass  # it has been turned away already


def opening():
    if HOW == "claim":
        return struct.pack(">i", 1)
    if HOW == "echo":
        return struct.pack(">iI", 1, MAGIC) + bytes(64)
    if HOW == "replay":
        return pathlib.Path(sys.argv[4]).read_bytes()
    return b""


def main():
    port = listening_port()
    connections = [connected(port) for _ in range(CONNECTIONS if HOW == "flood" else 1)]
    for connection in connections:
        say(connection, opening())
    print("ready", flush=True)
    got = b""
    while connections:
        for each in select.select(connections, [], [])[0]:
            try:
                data = each.recv(65536)
            except ConnectionResetError:
                data = b""
            got += data
            if HOW == "echo" and data:
                say(each, data)
            if not data:
                connections.remove(each)
    print("got", got.hex() or "nothing", flush=True)


main()
