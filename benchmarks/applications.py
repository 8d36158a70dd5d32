# SPDX-License-Identifier: Apache-2.0
"""The programs of scripts/bench applications: Debian's packages as they are, their input, and what
their output says. All are built for Open MPI."""

import dataclasses
import gzip
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable

from harness import fail

VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    # Open MPI's one-sided component over UCX does not run over plain TCP.
    "OMPI_MCA_osc": "^ucx",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
LIBRARY = "openmpi"
SCALAPACK = pathlib.Path("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests")
LAMMPS = pathlib.Path("/usr/share/lammps/examples")
PSEUDOPOTENTIAL = pathlib.Path("/usr/share/espresso/pseudo/Si.pz-vbc.UPF")


@dataclasses.dataclass(frozen=True)
class Application:
    """A program, and how to read what it has found."""

    name: str
    command: list
    # Writes the input into a folder.
    prepare: Callable
    # From the output and the folder: the results, which must be equal within `tolerance`.
    results: Callable
    tolerance: float
    # From the same: figures of the program's own, by title, with True if more is better.
    figures: Callable = lambda output, folder: {}
    ranks: int = 4
    # False: the program runs for a time that it chooses, so only its figures tell something.
    judges_time: bool = True


def need(pattern, text, what):
    """All matches of a pattern, of which there must be one."""
    found = re.findall(pattern, text, re.MULTILINE)
    if not found:
        fail(f"no {what} in:\n{text[-2000:]}")
    return found


def tool(folder, *words):
    """Runs a program that prepares input."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        fail(f"exit code {done.returncode}: {' '.join(map(str, words))}\n{done.stderr[-2000:]}")


GROMACS_TOPOLOGY = """#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
"""
GROMACS_RUN = """integrator = md
nsteps = 3000
dt = 0.001
coulombtype = PME
rcoulomb = 0.8
rvdw = 0.8
gen-vel = yes
gen-temp = 300
gen-seed = 17
nstenergy = 100
nstlog = 100
"""


def prepare_gromacs(folder):
    (folder / "water.top").write_text(GROMACS_TOPOLOGY)
    (folder / "water.mdp").write_text(GROMACS_RUN)
    box = ["1.87"] * 3
    tool(folder, "gmx", "solvate", "-cs", "spc216", "-box", *box, "-p", "water.top", "-o", "w.gro")
    files = ["-f", "water.mdp", "-c", "w.gro", "-p", "water.top", "-o", "water.tpr"]
    tool(folder, "gmx", "grompp", *files, "-maxwarn", "2")


def gromacs_results(_, folder):
    """The energies at the beginning; molecular dynamics magnifies rounding afterwards."""
    log = (folder / "water.log").read_text()
    block = need(r"Energies \(kJ/mol\)\n((?:.+\n)+)", log, "energies")[0].splitlines()
    found = {}
    for titles, values in zip(block[::2], block[1::2]):
        columns = range(0, len(titles), 15)
        found |= {titles[at : at + 15].strip(): float(values[at : at + 15]) for at in columns}
    return {name: found[name] for name in ("Potential", "Kinetic En.", "Total Energy")}


def prepare_melt(folder):
    text = (LAMMPS / "melt/in.melt").read_text()
    (folder / "in").write_text(re.sub(r"^run\s+\d+", "run 3000", text, flags=re.MULTILINE))


def prepare_peptide(folder):
    shutil.copy(LAMMPS / "peptide/data.peptide", folder)
    text = (LAMMPS / "peptide/in.peptide").read_text()
    (folder / "in").write_text(re.sub(r"^run\s+\d+", "run 300", text, flags=re.MULTILINE))


def melt_results(output, _):
    row = need(r"^ +50 +(.*)$", output, "row of step 50")[0].split()
    return {f"column {place}": float(value) for place, value in enumerate(row)}


def peptide_results(output, _):
    block = need(r"Step +0 .*\n((?:.*=.*\n)+)", output, "energies of step 0")[0]
    return {
        name: float(value) for name, value in re.findall(r"(\w+) += +(\S+)", block) if name != "CPU"
    }


HPCC_INPUT = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out
8            device out
1            # of problems sizes
1000         Ns
1            # of NBs
40           NBs
0            PMAP
1            # of process grids
2            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs
1            # of recursive stopping criterium
4            NBMINs
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs
1            # of broadcast
1            BCASTs
1            # of lookahead depth
1            DEPTHs
2            SWAP
64           swapping threshold
0            L1
0            U
1            Equilibration
8            memory alignment
##### PTRANS
0
0
1
40
"""
HPCC_FIGURES = {
    "HPL_Tflops": True,
    "PTRANS_GBs": True,
    "MPIRandomAccess_GUPs": True,
    "MPIFFT_Gflops": True,
    "StarSTREAM_Triad": True,
    "StarDGEMM_Gflops": True,
    "RandomlyOrderedRingBandwidth_GBytes": True,
    "RandomlyOrderedRingLatency_usec": False,
}


def prepare_hpcc(folder):
    (folder / "hpccinf.txt").write_text(HPCC_INPUT)
    (folder / "hpccoutf.txt").unlink(missing_ok=True)  # hpcc appends to it


def hpcc_summary(folder):
    text = (folder / "hpccoutf.txt").read_text()
    return dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))


def hpcc_results(_, folder):
    """Whether HPCC has found its own results right."""
    summary = hpcc_summary(folder)
    if summary.get("Success") != "1":
        fail(f"HPCC has not succeeded: {folder / 'hpccoutf.txt'}")
    return {name: float(summary[name]) for name in ("HPL_N", "MPIRandomAccess_ErrorsFraction")}


def hpcc_figures(_, folder):
    summary = hpcc_summary(folder)
    return {name: (float(summary[name]), more) for name, more in HPCC_FIGURES.items()}


ESPRESSO_INPUT = """&control
 calculation='scf', prefix='si', outdir='./', pseudo_dir='./'
/
&system
 ibrav=1, celldm(1)=10.2, nat=8, ntyp=1, ecutwfc=24
/
&electrons
 conv_thr=1d-9
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS crystal
 Si 0.0 0.0 0.0
 Si 0.5 0.5 0.0
 Si 0.5 0.0 0.5
 Si 0.0 0.5 0.5
 Si 0.25 0.25 0.25
 Si 0.75 0.75 0.25
 Si 0.75 0.25 0.75
 Si 0.25 0.75 0.75
K_POINTS automatic
 2 2 2 0 0 0
"""


def prepare_espresso(folder):
    (folder / "si.in").write_text(ESPRESSO_INPUT)
    if PSEUDOPOTENTIAL.exists():
        shutil.copy(PSEUDOPOTENTIAL, folder)
        return
    packed = pathlib.Path("/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz")
    (folder / PSEUDOPOTENTIAL.name).write_bytes(gzip.decompress(packed.read_bytes()))


def espresso_results(output, _):
    return {"energy": float(need(r"^! +total energy += +(\S+)", output, "total energy")[0])}


def prepare_xdqr(folder):
    text = (SCALAPACK / "QR.dat").read_text()
    sizes = {
        "M": "100 200 300 400",
        "N": "100 200 300 350",
        "MB": "32 32 32 32",
        "NB": "32 32 32 32",
    }
    for what, values in sizes.items():
        text = re.sub(rf"^[\d ]+?(\s+values of {what})$", rf"{values}\1", text, flags=re.MULTILINE)
    (folder / "QR.dat").write_text(text)


def xdqr_results(output, _):
    passed = need(r"^ *(\d+) tests completed and passed", output, "count of passed tests")
    return {"passed": float(passed[0])}


def netpipe_figures(_, folder):
    rows = [line.split() for line in (folder / "netpipe.out").read_text().splitlines()]
    found = {int(row[0]): (float(row[1]), float(row[2])) for row in rows}
    most = max(found)
    return {
        "1 B, us": (found[1][1] * 1e6, False),
        f"{most >> 10} KiB, Mbit/s": (found[most][0], True),
    }


APPLICATIONS = [
    Application(
        "GROMACS, 213 waters, PME, 3000 steps",
        ["gmx_mpi", "mdrun", "-s", "water.tpr", "-deffnm", "water", "-ntomp", "1", "-notunepme"],
        prepare_gromacs,
        gromacs_results,
        1e-4,
    ),
    Application(
        "LAMMPS melt, 3000 steps",
        ["lmp", "-in", "in", "-log", "none"],
        prepare_melt,
        melt_results,
        1e-5,
    ),
    Application(
        "LAMMPS peptide, 300 steps",
        ["lmp", "-in", "in", "-log", "none"],
        prepare_peptide,
        peptide_results,
        1e-5,
    ),
    Application("HPCC, N = 1000", ["hpcc"], prepare_hpcc, hpcc_results, 0.0, hpcc_figures),
    Application(
        "Quantum ESPRESSO, 8 Si, 2x2x2 points",
        ["pw.x", "-in", "si.in"],
        prepare_espresso,
        espresso_results,
        1e-7,
    ),
    Application("ScaLAPACK xdqr", [SCALAPACK / "xdqr"], prepare_xdqr, xdqr_results, 0.0),
    Application(
        "NetPIPE",
        ["NPopenmpi", "-l", "1", "-u", str(1 << 20), "-n", "200", "-o", "netpipe.out"],
        lambda folder: None,
        lambda output, folder: {},
        0.0,
        netpipe_figures,
        ranks=2,
        judges_time=False,
    ),
]
