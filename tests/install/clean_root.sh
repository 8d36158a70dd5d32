#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run inside a new root that has all that the packages in /packages depend on: installs them, runs
# jobs, removes them, and compares what there is before and after.
# /tmp/install, /tmp/job and /tmp/purge have the commands of docs/install.md.
#   clean_root.sh PROGRAM...    programs that print "rank R of 4" joined as two systems of two
# $names is a list of words.
# shellcheck disable=SC2086
set -eu
export DEBIAN_FRONTEND=noninteractive HOME=/tmp/home IMPI_AUTH_NONE=
printf '%s\n' 'quiet "2";' 'Dpkg::Use-Pty "0";' >/tmp/apt.conf
export APT_CONFIG=/tmp/apt.conf
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_osc=^ucx OMPI_MCA_mpi_yield_when_idle=1
mkdir -p /tmp/home
begin=$(date +%s)
step() { echo "$(($(date +%s) - begin)) s: $1"; }
# Launchers look the machine's own name up.
echo "127.0.0.1 localhost $(hostname)" >>/etc/hosts

# Every file with its kind, mode, owner, size and link; contents too, but for what dpkg, apt and
# the loader's cache write on every run.
listing() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run \
    -o -path /packages \) -prune -o -printf '%p %y %m %u:%g %l\n' | LC_ALL=C sort >"$1"
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path /packages \
    -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/log -o -path /var/cache \) -prune -o -type f -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum >"$1.contents"
}

# The log of what dpkg does from here on is none of the packages' files.
touch /var/log/dpkg.log
listing /tmp/before
step "all files are listed"
names=
for package in /packages/*.deb; do names="$names $(dpkg-deb -f "$package" Package)"; done
# All that they depend on is there.
new=$(apt-get -qq install -s --no-install-recommends /packages/*.deb | awk '$1 == "Inst" {print $2}' | sort | xargs)
[ "$new" = "$(echo $names | xargs -n 1 | sort | xargs)" ] || { echo "to be installed: $new" >&2; exit 1; }
# The commands of docs/install.md, in the folders that it names.
mkdir -p /tmp/tree/build-debian
ln -s /packages /tmp/tree/build-debian/packages
cd /tmp/tree
sh /tmp/install
for name in $names; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$name")" = installed ]
done
dpkg --audit
dpkg -V $names
step "installed"

impirun -version
for program in "$@"; do
  ln -sf "$program" solver
  sh /tmp/job
done
case $names in
  *python3-impishim-darray*)
    /usr/bin/python3 -c 'import impishim_darray; print("python", impishim_darray.__version__)' ;;
esac

step "jobs have run"
sh /tmp/purge
for name in $names; do
  if dpkg-query -W "$name" 2>/dev/null; then echo "$name is still known" >&2; exit 1; fi
done
step "purged"
listing /tmp/after
diff /tmp/before /tmp/after
diff /tmp/before.contents /tmp/after.contents
step "no trace is left"
