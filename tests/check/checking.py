# SPDX-License-Identifier: Apache-2.0
"""The form of the report of impirun -check, and what tests expect of it."""

import json
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "launch"), str(TESTS / "fault")]
from support import Case  # noqa: E402

# Fields of the JSON report, and the types of their values. A list has the fields of its elements.
NUMBER, TEXT, TRUTH = (int, float), str, bool
SYSTEM = {
    "system": int,
    "version": TEXT,
    "protocol": int,
    "node": TEXT,
    "kernel": TEXT,
    "server": TEXT,
    "from": [TEXT],
    "libraries": [{"name": TEXT, "file": TEXT, "version": TEXT, "error": TEXT}],
    "interfaces": [{"name": TEXT, "address": TEXT, "mtu": int}],
    "names": [{"name": TEXT, "address": TEXT}],
    "limits": {
        "descriptors": int,
        "descriptors_hard": int,
        "shared_memory": int,
        "shared_memory_free": int,
        "memory": int,
        "memory_available": int,
        "receive_buffer": int,
        "send_buffer": int,
        "receive_window": int,
        "send_window": int,
        "congestion": TEXT,
    },
    "settings": {
        "encryption": TEXT,
        "clear_allowed": TRUTH,
        "authentication": TEXT,
        "ports": TEXT,
        "ports_free": int,
        "ports_all": int,
        "streams": int,
        "max_channels": int,
        "processes": int,
    },
}
ROAD = {
    "from": int,
    "to": int,
    "joined": TRUTH,
    "relayed": TRUTH,
    "connects": TRUTH,
    "why_not": TEXT,
    "encrypted": TRUTH,
    "local": TEXT,
    "remote": TEXT,
    "interface": TEXT,
    "mtu": int,
    "path_mtu": int,
    "congestion": TEXT,
    "round_trip_us": NUMBER,
    "round_trip_99_us": NUMBER,
    "clock_ahead_us": NUMBER,
    "clock_error_us": NUMBER,
    "rate": NUMBER,
    "rate_streams": NUMBER,
    "streams": int,
    "trouble": TEXT,
}
FINDING = {"breaks": TRUTH, "systems": [int], "cause": TEXT, "cure": TEXT}
REPORT = {
    "format": int,
    "ok": TRUTH,
    "here": int,
    "systems_wanted": int,
    "systems": [SYSTEM],
    "roads": [ROAD],
    "findings": [FINDING],
}


def wrong_form(value, form, where="report"):
    """What of a JSON value does not have this form; nothing if it has."""
    if isinstance(form, dict):
        if not isinstance(value, dict) or list(value) != list(form):
            return f"{where}: {value}"
        wrong = (wrong_form(value[name], form[name], f"{where}.{name}") for name in form)
        return next(filter(None, wrong), None)
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"{where}: {value}"
        wrong = (wrong_form(each, form[0], f"{where}[]") for each in value)
        return next(filter(None, wrong), None)
    fits = isinstance(value, form) and (form is bool or not isinstance(value, bool))
    return None if fits else f"{where}: {value}"


class Check(Case):
    def report(self, run, status):
        """The checked JSON report of a run that ends with this status."""
        self.expect(run, status)
        report = json.loads(run.out)
        self.assertIsNone(wrong_form(report, REPORT), run)
        self.assertEqual(report["format"], 1)
        self.assertEqual(report["ok"], status == 0)
        return report

    def expect_finding(self, report, breaks, systems, cause, cure):
        """The report has a finding whose cause and cure match these regular expressions."""
        for each in report["findings"]:
            if re.search(cause, each["cause"]):
                self.assertEqual((each["breaks"], each["systems"]), (breaks, systems), each)
                self.assertRegex(each["cure"], cure)
                self.assertNotIn("\n", each["cause"] + each["cure"])
                return
        self.fail(f"no finding has the cause {cause}: {json.dumps(report['findings'], indent=1)}")

    def expect_no_problem(self, report):
        problems = [each for each in report["findings"] if each["breaks"]]
        self.assertEqual(problems, [])

    def road(self, report, begin, end):
        (found,) = (each for each in report["roads"] if (each["from"], each["to"]) == (begin, end))
        return found

    def expect_measured(self, road):
        self.assertTrue(road["joined"], road)
        self.assertEqual(road["trouble"], "", road)
        self.assertGreater(road["round_trip_us"], 0)
        self.assertGreaterEqual(road["round_trip_99_us"], road["round_trip_us"])
        self.assertGreater(road["rate"], 0)
        # One clock in all namespaces.
        self.assertLessEqual(abs(road["clock_ahead_us"]), road["clock_error_us"] + 1)
