#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the simulation sees: puts one fault after another into a copy of a source of wire, and
requires that a seed finds each of them within a minute.

    mutations.py --build FOLDER [--only NAME]

FOLDER is a build folder of Ninja in which resume_simulation is up to date. Nothing is written
there, nor among the sources. Unless IMPISHIM_LONG_TESTS=1 it only checks that each fault fits its
source, and says that the rest is skipped.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

TREE = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 60  # seconds for each mutation
STREAM_SEEDS = 8000
ENGINE_SEEDS = 2000
LOSS_SEEDS = 8000
FOUND = re.compile(r"^(stream|striped|engine|loss): seed (\d+)(?:: | has )(.*)", re.MULTILINE)


@dataclasses.dataclass
class Mutation:
    name: str
    file: str
    changes: list


MUTATIONS = [
    Mutation(
        "forgets one byte more than was acknowledged",
        "resume/resend_buffer.cpp",
        [("  begin_ = position;", "  begin_ = position < end_ ? position + 1 : position;")],
    ),
    Mutation(
        "finds bytes behind the end of a block",
        "resume/resend_buffer.cpp",
        [
            (
                "pieces[filled++] = {blocks_[offset / kBlockSize].get() + at, part};",
                "pieces[filled++] = {blocks_[offset / kBlockSize].get() + (part < size ? 0 : at), part};",
            )
        ],
    ),
    Mutation(
        "continues one byte behind the peer's position",
        "resume/resume_output.cpp",
        [("  sent_ = position;", "  sent_ = position < kept_.end() ? position + 1 : position;")],
    ),
    Mutation(
        "believes the position of a stale connection",
        "resume/resume_output.cpp",
        [("  if (position < kept_.begin())\n", "  if (false)\n")],
    ),
    Mutation(
        "continues a frame of the lost connection",
        "resume/resume_output.cpp",
        [("  header_sent_ = header_.size();\n  frame_left_ = 0;\n", "")],
    ),
    Mutation(
        "does not resume a later connection",
        "resume/resume_output.cpp",
        [("  resume_due_ = true;", "  resume_due_ = most_sent_ == 0 && acknowledged_input_ == 0;")],
    ),
    Mutation(
        "does not repeat the end", "resume/resume_output.cpp", [("  end_sent_ = false;\n", "")]
    ),
    Mutation(
        "sends bytes before the peer has said what it has",
        "resume/resume_output.cpp",
        [("  peer_ready_ = false;\n", "")],
    ),
    Mutation(
        "counts a frame when its header comes",
        "resume/resume_input.cpp",
        [
            ("  received_ += part;\n", ""),
            (
                "  frame_left_ = frame.size;\n",
                "  frame_left_ = frame.size;\n  received_ += frame.size;\n",
            ),
        ],
    ),
    Mutation(
        "keeps a partial header for the next connection",
        "resume/resume_input.cpp",
        [("  header_got_ = 0;\n  frame_left_ = 0;\n", "  frame_left_ = 0;\n")],
    ),
    Mutation(
        "keeps the rest of a frame for the next connection",
        "resume/resume_input.cpp",
        [("  header_got_ = 0;\n  frame_left_ = 0;\n", "  header_got_ = 0;\n")],
    ),
    Mutation(
        "moves bytes to the wrong place behind a header",
        "resume/resume_input.cpp",
        [("      move_down(areas, begin, place, part);\n", "")],
    ),
    Mutation(
        "never acknowledges without data",
        "resume/resumable_channel.cpp",
        [("    output_.want_acknowledgement();\n", "    static_cast<void>(0);\n")],
    ),
    Mutation(
        "does not watch for room after an acknowledgement",
        "resume/resumable_channel.cpp",
        [("(output_.has_output() || want_output_)) flush();", "output_.has_output()) flush();")],
    ),
    Mutation(
        "does not wake its owner for the end",
        "resume/connection_slot.cpp",
        [("  end_announced_ = true;\n  delivered_->raise();\n", "")],
    ),
    Mutation(
        "does not answer a peer that connects after the end",
        "resume/connection_slot.cpp",
        [
            (
                "  last_words_.assign(last_words.begin(), last_words.end());\n",
                "  static_cast<void>(last_words);\n",
            )
        ],
    ),
    Mutation(
        "does not wake its owner for a connection",
        "resume/connection_slot.cpp",
        [("  has_delivery_.store(true, std::memory_order_release);\n  delivered_->raise();\n", "")],
    ),
    Mutation(
        "does not send again what a lost strand had",
        "stripe/stripe_output.cpp",
        [("    again_.add({std::max(each.begin, acknowledged_), each.end});\n", "    continue;\n")],
    ),
    Mutation(
        "forgets bytes that a frame needs which has begun",
        "stripe/stripe_output.cpp",
        [
            (
                "    if (each.frame_left > 0) position = std::min(position, each.place);\n",
                "    continue;\n",
            )
        ],
    ),
    Mutation(
        "does not say the end again when its strand is lost",
        "stripe/stripe_output.cpp",
        [("  if (lost.has_end) end_sent_ = false;\n", "")],
    ),
    Mutation(
        "takes bytes that have come already",
        "stripe/stripe_input.cpp",
        [("  if (strand.place == received_) return", "  if (strand.place <= received_) return")],
    ),
    Mutation(
        "keeps the rest of a strand's frame for its next connection",
        "stripe/stripe_input.cpp",
        [("  it.frame_left = 0;\n", "")],
    ),
    Mutation(
        "takes a byte for one that has come early",
        "stripe/stripe_input.cpp",
        [
            (
                "    early_.add({first, strand.place});\n",
                "    early_.add({first, strand.place + 1});\n",
            )
        ],
    ),
    Mutation(
        "does not wake its owner for bytes that wait",
        "stripe/striped_channel.cpp",
        [("  announce_ready(!input_.ended() && input_.has_ready());\n", "")],
    ),
    Mutation(
        "forgets during a loss where a relayed packet goes",
        "path/relay.cpp",
        [
            (
                "packet.to_be_relayed = arrival.to_be_",
                "packet.to_be_relayed = link.latest_route.to_be_",
            )
        ],
    ),
    Mutation(
        "keeps what is arriving for a lost client",
        "path/receive_loss.cpp",
        [("    if (comes || goes) arrival.relay_to = link.get();\n", "")],
    ),
    Mutation(
        "leaves sends to a lost client that wait for an answer",
        "path/send_loss.cpp",
        [
            (
                "    if (job.proc(each.second->destination).client != client) return false;\n"
                "    dropped.insert(each.second);\n",
                "    if (job.proc(each.second->destination).client != client) return false;\n",
            )
        ],
    ),
    Mutation(
        "gives nothing back for a dropped packet",
        "path/relay.cpp",
        [
            (
                "  counters_.count_relayed(size);\n  passed_on(link, size);\n",
                "  static_cast<void>(size);\n",
            )
        ],
    ),
]


class Build:
    """The commands that compile one source of wire and link the simulation."""

    def __init__(self, folder):
        self.folder = folder
        entries = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
        self.commands = {
            str(pathlib.Path(entry["file"]).relative_to(TREE / "wire")): shlex.split(
                entry["command"]
            )
            for entry in entries
            if pathlib.Path(entry["file"]).is_relative_to(TREE / "wire")
        }
        listed = subprocess.run(
            ["ninja", "-t", "commands", "-s", "bin/resume_simulation"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        # Ninja puts the command between two that do nothing.
        words = shlex.split(listed)
        self.link = words[words.index("&&") + 1 : len(words) - words[::-1].index("&&") - 1]

    def make(self, source, file, program):
        """Compiles `source`, a changed copy of wire's `file`, and links it before the library that has the original."""
        made = source.with_suffix(".o")
        compile_command = list(self.commands[file])
        compile_command[compile_command.index("-o") + 1] = str(made)
        compile_command[compile_command.index("-c") + 1] = str(source)
        subprocess.run([*compile_command, "-w"], cwd=self.folder, check=True)
        link = list(self.link)
        at = link.index("-o")
        link[at + 1] = str(program)
        link.insert(at, str(made))
        subprocess.run(link, cwd=self.folder, check=True)


def apply(mutation, folder):
    """Writes the changed source into the folder and returns its path."""
    path = TREE / "wire" / mutation.file
    if not path.is_file():
        sys.exit(f"{mutation.name}: there is no wire/{mutation.file}")
    text = path.read_text(encoding="utf-8")
    for old, new in mutation.changes:
        if text.count(old) != 1:
            sys.exit(f"{mutation.name}: {mutation.file} has {text.count(old)} times:\n{old}")
        text = text.replace(old, new)
    source = folder / pathlib.Path(mutation.file).name
    source.write_text(text, encoding="utf-8")
    return source


def search(program, file):
    """Returns the seed that finds the fault and what it says, or None; and the seconds."""
    begin = time.monotonic()
    levels = [("stream", STREAM_SEEDS), ("engine", ENGINE_SEEDS)]
    if file.startswith("stripe/"):
        levels = [("striped", STREAM_SEEDS)]
    elif not file.startswith("resume/"):
        levels = [("loss", LOSS_SEEDS)]
    for level, seeds in levels:
        left = LIMIT - (time.monotonic() - begin)
        try:
            run = subprocess.run(
                [program, "--seeds", str(seeds), "--level", level],
                capture_output=True,
                text=True,
                timeout=max(left, 0.001),
                check=False,
            )
        except subprocess.TimeoutExpired:
            break
        if run.returncode != 0:
            found = FOUND.search(run.stdout + run.stderr)
            if found is None:
                sys.exit(f"the simulation names no seed: {run.stdout}{run.stderr}")
            return found, time.monotonic() - begin
    return None, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--only", help="the name of one mutation")
    arguments = parser.parse_args()
    # Sources move, also when nobody runs the rest.
    with tempfile.TemporaryDirectory() as name:
        for mutation in MUTATIONS:
            apply(mutation, pathlib.Path(name))
    if os.environ.get("IMPISHIM_LONG_TESTS") != "1":
        print(
            "skipped: each fits its source; takes some minutes; set IMPISHIM_LONG_TESTS=1 to run it"
        )
        return 0
    build = Build(arguments.build)
    for file in ("resume/resume_output.cpp", "stripe/striped_channel.cpp", "path/relay.cpp"):
        unmutated, _ = search(arguments.build / "bin/resume_simulation", file)
        if unmutated is not None:
            sys.exit(f"without a mutation: {unmutated.group(0)}")
    missed = 0
    for mutation in MUTATIONS:
        if arguments.only not in (None, mutation.name):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = folder / "mutated_simulation"
            build.make(apply(mutation, folder), mutation.file, program)
            found, seconds = search(program, mutation.file)
        if found is None:
            missed += 1
            print(f"NOT FOUND | {mutation.name} | {seconds:.1f} s", flush=True)
        else:
            what = f"{found.group(1)} seed {found.group(2)}"
            print(
                f"{what} | {mutation.name} | {seconds:.1f} s | {found.group(3)[:100]}", flush=True
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
