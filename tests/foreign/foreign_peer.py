#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A foreign implementation of IMPI 0.0, written from the specification alone: joins a job as one or
more clients of one process each, plays scenarios with a program that runs on the library under
test, and tells the first departure from the specification that it sees.

By hand, with the program as client 1 in another terminal (its arguments: the foreign rank, the
number of cancels that is printed, the scenarios):

    foreign_peer.py --serve 2 --clients 0 short long
    IMPI_AUTH_NONE= IMPISHIM_HOST_ADDRESS=127.0.0.1 impirun -client 1 ADDRESS -np 1 build/tests/programs/partner_mpich 0 10 short long
"""

import argparse
import sys
import threading

import collectives
import point_to_point
import representation
import scenarios
import startup
from packets import Departure


class ForeignClient(threading.Thread):
    """One client of the job: one host with one process. `lam`: behaves as LAM/MPI 7.1.4 where that
    departs from the specification."""

    def __init__(self, server, client, names, parameters, key=None, lam=False):
        super().__init__(daemon=True)
        self.server, self.client, self.names, self.key, self.lam = server, client, names, key, lam
        self.parameters = parameters
        self.departure = None
        self.process = None

    def run(self):
        try:
            self.play()
        except (Departure, OSError) as departure:
            self.departure = f"client {self.client}: {departure}"
            if self.process is not None:
                self.process.abandon()

    def play(self):
        talk = startup.ClientStartup(self.server, self.client, self.parameters, self.key)
        job = talk.exchange()
        rank = next(
            number for number in range(len(job.procs)) if job.client_of(number) == self.client
        )
        connections = startup.dance(job, job.host_of_proc[rank], talk.listener)
        talk.listener.close()
        self.process = process = point_to_point.Process(job, rank, connections)
        group = collectives.Collectives(process, self.lam)
        form = representation.Native if self.lam else representation.External32
        foreign = {
            number
            for number, proc in enumerate(job.procs)
            if proc.host[12:15] == b"\x7f\0\0" and proc.host[15] >= FIRST_ADDRESS
        }
        others = [number for number in range(len(job.procs)) if number not in foreign]
        scenarios.Scenarios(process, group, form, others).run(self.names)
        group.barrier()  # MPI_Finalize
        process.finish()
        talk.finish()


# The foreign clients of one job have addresses of their own, 127.0.0.(FIRST_ADDRESS + client).
FIRST_ADDRESS = 100


def parameters_of(client, **values):
    return startup.Parameters(
        address=f"127.0.0.{FIRST_ADDRESS + client}", pid=1000 + client, **values
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--serve", type=int, metavar="N", help="be the rendezvous server of N clients"
    )
    where.add_argument(
        "--server", metavar="ADDRESS", help="join at this server, such as impirun -server"
    )
    parser.add_argument("--clients", default="0", help="client numbers to be, between commas")
    parser.add_argument("--key", type=int, help="instead of no authentication")
    parser.add_argument("--lam", action="store_true", help="behave as LAM/MPI 7.1.4")
    for name in ("ackmark", "hiwater", "datalen", "maxlinear"):
        parser.add_argument(f"--{name}", type=int, default=getattr(startup.Parameters, name))
    parser.add_argument(
        "scenarios",
        nargs="*",
        help="short synchronous long cancel probe types collectives unmatched",
    )
    arguments = parser.parse_args()

    startup.PATIENCE = 600  # a person starts the others
    server = None
    if arguments.serve:
        server = startup.RendezvousServer(arguments.serve, arguments.key)
        server.start()
    address = arguments.server or server.address
    print(f"server {address}; cancels {scenarios.cancels(arguments)}", flush=True)
    values = {
        name: getattr(arguments, name) for name in ("ackmark", "hiwater", "datalen", "maxlinear")
    }
    clients = [
        ForeignClient(
            address,
            int(number),
            arguments.scenarios,
            parameters_of(int(number), **values),
            arguments.key,
            arguments.lam,
        )
        for number in arguments.clients.split(",")
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    departures = [client.departure for client in clients if client.departure]
    if server:
        server.join(5)
        departures += server.departures
    for client in clients:
        print(
            f"client {client.client}: {client.process.state() if client.process else 'did not join'}"
        )
    sys.exit("\n".join(departures) or None)


if __name__ == "__main__":
    main()
