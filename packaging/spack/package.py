# SPDX-License-Identifier: Apache-2.0
"""The recipe for Spack. Put this file into packages/impishim/ of a repository of your own
(`spack repo create`), or see docs/install.md."""

from spack.package import *


class Impishim(CMakePackage):
    """One MPI job over several systems: joins the MPI jobs of different clusters into one job with
    one MPI_COMM_WORLD, without a change of the program."""

    homepage = "https://impi.nist.gov"

    license("Apache-2.0")

    # From a checkout: spack develop --path FOLDER impishim@VERSION.
    version("0.1.0")

    variant("mpich", default=True, description="Build the library for MPICH and its ABI")
    variant("openmpi", default=False, description="Build the library for Open MPI 4")
    variant("hdf5", default=True, description="Save and load arrays as HDF5")
    variant("python", default=False, description="Build the Python extension")

    conflicts("~mpich~openmpi", msg="one MPI at least")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("fmt@9:")
    depends_on("elfutils")
    depends_on("openssl@3:")
    depends_on("libfabric")
    depends_on("mpich@4:", when="+mpich")
    depends_on("openmpi@4.0:4", when="+openmpi")
    depends_on("hdf5~mpi", when="+hdf5")
    depends_on("py-pybind11", when="+python", type="build")

    generator("ninja")
    requires("%gcc@12:", "%clang@14:", policy="one_of", msg="C++20")

    def cmake_args(self):
        mpis = [mpi for mpi in ("mpich", "openmpi") if self.spec.satisfies(f"+{mpi}")]
        args = [
            self.define("IMPISHIM_BUILD_TESTS", False),
            self.define("IMPISHIM_BUILD_BENCHMARKS", False),
            self.define("IMPISHIM_BUILD_STANDARD_ABI", False),
            self.define("IMPISHIM_BUILD_FOR", mpis),
            self.define_from_variant("IMPISHIM_BUILD_PYTHON", "python"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_HDF5", not self.spec.satisfies("+hdf5")),
        ]
        for mpi in mpis:
            commands = self.spec[mpi].prefix.bin
            args.append(self.define(f"IMPISHIM_{mpi}_MPICC", commands.mpicc))
            args.append(self.define(f"IMPISHIM_{mpi}_MPIEXEC", commands.mpiexec))
        return args
