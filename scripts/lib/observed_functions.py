# SPDX-License-Identifier: Apache-2.0
"""Which functions tell what their thread does and waits for (shim/monitor): statements for the
wrappers, which gen_wrappers.py writes."""

import re

from mpi_functions import BLOCKING

SEND = re.compile(r"MPI_(Send|Ssend|Rsend)(_c)?$")
RECEIVE = re.compile(r"MPI_(Recv|Probe|Mprobe)(_c)?$")
BOTH = re.compile(r"MPI_Sendrecv(_replace)?(_c)?$")
START_SEND = re.compile(r"MPI_(I|Ir|Is)send(_c)?$|MPI_(Send|(R|S|P)send)_init(_c)?$")
START_RECEIVE = re.compile(r"MPI_(Irecv|Recv_init|Precv_init)(_c)?$")
# They ask for a message, and do not wait.
ASK = re.compile(r"MPI_(Iprobe|Improbe)$")
WAITS = {
    "MPI_Wait": "requests(1, {0}, false)",
    "MPI_Waitall": "requests({0}, {1}, false)",
    "MPI_Waitany": "requests({0}, {1}, true)",
    "MPI_Waitsome": "requests({0}, {1}, true)",
}
POLLS = {
    "MPI_Test": "polls(1, {0})",
    "MPI_Testall": "polls({0}, {1})",
    "MPI_Testany": "polls({0}, {1})",
    "MPI_Testsome": "polls({0}, {1})",
    "MPI_Start": "polls(1, {0})",
    "MPI_Startall": "polls({0}, {1})",
}
STARTS = {"MPI_Start": "started_again(1, {0})", "MPI_Startall": "started_again({0}, {1})"}
# What sends a message at once, and what prepares one for MPI_Start.
SENDS = re.compile(r"MPI_(I?[bsr]?send|Bsend|Ssend|Rsend|Send|I?sendrecv(_replace)?)(_c)?$", re.I)
PREPARES = re.compile(r"MPI_[BRSP]?send_init(_c)?$", re.I)
# They make an operation that a wait may later be for, of which nothing more is known.
OTHER_START = re.compile(
    r"MPI_(I[a-z]\w*|File_i\w+|R(put|get|accumulate|get_accumulate)(_c)?|Bsend_init(_c)?|Grequest_start)$"
)
# They take time, and have no record of what they wait for.
TIMED = re.compile(
    r"MPI_(Mrecv|Put|Get|Accumulate|Get_accumulate|Fetch_and_op|Compare_and_swap|Win_test|Pready\w*|Parrived"
    r"|File_(read|write)\w*)(_c)?$"
)
# Their communicator is that of one side alone.
NOT_ALL_MEMBERS = re.compile(
    r"MPI_(Comm_(create_group|accept|connect|spawn|spawn_multiple|join|disconnect)|Comm_free)$"
)


class Observation:
    """`before`: calls on the observed call, behind each other; `after`: statements when the function
    has succeeded. `blocks`: the call is recorded, and not only what it starts."""

    def __init__(self):
        self.before, self.after, self.blocks, self.timed = "", [], False, False


def position(function, handle):
    for index, parameter in enumerate(function.parameters):
        if parameter.is_value(handle):
            return index
    return None


def observe_messages(function, observation):
    """What sends and receives say: the rank and the tag stand before the communicator."""
    names = [parameter.name for parameter in function.parameters]
    at = position(function, "MPI_Comm")
    peer = f"{names[at]}, {names[at - 2]}, {names[at - 1]}"
    kinds = {
        SEND: "RecordedWait::Kind::kSend",
        RECEIVE: "RecordedWait::Kind::kReceive",
        ASK: "RecordedWait::Kind::kReceive",
        BOTH: "RecordedWait::Kind::kReceive",
        START_SEND: "RecordedWait::Kind::kSend",
        START_RECEIVE: "RecordedWait::Kind::kReceive",
    }
    if ASK.match(function.name):
        peer = f"{names[2]}, {names[0]}, {names[1]}"
    for form, kind in kinds.items():
        if form.match(function.name):
            way = "reaches" if form in (START_SEND, START_RECEIVE, ASK) else "message"
            observation.before += f".{way}({kind}, {peer})"
            observation.blocks = way == "message"
    if BOTH.match(function.name):
        observation.before += (
            f".message(RecordedWait::Kind::kSend, {names[at]}, {names[3]}, {names[4]})"
        )
    request = next((p.name for p in function.parameters if p.is_value("MPI_Request *")), None)
    for form, kind in ((START_SEND, "kSend"), (START_RECEIVE, "kReceive")):
        if form.match(function.name):
            observation.after.append(
                f"observed.started_message({request}, RecordedWait::Kind::{kind}, {peer});"
            )


def observe_traffic(function, observation):
    """What a message that is sent counts for: its receiver and its size."""
    names = [parameter.name for parameter in function.parameters]
    comms = function.values_of("MPI_Comm")
    types = function.values_of("MPI_Datatype")
    if not comms or not types or not (SENDS.match(function.name) or PREPARES.match(function.name)):
        return
    count = names[1]
    peer = names[names.index(types[0]) + 1]
    if function.name.startswith("MPI_Psend"):
        count = f"static_cast<MPI_Count>({names[1]}) * {names[2]}"
    message = f"{comms[0]}, {peer}, {count}, {types[0]}"
    if PREPARES.match(function.name):
        request = next(p.name for p in function.parameters if p.is_value("MPI_Request *"))
        observation.after.append(f"observed.prepared({request}, {message});")
    else:
        observation.after.append(f"observed.sent({message});")


def observe_communicators(function, observation):
    comms = function.values_of("MPI_Comm")
    parent = comms[0] if comms else "MPI_COMM_NULL"
    pointers = [p.name for p in function.parameters if p.is_value("MPI_Comm *")]
    if function.name in ("MPI_Comm_free", "MPI_Comm_disconnect"):
        # The handle is null afterwards.
        observation.before = f".ending({pointers[0]})" + observation.before
        observation.after.append("observed.freed();")
    elif function.name == "MPI_Comm_set_name":
        observation.after.append(f"observed.named({comms[0]}, {function.parameters[1].name});")
    elif observation.blocks and pointers:
        observation.after.append(f"observed.made({parent}, {pointers[0]});")


def observation_of(function, nonblocking):
    """How the function is observed; None if it is not."""
    observation, name = Observation(), function.name
    comms = function.values_of("MPI_Comm")
    names = [parameter.name for parameter in function.parameters]
    requests = [p.name for p in function.parameters if p.is_value("MPI_Request *")]
    if any(form.match(name) for form in (SEND, RECEIVE, ASK, BOTH, START_SEND, START_RECEIVE)):
        observe_messages(function, observation)
    elif name in WAITS:
        observation.before, observation.blocks = "." + WAITS[name].format(*names), True
    elif name in POLLS:
        observation.before = "." + POLLS[name].format(*names)
        if name in STARTS:
            observation.after.append(f"observed.{STARTS[name].format(*names)};")
    elif function.fate == "collective" and function.way != "run":
        observation.before = f".collective({comms[0]})"
        observation.after.append(f"observed.started_collective({requests[0]});")
    elif function.fate == "collective" or function.short in nonblocking or BLOCKING.match(name):
        observation.blocks = True
        if comms and not NOT_ALL_MEMBERS.match(name):
            observation.before = f".collective({comms[0]})"
    elif re.match(r"MPI_Comm_idup", name):
        observation.before = f".collective({comms[0]})"
        observation.after.append(f"observed.started_collective({requests[0]});")
    elif OTHER_START.match(name) and requests:
        observation.after.append(f"observed.started_other({requests[0]});")
    elif name == "MPI_Request_free":
        observation.before = f".frees({names[0]})"
    elif name == "MPI_Finalize":
        observation.before, observation.blocks = ".collective(MPI_COMM_WORLD)", True
    elif TIMED.match(name):
        observation.timed = True
    observe_traffic(function, observation)
    observe_communicators(function, observation)
    asked = observation.before or observation.after or observation.blocks or observation.timed
    return observation if asked else None


def observed_body(observation, function, call):
    """The body of a function that observes `call`, and does it."""
    lines = [f'  ObservedCall observed("{function.name}", {function.number});']
    if observation.before:
        lines.append(f"  observed{observation.before};")
    if observation.blocks:
        lines.append("  observed.begin();")
    if not observation.after:
        return "\n".join(lines + [f"  return {call};"])
    lines.append(f"  const int code = {call};")
    lines += [f"  if (code == MPI_SUCCESS) {statement}" for statement in observation.after]
    return "\n".join(lines + ["  return code;"])
