#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the build tree, and builds and runs a project that finds it by
find_package(impishim)."""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile


def run(command, seconds=60, **variables):
    """Runs it in a session of its own, of which nothing is left."""
    words = [str(word) for word in command]
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **variables},
    )
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        sys.exit(f"not over after {seconds} s: {' '.join(words)}\n{''.join(process.communicate())}")
    if process.returncode != 0:
        sys.exit(f"exit code {process.returncode}: {' '.join(words)}\n{out}{errors}")
    return out


def expect_sum(out):
    if out.strip() != "the sum is 5050":
        sys.exit(f"not the sum of 0 to 100: {out}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--cmake", "--compiler", "--build", "--project", "--mpiexec"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix, tree = pathlib.Path(folder) / "prefix", pathlib.Path(folder) / "build"
        run([arguments.cmake, "--install", arguments.build, "--prefix", prefix])
        run(
            [
                arguments.cmake,
                "-S",
                arguments.project,
                "-B",
                tree,
                f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
                f"-DCMAKE_PREFIX_PATH={prefix}",
            ]
        )
        run([arguments.cmake, "--build", tree], seconds=150)
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        consumer = tree / "consumer"
        expect_sum(run([arguments.mpiexec, "-n", 2, consumer], **as_root))
        # The same by what is installed beside it: one job of two systems, whose library impirun has
        # to find.
        joined = run(
            [prefix / "bin/impirun", "-np", 1, consumer, ":", "-np", 1, consumer],
            IMPI_AUTH_NONE="",
            **as_root,
        )
        expect_sum(joined.replace("2 systems: ", ""))
        if not joined.startswith("2 systems: "):
            sys.exit(f"not one job of two systems: {joined}")


if __name__ == "__main__":
    main()
