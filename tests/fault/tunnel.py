# SPDX-License-Identifier: Apache-2.0
"""Passes connections on, as `ssh -L` does: tunnel.py FROM TO, each a path (a Unix socket) or a port of
the loopback. One in each of two network namespaces, and a path between, join the two. Prints
"tunnel" when it listens, and ends with SIGTERM."""

import socket
import sys
import threading


def address(word):
    """Family and address of a socket."""
    if word.isdigit():
        return socket.AF_INET, ("127.0.0.1", int(word))
    return socket.AF_UNIX, word


def pump(source, target):
    """Passes bytes on until one side has ended."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for side in (source, target):
            side.close()


def main():
    family, here = address(sys.argv[1])
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(here)
    listener.listen(64)
    print("tunnel", flush=True)
    while True:
        near, _ = listener.accept()
        family, there = address(sys.argv[2])
        far = socket.socket(family, socket.SOCK_STREAM)
        far.connect(there)
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


if __name__ == "__main__":
    main()
