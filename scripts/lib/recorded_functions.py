# SPDX-License-Identifier: Apache-2.0
"""Which functions record what their thread waits for (shim/monitor): statements for the wrappers,
which gen_wrappers.py writes."""

import re

from mpi_functions import BLOCKING

SEND = re.compile(r"MPI_(Send|Ssend|Rsend)(_c)?$")
RECEIVE = re.compile(r"MPI_(Recv|Probe|Mprobe)(_c)?$")
BOTH = re.compile(r"MPI_Sendrecv(_replace)?(_c)?$")
START_SEND = re.compile(r"MPI_(I|Ir|Is)send(_c)?$|MPI_P?(R|S)?send_init(_c)?$")
START_RECEIVE = re.compile(r"MPI_(Irecv|Recv_init|Precv_init)(_c)?$")
WAITS = {
    "MPI_Wait": "requests(1, {0}, false)",
    "MPI_Waitall": "requests({0}, {1}, false)",
    "MPI_Waitany": "requests({0}, {1}, true)",
    "MPI_Waitsome": "requests({0}, {1}, true)",
}
# They make an operation that a wait may later be for, of which nothing more is known.
OTHER_START = re.compile(
    r"MPI_(I[a-z]\w*|File_i\w+|R(put|get|accumulate|get_accumulate)(_c)?|Bsend_init(_c)?|Grequest_start)$"
)
# Their communicator is that of one side alone.
NOT_ALL_MEMBERS = re.compile(
    r"MPI_(Comm_(create_group|accept|connect|spawn|spawn_multiple|join|disconnect)|Comm_free)$"
)


class Recording:
    """`before`: calls on the record, behind each other; `after`: statements when the function has
    succeeded. `blocks`: the call is recorded, and not only what it starts."""

    def __init__(self):
        self.before, self.after, self.blocks = "", [], False


def position(function, handle):
    for index, parameter in enumerate(function.parameters):
        if parameter.is_value(handle):
            return index
    return None


def record_messages(function, recording):
    """What sends and receives say: the rank and the tag stand before the communicator."""
    names = [parameter.name for parameter in function.parameters]
    at = position(function, "MPI_Comm")
    peer = f"{names[at]}, {names[at - 2]}, {names[at - 1]}"
    kinds = {
        SEND: "RecordedWait::Kind::kSend",
        RECEIVE: "RecordedWait::Kind::kReceive",
        BOTH: "RecordedWait::Kind::kReceive",
    }
    for form, kind in kinds.items():
        if form.match(function.name):
            recording.before += f".message({kind}, {peer})"
            recording.blocks = True
    if BOTH.match(function.name):
        recording.before += (
            f".message(RecordedWait::Kind::kSend, {names[at]}, {names[3]}, {names[4]})"
        )
    request = next((p.name for p in function.parameters if p.is_value("MPI_Request *")), None)
    for form, kind in ((START_SEND, "kSend"), (START_RECEIVE, "kReceive")):
        if form.match(function.name):
            recording.after.append(
                f"recorded.started_message({request}, RecordedWait::Kind::{kind}, {peer});"
            )


def record_communicators(function, recording):
    comms = function.values_of("MPI_Comm")
    parent = comms[0] if comms else "MPI_COMM_NULL"
    pointers = [p.name for p in function.parameters if p.is_value("MPI_Comm *")]
    if function.name in ("MPI_Comm_free", "MPI_Comm_disconnect"):
        # The handle is null afterwards.
        recording.before = f".ending({pointers[0]})" + recording.before
        recording.after.append("recorded.freed();")
    elif function.name == "MPI_Comm_set_name":
        recording.after.append(f"recorded.named({comms[0]}, {function.parameters[1].name});")
    elif recording.blocks and pointers:
        recording.after.append(f"recorded.made({parent}, {pointers[0]});")


def recording_of(function, nonblocking):
    """How the function is recorded; None if it is not."""
    recording, name = Recording(), function.name
    comms = function.values_of("MPI_Comm")
    requests = [p.name for p in function.parameters if p.is_value("MPI_Request *")]
    if any(form.match(name) for form in (SEND, RECEIVE, BOTH, START_SEND, START_RECEIVE)):
        record_messages(function, recording)
    elif name in WAITS:
        names = [parameter.name for parameter in function.parameters]
        recording.before, recording.blocks = "." + WAITS[name].format(*names), True
    elif function.fate == "collective" and function.way != "run":
        recording.before = f".collective({comms[0]})"
        recording.after.append(f"recorded.started_collective({requests[0]});")
    elif function.fate == "collective" or function.short in nonblocking or BLOCKING.match(name):
        recording.blocks = True
        if comms and not NOT_ALL_MEMBERS.match(name):
            recording.before = f".collective({comms[0]})"
    elif re.match(r"MPI_Comm_idup", name):
        recording.before = f".collective({comms[0]})"
        recording.after.append(f"recorded.started_collective({requests[0]});")
    elif OTHER_START.match(name) and requests:
        recording.after.append(f"recorded.started_other({requests[0]});")
    elif name == "MPI_Finalize":
        recording.before, recording.blocks = ".collective(MPI_COMM_WORLD)", True
    record_communicators(function, recording)
    return recording if recording.before or recording.after or recording.blocks else None


def recorded_body(recording, function, call):
    """The body of a function that records `call`, and does it."""
    lines = [f'  RecordedCall recorded("{function.name}");']
    if recording.before:
        lines.append(f"  recorded{recording.before};")
    if recording.blocks:
        lines.append("  recorded.begin();")
    if not recording.after:
        return "\n".join(lines + [f"  return {call};"])
    lines.append(f"  const int code = {call};")
    lines += [f"  if (code == MPI_SUCCESS) {statement}" for statement in recording.after]
    return "\n".join(lines + ["  return code;"])
