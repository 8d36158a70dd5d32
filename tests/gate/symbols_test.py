# SPDX-License-Identifier: Apache-2.0
"""The built library against the MPI it is for: every function wrapped under both names, every fate
accounted for."""

import argparse
import pathlib
import re
import subprocess
import sys
import unittest

parser = argparse.ArgumentParser()
for option in (
    "--library",
    "--wrapped",
    "--functions",
    "--compiler",
    "--soname",
    "--impishim-soname",
):
    parser.add_argument(option, required=True)
for option in ("--include", "--define", "--header"):
    parser.add_argument(option, action="append", default=[])
ARGUMENTS, REST = parser.parse_known_args()
PUBLIC = pathlib.Path(__file__).resolve().parents[2] / "include/impishim"
HEADERS = pathlib.Path(__file__).resolve().parent / "headers"

# Names in capitals are no functions that programs call: predefined callbacks, and helpers of the
# Fortran modules.
NAME = re.compile(r"^P?MPIX?_(?=.*[a-z])")
# Bindings of Fortran's that look inside a communicator, under the names that compilers and mpi_f08
# make of them, and what MPICH's call.
INSIDE = r"(i?(neighbor_)?alltoallw(_init)?|ineighbor_alltoallw|comm_[gs]et_attr|attr_get|attr_put)"
FORTRAN = re.compile(
    rf"^(p?mpix?_{INSIDE}(_{{0,2}}|_f|_f08)|ompix?_{INSIDE}_f|MPII_Comm_[gs]et_attr)$",
    re.IGNORECASE,
)


def output(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def exported(library):
    """Defined dynamic symbols: name -> type letter of nm."""
    lines = output("nm", "-D", "--defined-only", library).splitlines()
    return {line.split()[2].split("@")[0]: line.split()[1] for line in lines}


def vendor_library():
    for line in output("ldd", ARGUMENTS.library).splitlines():
        if line.split()[0] == ARGUMENTS.soname:
            return line.split()[2]
    sys.exit(f"{ARGUMENTS.library} does not need {ARGUMENTS.soname}")


class Symbols(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ours = exported(ARGUMENTS.library)
        cls.vendors = exported(vendor_library())
        rows = [
            line.split("\t") for line in pathlib.Path(ARGUMENTS.wrapped).read_text().splitlines()
        ]
        cls.wrapped = {name: (fate, reason) for name, fate, reason in rows}
        options = [
            "-x",
            "c",
            *(f"-I{path}" for path in ARGUMENTS.include),
            *(f"-D{each}" for each in ARGUMENTS.define),
            "-",
        ]
        source = "".join(f"#include <{header}>\n" for header in ARGUMENTS.header)
        cls.header = output(ARGUMENTS.compiler, "-E", "-P", *options, input=source)
        cls.macros = output(ARGUMENTS.compiler, "-E", "-dM", *options, input=source)

    def test_every_function_of_the_vendor_is_ours(self):
        functions = [
            name for name, kind in self.vendors.items() if NAME.match(name) and kind in "TWi"
        ]
        self.assertGreater(len(functions), 600)
        harmless = set(
            re.findall(r"\b(MPIX?_\w+)\s*\(\s*void\s*\)", self.header)
        )  # under one name, and takes nothing
        self.assertEqual(
            [name for name in functions if name not in self.ours and name not in harmless], []
        )

    def test_every_function_of_the_header_is_ours(self):
        declared = set(re.findall(r"\b(MPIX?_\w+)\s*\([^;{}]*\)[^;{},()]*;", self.header))
        twins = {name for name in declared if re.search(rf"\bP{name}\s*\(", self.header)}
        self.assertGreater(len(twins), 300)
        self.assertEqual(sorted(twins - self.wrapped.keys()), [])

    def test_both_names_are_exported(self):
        names = [prefix + name for name in self.wrapped for prefix in ("", "P")]
        self.assertEqual([name for name in names if self.ours.get(name) != "T"], [])

    def test_both_names_are_one_function(self):
        lines = output("nm", "-D", "--defined-only", ARGUMENTS.library).splitlines()
        address = {line.split()[2]: line.split()[0] for line in lines}
        self.assertEqual(
            [name for name in self.wrapped if address[name] != address["P" + name]], []
        )

    def test_nothing_else_is_exported(self):
        wrapped = {prefix + name for name in self.wrapped for prefix in ("", "P")}
        header = pathlib.Path(__file__).resolve().parents[2] / "include/impishim/ulfm.h"
        survivors = set(re.findall(r"^int (MPIX_\w+)\(", header.read_text(), re.MULTILINE))
        others = [
            name
            for name in self.ours
            if name not in wrapped | survivors and not name.startswith("impishim_")
        ]
        self.assertEqual([name for name in others if not FORTRAN.match(name)], [])

    def test_needs_the_vendor_and_the_c_library_only(self):
        dynamic = output("readelf", "-d", ARGUMENTS.library)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
        self.assertIn(ARGUMENTS.soname, needed)
        system = re.compile(
            r"^(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[\w-]*)\.so\.\d+$"
        )
        self.assertEqual(
            [name for name in needed if name != ARGUMENTS.soname and not system.match(name)], []
        )
        self.assertNotRegex(dynamic, r"\((RPATH|RUNPATH)\)")
        self.assertRegex(ARGUMENTS.impishim_soname, r"^libimpishim\.so\.\d+$")
        self.assertIn(f"soname: [{ARGUMENTS.impishim_soname}]", dynamic)

    def test_nothing_is_left_undefined(self):
        """Every symbol that the library leaves open is defined by a library that it needs."""
        lines = output("ldd", "-r", ARGUMENTS.library, stderr=None).splitlines()
        self.assertEqual([line for line in lines if "undefined symbol" in line], [])

    def test_the_public_functions_are_exported(self):
        """Under the names impishim_...: those of the public headers, and no other ones."""
        public = set()
        for header in PUBLIC.glob("*.h"):
            public.update(re.findall(r"\bint (impishim_\w+)\(", header.read_text()))
        self.assertGreater(len(public), 10)
        own = {name for name in self.ours if name.startswith("impishim_")}
        self.assertEqual(sorted(own), sorted(public))

    def prototype(self, name):
        found = re.search(rf"\b{name}\s*\(([^;]*?)\)[^;()]*(?:__attribute__[^;]*)?;", self.header)
        self.assertIsNotNone(found, name)
        return " ".join(found.group(1).split())

    def test_what_is_forwarded_is_harmless(self):
        """A function that acts on the vendor's objects only takes no communicator and no request,
        or says why it may."""
        given = {}
        for line in pathlib.Path(ARGUMENTS.functions).read_text().splitlines():
            words = line.split(None, 2)
            if words and not words[0].startswith("#"):
                given[words[0]] = words[2] if len(words) > 2 else ""
        bad = []
        for name, (fate, reason) in self.wrapped.items():
            self.assertIn(
                fate,
                (
                    "intercept",
                    "intercept_fast",
                    "intercept_start",
                    "always",
                    "collective",
                    "file_access",
                    "refuse",
                    "refuse_joined",
                    "forward",
                ),
            )
            if fate != "forward":
                continue
            parameters = self.prototype(name)
            by_value = re.search(
                r"\b(MPI_Comm|MPI_Request)(?!\s*\*)\s+\w+(?!\s*\[)\s*(,|$)", parameters
            )
            # Without another object to start it on, a request that is pointed to is one that exists
            # already.
            requests = re.search(r"MPI_Request\s*(\*|\w+\s*\[)", parameters) and not re.search(
                r"MPI_(File|Win)\s+\w+", parameters
            )
            messages = re.search(r"MPI_Message\s*\*", parameters)
            if (by_value or requests or messages) and not given.get(name):
                bad.append(f"{name}({parameters})")
        self.assertEqual(bad, [])

    def test_every_line_of_the_table_is_used(self):
        if int(re.search(r"#define MPI_VERSION (\d+)", self.macros).group(1)) < 4:
            self.skipTest("this MPI is older than MPI-4, the table also names newer functions")
        if "#define MPI_ABI_VERSION" in self.macros:
            self.skipTest("the standard ABI has no functions that MPI removed; the table has them")
        # Those of newer libraries, for which newer_headers_test.py tests the table.
        newer = "".join(path.read_text() for path in HEADERS.glob("*.h.in"))
        for line in pathlib.Path(ARGUMENTS.functions).read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                name = line.split()[0]
                short = re.sub(r"^MPIX?_", "", name)
                self.assertTrue(
                    name in self.wrapped
                    or re.search(rf"#define {name}\b", self.macros)
                    or re.search(rf"TWIN(_X)?\(\w+, {short}, ", newer),
                    name,
                )


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + REST)
