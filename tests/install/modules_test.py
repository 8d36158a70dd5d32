#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The module files, by what of environment modules and Lmod is installed (Debian allows one of
them): after `module load` impirun, pkg-config and
Python find what is installed, also if the installation has been moved; after `module unload` they
do not."""

import argparse
import pathlib
import shutil
import tempfile

from running import expect, run, skip

# Files that define `module`, and whether it reads Lua.
STARTS = {"/usr/share/lmod/lmod/init/bash": True, "/usr/share/modules/init/bash": False}
SCRIPT = """
set -e
. {start}
module use {prefix}/share/modulefiles
module load impishim
command -v impirun
impirun -version
pkg-config --variable=prefix impishim-darray-serial
[ ! -d {prefix}/{python_dir} ] || {python} -c 'import impishim_darray; print(impishim_darray.__file__)'
module unload impishim
if command -v impirun; then exit 1; fi
echo unloaded
"""


def check(start, folder, arguments):
    prefix = folder / "moved"
    text = SCRIPT.format(
        start=start, prefix=prefix, python=arguments.python, python_dir=arguments.python_dir
    )
    out = run(["bash", "--norc", "-c", text], PATH="/usr/bin:/bin", BASH_ENV="", MODULEPATH="")
    lines = out.splitlines()
    expect(lines[0] == str(prefix / "bin/impirun"), f"{start}: not the installed impirun: {out}")
    expect(lines[1].split()[1] == arguments.version, f"{start}: {out}")
    expect(pathlib.Path(lines[2]).resolve() == prefix, f"{start}: not the prefix: {out}")
    if (prefix / arguments.python_dir).is_dir():
        expect(lines[3].startswith(str(prefix)), f"{start}: not the installed extension: {out}")
    expect(lines[-1] == "unloaded", f"{start}: {out}")
    print(f"{start}: loaded and unloaded")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--cmake", "--build", "--version", "--python-dir", "--python"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    starts = [start for start in STARTS if pathlib.Path(start).exists()]
    if not starts:
        skip("no modules are here (Debian: apt-get install lmod, or environment-modules)")
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made).resolve()
        run([arguments.cmake, "--install", arguments.build, "--prefix", folder / "prefix"])
        shutil.move(folder / "prefix", folder / "moved")
        for start in starts:
            check(start, folder, arguments)
        # Lmod takes the Lua file if there are both.
        lua = folder / "moved/share/modulefiles/impishim" / f"{arguments.version}.lua"
        lua.unlink()
        for start in starts:
            if STARTS[start]:
                check(start, folder, arguments)


if __name__ == "__main__":
    main()
