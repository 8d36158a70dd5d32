#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian packages, as scripts/package makes them.

    packages_test.py build       makes them (lintian judges them), and looks into each
    packages_test.py clean-root  in a new root of Debian, with nothing more than they depend on:
                                 installs them, runs jobs, purges them, and finds no trace
"""

import argparse
import os
import pathlib
import re
import shutil
import tempfile

from running import attempt, expect, run, skip
from transcript import marked

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
PAGE = TREE / "docs/install.md"
# What of apt's own settings a new root's apt needs to reach the same mirror.
SETTINGS = re.compile(r"^Acquire::(Check-Valid-Until|Check-Date|Retries|http|https)\b")


def field(package, name):
    return run(["dpkg-deb", "-f", package, name]).strip()


def names_of(dependencies):
    """The packages that a field names: of alternatives the first, without versions."""
    found = [re.split(r"[ (|]", each.strip())[0] for each in dependencies.split(",")]
    return [name for name in found if name]


def files_of(package):
    """The paths in a package, without folders."""
    lines = run(["dpkg-deb", "-c", package]).splitlines()
    paths = [re.split(r" -> ", line.split(None, 5)[5])[0] for line in lines if line[0] != "d"]
    return {path.removeprefix(".") for path in paths}


def look_into(packages, mpis):
    architecture = run(["dpkg", "--print-architecture"]).strip()
    triplet = run(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"]).strip()
    libraries = f"/usr/lib/{triplet}"
    contents, owners = {}, {}
    for package in packages:
        name = field(package, "Package")
        contents[name] = files_of(package)
        expect(field(package, "Architecture") == architecture, f"{name}: not {architecture}")
        for path in contents[name]:
            expect(path not in owners, f"{path} is in {name} and in {owners.get(path)}")
            owners[path] = name
        # Policy 8.1.1: the loader's cache has only what lies in its own folders.
        for path in contents[name]:
            shared = pathlib.PurePath(path).parent.as_posix() == libraries and ".so" in path
            expect(not shared, f"{path} needs a trigger of ldconfig")
        documents = f"/usr/share/doc/{name}"
        for file in ("copyright", "changelog.gz", "changelog.Debian.gz"):
            expect(f"{documents}/{file}" in contents[name], f"{name} has no {file}")
    for mpi in mpis:
        name = f"libimpishim-{mpi}0"
        expect(f"{libraries}/impishim/{mpi}/libimpishim.so.0" in contents[name], name)
        needed = field(next(p for p in packages if p.name.startswith(name + "_")), "Depends")
        # What dpkg-shlibdeps has found: the C library, and the MPI library with its version.
        expect(re.search(r"\blibc6 \(>= [\d.]+\)", needed), f"{name} depends on: {needed}")
        expect(re.search(rf"\blib{mpi}\d+ \(>= [^)]+\)", needed), f"{name} depends on: {needed}")
    expect("/usr/bin/impirun" in contents["impishim"], "impirun is not in impishim")
    development = contents["libimpishim-dev"]
    for file in (
        "/usr/include/impishim/impishim.h",
        "/usr/include/darray/darray.hpp",
        f"{libraries}/cmake/impishim/impishimConfig.cmake",
        f"{libraries}/pkgconfig/impishim-darray.pc",
    ):
        expect(file in development, f"{file} is not in libimpishim-dev")
    print("\n".join(sorted(f"{name}: {len(paths)} files" for name, paths in contents.items())))


def has_python(packages):
    return any(path.name.startswith("python3-") for path in packages)


def compare_with_page(packages):
    """The page names the packages of every MPI, with their versions."""
    ((_, _, said),) = marked(PAGE, "run by install.packages")
    names = [path.name for path in packages]
    expect([pathlib.PurePath(line).name for line in said] == names, f"{PAGE.name} has {said}")


def write_commands(folder):
    """The page's commands, as clean_root.sh runs them: installing, a job, purging."""
    lines = [command for _, command, _ in marked(PAGE, "run by install.clean_root")]
    expect(len(lines) == 3, f"{PAGE.name}: {lines}")
    paths = [folder / name for name in ("install", "job", "purge")]
    for path, line in zip(paths, lines):
        path.write_text(f"set -e\n{line}\n")
    return paths


def debian_sources():
    """Lines of a sources.list: where apt has Debian's packages from, and the release."""
    what = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    found = run(
        ["apt-get", "indextargets", "--format", what, "Created-By: Packages", "Origin: Debian"]
    )
    if not found.strip():
        skip("apt has no list of a Debian mirror: apt-get update")
    lines = sorted(set(found.splitlines()), key=found.index)
    # bookworm-updates and bookworm-security come beside bookworm.
    release = min((line.split()[1] for line in lines), key=len)
    return [f"deb {line}" for line in lines], release


def reach_mirror(sources, settings, folder):
    """Ends the test as skipped if apt cannot fetch the lists of these sources."""
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "sources.list").write_text("\n".join(sources) + "\n")
    options = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": folder / "lists",
        "APT::Update::Error-Mode": "any",
        "APT::Sandbox::User": "",
    }
    words = [f"-o{name}={value}" for name, value in options.items()]
    code, _, _ = attempt(
        ["apt-get", "-qq", *words, "update"], seconds=120, APT_CONFIG=str(settings)
    )
    if code != 0:
        skip("the mirror that apt is set up with does not answer")


def clean_root(packages, programs):
    if not shutil.which("mmdebstrap"):
        skip("mmdebstrap is not here (Debian: apt-get install mmdebstrap)")
    if os.geteuid() != 0:
        skip("a root is made by root alone here")
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        settings = folder / "apt.conf"
        lines = run(["apt-config", "dump"]).splitlines()
        kept = [line for line in lines if SETTINGS.match(line) and not line.endswith(' "";')]
        settings.touch(mode=0o600)
        settings.write_text("\n".join(kept) + "\n")
        sources, release = debian_sources()
        reach_mirror(sources, settings, folder)

        own = {field(package, "Package") for package in packages}
        needed = {"mpich", "openmpi-bin"}
        for package in packages:
            needed.update(names_of(field(package, "Depends")))
        commands = write_commands(folder)
        # One archive: each file by its name, as special hooks have no patterns.
        copied = " ".join(f"'{package}'" for package in packages)
        inside = " ".join(f"'{each}'" for each in (HERE / "clean_root.sh", *commands, *programs))
        joined = " ".join(f"/tmp/{program.name}" for program in programs)
        # What it mounts goes with the namespace, however it ends.
        command = [
            "unshare",
            "--mount",
            "mmdebstrap",
            "--quiet",
            "--variant=apt",
            "--format=null",
            f"--include={','.join(sorted(needed - own))}",
            f"--aptopt={settings}",
            # Nothing of this root has to outlive the machine.
            "--dpkgopt=force-unsafe-io",
            '--aptopt=Apt::Install-Recommends "false"',
            '--aptopt=Apt::Get::Assume-Yes "true"',
            '--customize-hook=mkdir "$1/packages"',
            f"--customize-hook=copy-in {copied} /packages",
            f"--customize-hook=copy-in {inside} /tmp",
            f'--customize-hook=chroot "$1" sh /tmp/clean_root.sh {joined} >&2',
            release,
            "/dev/null",
            "-",
        ]
        # mmdebstrap drops what hooks print, but for errors. Its root goes with the folder, also if
        # the time is over; apt's own user looks into it.
        folder.chmod(0o755)
        given = "\n".join(sources) + "\n"
        code, _, out = attempt(command, seconds=1140, stdin=given, TMPDIR=made)
    expect(code == 0, f"exit code {code}: {out}")
    print(out)
    ranks = [f"rank {rank} of 4" for _ in programs for rank in range(4)]
    found = re.findall(r"^rank \d of \d", out, re.MULTILINE)
    expect(sorted(found) == sorted(ranks), f"not the ranks of {len(programs)} jobs")
    expect("no trace is left" in out, "no comparison")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("build", "clean-root"))
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--mpi", action="append", default=[], help="an MPI that is built for")
    parser.add_argument("--program", action="append", default=[], type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.what == "build":
        if not shutil.which("dpkg-shlibdeps") or not shutil.which("lintian"):
            skip("dpkg-dev and lintian are not here (Debian: apt-get install dpkg-dev lintian)")
        print(run([TREE / "scripts/package", arguments.folder], seconds=840))
    packages = sorted((arguments.folder / "packages").glob("*.deb"))
    expect(packages, f"no packages in {arguments.folder / 'packages'}")
    if arguments.what == "build":
        look_into(packages, arguments.mpi)
        if {"mpich", "openmpi"} <= set(arguments.mpi) and has_python(packages):
            compare_with_page(packages)
    else:
        clean_root(packages, arguments.program)


if __name__ == "__main__":
    main()
