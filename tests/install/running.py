# SPDX-License-Identifier: Apache-2.0
"""What the tests of an installation share: commands with a time limit, of which nothing is left."""

import os
import signal
import subprocess
import sys

# Exit code of a test that cannot run here (SKIP_RETURN_CODE of ctest).
SKIPPED = 77
AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def attempt(command, seconds=60, stdin=None, **variables):
    """Runs `command` in a session of its own, of which nothing is left. Returns its exit code, what
    it printed, and its error messages. A command that takes longer ends the test."""
    words = [str(word) for word in command]
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **variables},
    )
    try:
        out, errors = process.communicate(stdin, timeout=seconds)
    except subprocess.TimeoutExpired:
        # What it has begun is to be put back first.
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        sys.exit(f"not over after {seconds} s: {' '.join(words)}\n{''.join(process.communicate())}")
    return process.returncode, out, errors


def run(command, seconds=60, stdin=None, **variables):
    """Does the same, and returns what it printed. Any exit code but 0 ends the test."""
    code, out, errors = attempt(command, seconds, stdin, **variables)
    if code != 0:
        sys.exit(f"exit code {code}: {' '.join(str(word) for word in command)}\n{out}{errors}")
    return out


def skip(reason):
    """Ends the test as skipped."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def expect(condition, message):
    """Ends the test as failed unless `condition` holds."""
    if not condition:
        sys.exit(message)
