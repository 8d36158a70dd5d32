# SPDX-License-Identifier: Apache-2.0
"""Reads traces by protoc and the names and numbers of Perfetto's messages."""

import pathlib
import re
import subprocess

SCHEMA = pathlib.Path(__file__).resolve().parent / "perfetto.proto"
BEGIN, END, INSTANT = "TYPE_SLICE_BEGIN", "TYPE_SLICE_END", "TYPE_INSTANT"


class Message:
    """A message in protoc's text form: the values of each field in their order."""

    def __init__(self):
        self.fields = {}

    def all(self, name):
        return self.fields.get(name, [])

    def get(self, name, default=None):
        return self.all(name)[0] if name in self.fields else default


def value_of(text):
    return text[1:-1] if text.startswith('"') else int(text) if text.isdigit() else text


def decode(content):
    """The trace as protoc reads it by the schema."""
    words = ["protoc", f"--proto_path={SCHEMA.parent}", "--decode=perfetto.protos.Trace"]
    done = subprocess.run([*words, SCHEMA.name], input=content, capture_output=True, check=True)
    stack = [Message()]
    for line in done.stdout.decode().splitlines():
        line = line.strip()
        if line == "}":
            stack.pop()
            continue
        name, is_message = line.split(" ")[0].rstrip(":"), line.endswith(" {")
        value = Message() if is_message else value_of(line.split(": ", 1)[1])
        stack[-1].fields.setdefault(name, []).append(value)
        if is_message:
            stack.append(value)
    return stack[0]


class Event:
    """A slice, whose end is known, or an instant."""

    def __init__(self, process, packet, texts):
        event = packet.get("track_event")
        self.process, self.type = process, event.get("type")
        self.begin = self.end = packet.get("timestamp")
        self.track = event.get("track_uuid")
        self.category = texts["event_categories"].get(event.get("category_iids"), "")
        self.name = texts["event_names"].get(event.get("name_iid"), "")
        self.flows, self.ending_flows = event.all("flow_ids"), event.all("terminating_flow_ids")
        self.details = {
            texts["debug_annotation_names"][each.get("name_iid")]: each.get(
                "string_value", each.get("uint_value")
            )
            for each in event.all("debug_annotations")
        }
        self.inside = None  # the slice around it


class Process:
    """What one rank has traced."""

    def __init__(self, descriptor):
        self.name, self.labels = descriptor.get("process_name"), descriptor.all("process_labels")
        self.rank = int(re.fullmatch(r"rank (\d+), system \d+", self.name).group(1))
        self.system = int(self.name.split()[-1])
        self.events, self.threads = [], {}
        found = [re.fullmatch(r"clock right to (\d+) ns", label) for label in self.labels]
        self.error = next((int(each.group(1)) for each in found if each), None)

    def slices(self, category):
        return [each for each in self.events if each.category == category and each.type == BEGIN]

    def calls(self, name):
        return [each for each in self.slices("call") if each.name == name]

    def instants(self, category):
        return [each for each in self.events if each.category == category and each.type == INSTANT]


def read_trace(content):
    """The processes of a trace by rank. Raises ValueError if slices do not lie in each other."""
    processes, texts, open_slices = {}, {}, {}
    for packet in decode(content).all("packet"):
        sequence, descriptor = packet.get("trusted_packet_sequence_id"), packet.get(
            "track_descriptor"
        )
        if descriptor and descriptor.get("process"):
            processes[sequence] = Process(descriptor.get("process"))
            continue
        if descriptor:
            processes[sequence].threads[descriptor.get("uuid")] = descriptor.get("name")
            continue
        if packet.get("sequence_flags") & 1:
            texts[sequence] = {
                kind: {} for kind in ("event_categories", "event_names", "debug_annotation_names")
            }
        for kind, known in texts[sequence].items():
            for entry in packet.get("interned_data", Message()).all(kind):
                known[entry.get("iid")] = entry.get("name")
        add_event(Event(processes[sequence], packet, texts[sequence]), open_slices)
    if any(open_slices.values()):
        raise ValueError("a slice without an end")
    return {process.rank: process for process in processes.values()}


def add_event(event, open_slices):
    stack = open_slices.setdefault(event.track, [])
    if stack and event.begin < stack[-1].begin:
        raise ValueError(f"{event.name} before the slice that it lies in")
    if event.type == END:
        stack.pop().end = event.begin
        return
    event.inside = stack[-1] if stack else None
    event.process.events.append(event)
    if event.type == BEGIN:
        stack.append(event)
