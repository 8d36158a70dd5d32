#!/usr/bin/env python3
"""Installs the build tree, and builds and runs a project that finds it by find_package(impishim)."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile


def run(command, **variables):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, env={**os.environ, **variables})
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--cmake", "--compiler", "--build", "--project", "--mpiexec"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix, tree = pathlib.Path(folder) / "prefix", pathlib.Path(folder) / "build"
        run([arguments.cmake, "--install", arguments.build, "--prefix", prefix])
        run([arguments.cmake, "-S", arguments.project, "-B", tree, f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
             f"-DCMAKE_PREFIX_PATH={prefix}"])
        run([arguments.cmake, "--build", tree])
        for file in ("bin/impirun", "include/impishim/impishim.h"):
            if not (prefix / file).exists():
                sys.exit(f"{file} is not installed")
        out = run([arguments.mpiexec, "-n", 2, tree / "consumer"], OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        if out.strip() != "the sum is 5050":
            sys.exit(f"not the sum of 0 to 100: {out}")


if __name__ == "__main__":
    main()
