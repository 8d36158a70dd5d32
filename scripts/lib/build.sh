# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts: configure and build a preset of CMakePresets.json.

# build_preset PRESET [TARGET...]: everything, or the targets named. A failing build shows its log.
build_preset() {
  local preset=$1 log
  shift
  log=$(mktemp)
  echo "Building (preset $preset) ..." >&2
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" ${1:+--target "$@"}; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "The build (preset $preset) failed." >&2
    return 1
  fi
  rm -f "$log"
}
