# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts: what Debian packages they need, and how missing ones are installed. Debian 12 is what is tested.

build_packages=(g++ cmake ninja-build python3 mpich libmpich-dev libfmt-dev libcli11-dev libtomlplusplus-dev libelf-dev libgtest-dev libgmock-dev
                pkg-config libfabric-dev libfabric-bin nlohmann-json3-dev libprotozero-dev libhdf5-dev libssl-dev libzstd-dev)
demo_packages=(netpipe-mpich2 openmpi-bin libopenmpi-dev)
demo_darray_packages=(openmpi-bin libopenmpi-dev libpng-dev)
test_packages=(openmpi-bin libopenmpi-dev python3-mpi4py libbenchmark-dev gfortran clang-format iproute2 nftables openssh-server openssh-client zsh
                slurm-wlm slurmctld slurmd munge
               libscalapack-mpich-dev libscalapack-openmpi-dev libhdf5-mpich-dev libhdf5-openmpi-dev hdf5-tools
               libpng-dev pybind11-dev python3-dev python3-numpy python3-h5py tmux chromium protobuf-compiler)
# npm fetches what impishim-report draws with. Other packages of Node.js have it as well.
command -v npm >/dev/null || test_packages+=(npm)
# MPICH's test programs: apt-get source takes the tarball as it is.
conformance_packages=(openmpi-bin libopenmpi-dev gfortran make xz-utils)
bench_packages=(iperf3 openmpi-bin libopenmpi-dev libscalapack-mpich-dev libscalapack-openmpi-dev)
application_packages=(gromacs lammps lammps-examples hpcc quantum-espresso quantum-espresso-data scalapack-mpi-test netpipe-openmpi)
compression_packages=(tcpdump liblz4-dev libpng-dev)
check_packages=(black clang clang-format clang-tidy clang-tidy-19)
# GCC takes two to three times as long to compile for AddressSanitizer and UBSan.
sanitizer_packages=(clang-19 libclang-rt-19-dev)
docs_packages=(mkdocs doxygen)
# What scripts/package makes Debian packages with, and what tests of an installation need.
package_packages=(dpkg-dev fakeroot file lintian openmpi-bin libopenmpi-dev pybind11-dev python3-dev)
install_test_packages=(dpkg-dev fakeroot file lintian mmdebstrap lmod)

# ensure_packages NAME...: installs those that are missing; needs root only then.
ensure_packages() {
  local missing=() package
  for package in "$@"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]; then
      missing+=("$package")
    fi
  done
  if [ ${#missing[@]} -eq 0 ]; then
    return 0
  fi
  if [ "$(id -u)" -ne 0 ]; then
    echo "These packages are missing; run this as root, or install them with: apt-get install ${missing[*]}" >&2
    return 1
  fi
  echo "Installing ${missing[*]}" >&2
  apt-get -qq update >&2
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >&2
}
