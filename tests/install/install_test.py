#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the build tree; builds and runs a project that finds it by find_package(impishim)
(`cmake`) or by pkg-config: a program of arrays, one that is linked with the library, and darray's
example."""

import argparse
import pathlib
import shutil
import tempfile

from running import AS_ROOT, expect, run

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
HEAT = ("50", "100", "heat.png")


def by_cmake(prefix, tree, examples, arguments):
    out = run(
        [
            arguments.cmake,
            "-S",
            HERE / "consumer",
            "-B",
            tree,
            f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
            f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DEXAMPLES={examples}",
            f"-DMPIS={';'.join(arguments.launchers)}",
        ],
        seconds=100,
    )
    for mpi in arguments.launchers:
        library = prefix / arguments.libraries / "impishim" / mpi / "libimpishim.so"
        expect(f"preload {mpi} {library}" in out, f"not the library of {mpi}: {out}")
    run([arguments.cmake, "--build", tree], seconds=250)


def by_pkg_config(prefix, tree, examples, arguments):
    tree.mkdir()
    folders = str(prefix / arguments.libraries / "pkgconfig")

    def words(*names):
        return run(["pkg-config", "--cflags", "--libs", *names], PKG_CONFIG_PATH=folders).split()

    def build(name, sources, *packages):
        # Warnings of headers that are not the project's own are not its business.
        compiler = [arguments.compiler, "-std=c++20", "-O1", f"-I{examples}"]
        command = [*compiler, *sources, "-o", tree / name, *words(*packages)]
        run(command, seconds=250)

    build("consumer", [HERE / "consumer/consumer.cpp"], "impishim-darray")
    for mpi in arguments.launchers:
        build(f"linked_{mpi}", ["-xc++", HERE / "consumer/linked.c", "-xnone"], f"impishim-{mpi}")
        example = examples / "darray/examples"
        sources = [example / "heat.cpp", example / "image.cpp"]
        build(f"heat_{mpi}", sources, f"impishim-darray-{mpi}", "libpng")


def run_programs(prefix, tree, launchers):
    first = next(iter(launchers.values()))
    consumer = tree / "consumer"
    out = run([first, "-n", 2, consumer], **AS_ROOT)
    expect(out.strip() == "the sum is 5050", f"not the sum of 0 to 100: {out}")
    # The same by what is installed beside it: one job of two systems, whose library impirun has to
    # find.
    impirun = prefix / "bin/impirun"
    joined = {**AS_ROOT, "IMPI_AUTH_NONE": ""}
    out = run([impirun, "-np", 1, consumer, ":", "-np", 1, consumer], **joined)
    expect(out.strip() == "2 systems: the sum is 5050", f"not one job of two systems: {out}")

    systems = []
    for mpi, mpiexec in launchers.items():
        out = run([mpiexec, "-n", 1, tree / f"linked_{mpi}"], **AS_ROOT)
        expect(out.strip() == "linked, 1 in all", f"{mpi}: not linked with the library: {out}")
        systems += [":", "-np", 1, tree / f"heat_{mpi}", *HEAT[:2], tree / HEAT[2]]
    run([impirun, *systems[1:]], **joined)
    expect((tree / HEAT[2]).read_bytes().startswith(b"\x89PNG"), "no picture")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=("cmake", "pkg-config"))
    for name in ("--cmake", "--compiler", "--build", "--libraries"):
        parser.add_argument(name, required=True)
    parser.add_argument("--mpiexec", action="append", required=True, help="MPI=LAUNCHER")
    arguments = parser.parse_args()
    arguments.launchers = dict(each.split("=", 1) for each in arguments.mpiexec)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made).resolve()
        prefix = folder / "prefix"
        run([arguments.cmake, "--install", arguments.build, "--prefix", prefix])
        # The examples beside installed headers alone.
        examples = folder / "examples"
        shutil.copytree(TREE / "darray/examples", examples / "darray/examples")
        build = by_cmake if arguments.way == "cmake" else by_pkg_config
        build(prefix, folder / "build", examples, arguments)
        run_programs(prefix, folder / "build", arguments.launchers)


if __name__ == "__main__":
    main()
