#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One version everywhere: of CMake's project, the library's name, the packages for CMake and
pkg-config, module files, Python, impirun, the recipes and the changelog."""

import argparse
import os
import pathlib
import re
import tempfile
import unittest

from running import run

PARSER = argparse.ArgumentParser()
for option in ("--cmake", "--build", "--version", "--libraries", "--python-dir", "--python"):
    PARSER.add_argument(option, required=True)
PARSER.add_argument("--mpi", action="append", default=[])
ARGUMENTS, REST = PARSER.parse_known_args()
TREE = pathlib.Path(__file__).resolve().parents[2]
VERSION = ARGUMENTS.version


class Versions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.prefix = pathlib.Path(cls.folder.name)
        run([ARGUMENTS.cmake, "--install", ARGUMENTS.build, "--prefix", cls.prefix])
        cls.libraries = cls.prefix / ARGUMENTS.libraries

    def test_library(self):
        major = VERSION.split(".", maxsplit=1)[0]
        for mpi in ARGUMENTS.mpi:
            folder = self.libraries / "impishim" / mpi
            dynamic = run(["readelf", "-d", folder / "libimpishim.so"])
            names = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
            self.assertEqual(names, [f"libimpishim.so.{major}"])
            for name in ("libimpishim.so", f"libimpishim.so.{major}"):
                self.assertEqual(
                    (folder / name).resolve().name, f"libimpishim.so.{VERSION}", folder / name
                )

    def test_cmake_package(self):
        text = (self.libraries / "cmake/impishim/impishimConfigVersion.cmake").read_text()
        self.assertIn(f'set(PACKAGE_VERSION "{VERSION}")', text)

    def test_pkg_config(self):
        folder = self.libraries / "pkgconfig"
        files = sorted(path.stem for path in folder.glob("*.pc"))
        expected = ["impishim-darray", "impishim-darray-serial"]
        for mpi in ARGUMENTS.mpi:
            expected += [f"impishim-{mpi}", f"impishim-darray-{mpi}"]
        self.assertEqual(files, sorted(expected))
        for name in files:
            found = run(["pkg-config", "--modversion", name], PKG_CONFIG_PATH=str(folder))
            self.assertEqual(found.strip(), VERSION, name)

    def test_module_files(self):
        folder = self.prefix / "share/modulefiles/impishim"
        self.assertEqual(sorted(os.listdir(folder)), [VERSION, f"{VERSION}.lua"])

    def test_impirun(self):
        self.assertEqual(
            run([self.prefix / "bin/impirun", "-version"]).split()[:2], ["impirun", VERSION]
        )

    def test_python(self):
        folder = self.prefix / ARGUMENTS.python_dir
        if not folder.is_dir():
            self.skipTest("the Python extension is not built: pybind11 is missing")
        code = "import impishim_darray; print(impishim_darray.__version__)"
        self.assertEqual(
            run([ARGUMENTS.python, "-c", code], PYTHONPATH=str(folder)).strip(), VERSION
        )

    def test_changelog(self):
        text = (TREE / "CHANGELOG.md").read_text()
        self.assertEqual(re.search(r"^## \[([\d.]+)\]", text, re.MULTILINE).group(1), VERSION)

    def test_recipes(self):
        spack = (TREE / "packaging/spack/package.py").read_text()
        self.assertIn(f'version("{VERSION}"', spack)
        recipes = list((TREE / "packaging/easybuild").glob("*.eb"))
        self.assertGreater(len(recipes), 0)
        for path in recipes:
            self.assertTrue(path.name.startswith(f"impishim-{VERSION}-"), path)
            self.assertIn(f'version = "{VERSION}"\n', path.read_text())


if __name__ == "__main__":
    unittest.main(argv=["versions_test.py"] + REST)
