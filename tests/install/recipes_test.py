#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipes for Spack and EasyBuild: they are Python, say what such recipes must say, and pass
only options that the build has. (Neither Spack nor EasyBuild is needed.)"""

import argparse
import ast
import pathlib
import re
import unittest

PARSER = argparse.ArgumentParser()
PARSER.add_argument("--cache", required=True, type=pathlib.Path, help="CMakeCache.txt")
ARGUMENTS, REST = PARSER.parse_known_args()
TREE = pathlib.Path(__file__).resolve().parents[2]
CACHE = ARGUMENTS.cache.read_text()
# Words that EasyBuild defines for its recipes.
CONSTANTS = {"SOURCE_TAR_GZ": "source", "SYSTEM": "system"}


def known_option(name):
    """Whether the build takes an option of that name: its own are in the cache."""
    if name.startswith("CMAKE_DISABLE_FIND_PACKAGE_"):
        package = name.removeprefix("CMAKE_DISABLE_FIND_PACKAGE_")
        sources = [TREE / "CMakeLists.txt", *TREE.glob("*/CMakeLists.txt")]
        return any(f"find_package({package}" in path.read_text() for path in sources)
    return re.search(rf"^{name}:(?!INTERNAL)", CACHE, re.MULTILINE) is not None


class Recipes(unittest.TestCase):
    def expect_known(self, options):
        self.assertGreater(len(options), 4)
        self.assertEqual([name for name in options if not known_option(name)], [])

    def test_unknown_options_are_found(self):
        self.assertFalse(known_option("IMPISHIM_NO_SUCH_OPTION"))
        self.assertFalse(known_option("CMAKE_DISABLE_FIND_PACKAGE_Nothing"))

    def test_spack(self):
        path = TREE / "packaging/spack/package.py"
        tree = ast.parse(path.read_text(), str(path))
        recipe = next(each for each in tree.body if isinstance(each, ast.ClassDef))
        self.assertEqual(recipe.name, "Impishim")
        self.assertEqual([base.id for base in recipe.bases], ["CMakePackage"])
        calls = [each for each in ast.walk(recipe) if isinstance(each, ast.Call)]
        options, variants, conditions = [], set(), []
        for call in calls:
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if name in ("define", "define_from_variant"):
                # A name with {mpi} in it counts for each MPI.
                parts = getattr(call.args[0], "values", [call.args[0]])
                for mpi in ("mpich", "openmpi"):
                    options.append(
                        "".join(
                            getattr(part, "value", mpi) if isinstance(part, ast.Constant) else mpi
                            for part in parts
                        )
                    )
            elif name == "variant":
                variants.add(call.args[0].value)
            conditions += [each.value.value for each in call.keywords if each.arg == "when"]
        self.expect_known(sorted(set(options)))
        self.assertEqual({each.lstrip("+~") for each in conditions} - variants, set())
        self.assertEqual(variants, {"mpich", "openmpi", "hdf5", "python"})

    def test_easybuild(self):
        for path in (TREE / "packaging/easybuild").glob("*.eb"):
            values = dict(CONSTANTS)
            exec(compile(path.read_text(), str(path), "exec"), values)  # pylint: disable=exec-used
            toolchain = values["toolchain"]
            full = "-".join([values["name"], values["version"], *toolchain.values()])
            full += values.get("versionsuffix", "") + ".eb"
            self.assertEqual(path.name, full)
            for name in (
                "easyblock",
                "homepage",
                "description",
                "sanity_check_paths",
                "moduleclass",
            ):
                self.assertTrue(values[name], name)
            self.expect_known(re.findall(r"-D(\w+)=", values["configopts"]))
            for dependency in values["builddependencies"] + values["dependencies"]:
                self.assertIn(len(dependency), (2, 3, 4), dependency)


if __name__ == "__main__":
    unittest.main(argv=["recipes_test.py"] + REST)
