# SPDX-License-Identifier: Apache-2.0
"""MPICH's test suite as Debian's source package has it: fetched, unpacked, configured for an MPI
and built, all of it in a folder outside the tree."""

import os
import pathlib
import shutil
import signal
import subprocess
import tarfile

PACKAGE = "mpich"
SOURCES_LIST = """Types: deb-src
URIs: {uris}
Suites: {suites}
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""
# The suite tests functions that MPI-3 removed, too, which Open MPI's library has.
DEFINITIONS = {"openmpi": "-DOMPI_OMIT_MPI1_COMPAT_DECLS=0"}
CONFIGURE_SECONDS = 1200
# Programs whose makefile rule waits for others are few; the longest builds take a minute.
BUILD_SECONDS = 1800


class SuiteError(Exception):
    """The suite cannot be fetched, configured or built; the text says why."""


def run_logged(command, log, timeout, cwd=None, variables=None):
    """Runs a command with its output in a file. Returns its exit code."""
    with open(log, "wb") as file:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(variables or {})},
            start_new_session=True,
        )
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            message = f"{command[0]} was not over after {timeout} seconds; see {log}"
            raise SuiteError(message) from error
        finally:
            # It has a session of its own, which no interrupt from the keyboard reaches.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def machine_mirror(package):
    """The machine's own mirror and Debian's name, from the lists of packages that apt knows."""
    policy = subprocess.run(
        ["apt-cache", "policy", package], capture_output=True, text=True, check=True
    ).stdout
    for line in policy.splitlines():
        words = line.split()
        if len(words) > 3 and "://" in words[1] and "/main" in words[2]:
            return words[1], words[2].split("/")[0]
    raise SuiteError(f"apt knows no mirror that has {package}: run apt-get update")


def fetch(work, package=PACKAGE, binary=None):
    """The path of a source package's tarball; fetched from the machine's mirror if it is not there.
    `binary` is a package of it that apt knows, if it has another name."""
    found = sorted(work.glob(f"{package}_*.orig.tar.*"))
    if found:
        return found[0]
    apt = work / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    uris, suites = machine_mirror(binary or package)
    (apt / "source.sources").write_text(SOURCES_LIST.format(uris=uris, suites=suites))
    options = [
        "-o",
        f"Dir::Etc::sourcelist={apt}/source.sources",
        "-o",
        "Dir::Etc::sourceparts=/dev/null",
        "-o",
        f"Dir::State::Lists={apt}/lists",
        "-o",
        f"Dir::Cache={apt}/cache",
    ]
    # The user _apt may not write here.
    options += ["-o", "APT::Sandbox::User=root"] if os.getuid() == 0 else []
    for step in (["update"], ["source", "--download-only", package]):
        log = apt / f"{step[0]}.log"
        if run_logged(["apt-get", *options, *step], log, 600, cwd=work) != 0:
            raise SuiteError(f"apt-get {' '.join(step)} failed; see {log}")
    found = sorted(work.glob(f"{package}_*.orig.tar.*"))
    if not found:
        raise SuiteError(f"apt-get source has brought no {package}_*.orig.tar.* into {work}")
    return found[0]


def unpack(work, folder="test/mpi", package=PACKAGE, binary=None):
    """A folder of the sources of a package."""
    sources = work / "sources"
    if not sources.is_dir():
        partial = work / "sources.partial"
        shutil.rmtree(partial, ignore_errors=True)
        with tarfile.open(fetch(work, package, binary)) as archive:
            wanted = [member for member in archive if f"/{folder}/" in f"{member.name}/"]
            archive.extractall(partial, members=wanted)
        partial.rename(sources)
    found = sorted(sources.glob(f"*/{folder}"))
    if not found:
        raise SuiteError(f"{sources} has no folder {folder}: remove it")
    return found[0]


def allow_f08(sources):
    """Lets configure include the programs for mpi_f08 outside MPICH's own build, too."""
    path = sources / "configure"
    text = path.read_text(errors="surrogateescape")
    allowed = text.replace(
        'test "$enable_f08" = "yes" -a "$FROM_MPICH" = "yes"', 'test "$enable_f08" = "yes"'
    )
    if allowed != text:
        path.write_text(allowed, errors="surrogateescape")


def configure(work, sources, mpi):
    """The build folder of an MPI, configured."""
    built = work / f"build-{mpi}"
    if (built / "configured").is_file():
        return built
    built.mkdir(parents=True, exist_ok=True)
    allow_f08(sources)
    command = [
        str(sources / "configure"),
        # Without them it takes the first mpicc in PATH, whatever CC says.
        f"MPICC=mpicc.{mpi}",
        f"MPICXX=mpicxx.{mpi}",
        f"MPIF77=mpifort.{mpi}",
        f"MPIFC=mpifort.{mpi}",
        f"MPIEXEC=mpiexec.{mpi}",
        # Optimizing the programs takes longer than running them.
        f"CFLAGS=-O0 -w {DEFINITIONS.get(mpi, '')}",
        "FFLAGS=-O0 -w -fallow-argument-mismatch",
        "FCFLAGS=-O0 -w -fallow-argument-mismatch",
        "--enable-threads=multiple",
        "--enable-fortran=f77,f90,f08",
        "--disable-cxx",
        "--disable-dependency-tracking",
        "--disable-maintainer-mode",
    ]
    print(f"Configuring the tests for {mpi} ...", flush=True)
    log = built / "configure.log"
    if run_logged(command, log, CONFIGURE_SECONDS, cwd=built) != 0:
        raise SuiteError(f"the tests cannot be configured for {mpi}; see {log}")
    (built / "configured").touch()
    return built


def build(built, tests, jobs):
    """Builds the programs of tests, as far as they can be built for this MPI. Programs that fail to
    build are missing afterwards."""
    folders = {}
    for test in tests:
        if not (built / test.folder / test.program).is_file():
            folders.setdefault(test.folder, set()).add(test.program)
    for folder, programs in sorted(folders.items()):
        print(f"Building {len(programs)} programs of {folder} ...", flush=True)
        log = built / folder / "build.log"
        run_logged(
            ["make", "--keep-going", f"-j{jobs}", *sorted(programs)],
            log,
            BUILD_SECONDS,
            cwd=built / folder,
        )
