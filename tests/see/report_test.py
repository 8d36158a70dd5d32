# SPDX-License-Identifier: Apache-2.0
"""impishim-report: the page of a real run, opened in Debian's chromium, light and dark; and what it
refuses."""

import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "launch"))
from support import ARGUMENTS, LONG, Case, impirun, main  # noqa: E402
from watched import two_systems  # noqa: E402

REPORT = pathlib.Path(ARGUMENTS.impirun).parent / "impishim-report"
CHROMIUM = shutil.which("chromium")
CHARTS = {
    "traffic-systems",
    "traffic-hosts",
    "traffic-ranks",
    "time-by-system",
    "time-by-function",
    "time-line",
    "message-sizes",
    "batch-sizes",
    "answer-times",
    "call-durations",
}


class Page(html.parser.HTMLParser):
    """What a browser has made of a page: charts with their drawings, tables with their heads."""

    def __init__(self, text):
        super().__init__()
        self.drawn, self.charts, self.chart, self.depth = None, {}, None, 0
        self.tables, self.ids, self.links, self.loaded = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        if tag == "html":
            self.drawn = attributes.get("data-drawn")
        if "data-chart" in attributes:
            self.chart = attributes["data-chart"]
            self.charts[self.chart] = {"label": attributes["aria-label"], "shapes": 0}
        if tag in ("path", "text") and self.chart:
            self.charts[self.chart]["shapes"] += 1
        if tag == "table":
            self.chart = None
            self.tables.append({"caption": False, "heads": 0})
        if tag == "caption":
            self.tables[-1]["caption"] = True
        if tag == "th":
            self.tables[-1]["heads"] += attributes.get("scope") in ("row", "col")
        if tag == "a":
            self.links.append(attributes["href"])
        self.loaded += [attributes[name] for name in ("src", "srcset") if name in attributes]


def pixels_of(picture):
    """Width, height of a PNG."""
    return struct.unpack(">II", picture.read_bytes()[16:24])


class Reports(Case):
    def setUp(self):
        if not REPORT.exists():
            self.skipTest("impishim-report is not built: npm or its registry was missing")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, *words, status=0):
        done = subprocess.run(
            [REPORT, *map(str, words)], capture_output=True, text=True, timeout=LONG
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def page_of_a_run(self):
        prefix = self.folder / "run"
        with impirun(*two_systems("late", "long"), IMPISHIM_STATS=str(prefix)) as run:
            self.expect(run, 0)
        done = self.report(prefix)
        self.assertEqual(done.stdout, f"{prefix}.html\n")
        return self.folder / "run.html"

    def browse(self, page, dark):
        """The page as the browser has made it, and a picture of it."""
        if CHROMIUM is None:
            self.skipTest("there is no chromium (Debian's package chromium)")
        name = "dark" if dark else "light"
        picture = self.folder / f"{name}.png"
        command = [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1280,3000",
            f"--user-data-dir={self.folder / name}",
            "--virtual-time-budget=5000",
            # Whatever the page would load from elsewhere fails.
            "--host-resolver-rules=MAP * ~NOTFOUND",
            *(["--blink-settings=preferredColorScheme=0"] if dark else []),
        ]
        environment = {**os.environ, "HOME": str(self.folder)}

        def run(word):
            return subprocess.run(
                [*command, word, page.as_uri()],
                env=environment,
                capture_output=True,
                text=True,
                timeout=LONG,
                check=True,
            )

        text = run("--dump-dom").stdout
        run(f"--screenshot={picture}")
        keep = os.environ.get("IMPISHIM_TEST_SCREENSHOTS")
        if keep:
            shutil.copy(picture, pathlib.Path(keep) / f"report-{name}.png")
        return Page(text), picture

    def check_page(self, page):
        self.assertEqual(set(page.charts), CHARTS)
        self.assertEqual(page.drawn, str(len(CHARTS)))
        for name, chart in page.charts.items():
            self.assertGreater(chart["shapes"], 5, name)
            self.assertIn("The table below has the numbers.", chart["label"])
        self.assertEqual(len(page.tables), len(CHARTS))
        for table in page.tables:
            self.assertTrue(table["caption"])
            self.assertGreater(table["heads"], 2)
        for link in page.links:
            self.assertTrue(link.startswith("#") and link[1:] in page.ids, link)
        self.assertEqual(page.loaded, [])

    def test_a_browser_draws_the_page(self):
        page = self.page_of_a_run()
        light, light_picture = self.browse(page, dark=False)
        self.check_page(light)
        dark, dark_picture = self.browse(page, dark=True)
        self.check_page(dark)
        self.assertEqual(pixels_of(light_picture), (1280, 3000))
        self.assertNotEqual(light_picture.read_bytes(), dark_picture.read_bytes())

    def test_the_late_system_is_named(self):
        text = self.page_of_a_run().read_text(encoding="utf-8")
        self.assertRegex(text, r"System 1 waits \d+ % of its time in MPI_Allreduce for system 0")
        self.assertIn("4 ranks in 2 systems", text)
        self.assertNotRegex(text.split("<script")[0], r"https?://")

    def test_the_tables_say_what_the_files_say(self):
        text = self.page_of_a_run().read_text(encoding="utf-8")
        data = json.loads(
            re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
        )
        rows = data["traffic-ranks"]["rows"]
        for rank in range(4):
            sent = json.loads((self.folder / f"run.{rank}.json").read_text(encoding="utf-8"))[
                "sent"
            ]
            self.assertEqual(rows[rank], [sent.get(str(peer), [0, 0])[1] for peer in range(4)])

    def test_files_that_are_not_there(self):
        done = self.report(self.folder / "none", status=1)
        self.assertIn("run the job with IMPISHIM_STATS=", done.stderr)

    def test_a_rank_that_is_missing_and_one_that_is_cut(self):
        self.page_of_a_run()
        (self.folder / "run.3.json").unlink()
        done = self.report(self.folder / "run", "-o", self.folder / "three.html")
        self.assertIn("1 of 4 ranks have no file", done.stderr)
        self.assertIn("1 of 4 ranks", (self.folder / "three.html").read_text(encoding="utf-8"))
        cut = self.folder / "run.2.json"
        cut.write_text(cut.read_text(encoding="utf-8")[:100], encoding="utf-8")
        self.assertIn("run.2.json", self.report(self.folder / "run", status=1).stderr)

    def test_a_page_that_cannot_be_written(self):
        self.page_of_a_run()
        done = self.report(self.folder / "run", "-o", self.folder / "no" / "page.html", status=1)
        self.assertIn("cannot write", done.stderr)


if __name__ == "__main__":
    main()
