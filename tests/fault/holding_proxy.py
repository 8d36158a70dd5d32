# SPDX-License-Identifier: Apache-2.0
"""Passes connections to a rendezvous server on, and holds back what clients say after the sizes of
their systems until SIGUSR1 comes: meanwhile the hosts of the other systems listen. Prints its
address; ends at SIGTERM.

usage: holding_proxy.py SERVER_ADDRESS:PORT """

import signal
import socket
import struct
import sys
import threading

COMMAND = b"COLL"
SYSTEM_SIZE = struct.pack(">I", 0x0F00)
RELEASED = threading.Event()


def has_size(said):
    """True once a whole label SYSTEM_SIZE was said (docs/protocol.md)."""
    at = said.find(COMMAND)
    while at >= 0:
        length, label = said[at + 4 : at + 8], said[at + 8 : at + 12]
        if label == SYSTEM_SIZE:
            return len(said) >= at + 8 + struct.unpack(">I", length)[0]
        at = said.find(COMMAND, at + 1)
    return False


def pass_on(source, target, holds):
    said = b""
    while data := source.recv(65536):
        if holds:
            if has_size(said):
                RELEASED.wait()
                holds = False
            said += data
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGUSR1, lambda *_: RELEASED.set())
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"proxy 127.0.0.1:{listener.getsockname()[1]}", flush=True)
    while True:
        client, _ = listener.accept()
        try:
            server = socket.create_connection((host, int(port)))
        except ConnectionRefusedError:  # the job is over, and its server has ended
            client.close()
            continue
        for source, target, holds in ((client, server, True), (server, client, False)):
            threading.Thread(target=pass_on, args=(source, target, holds), daemon=True).start()


main()
