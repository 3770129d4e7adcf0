"""The HTML page of a sweep: its table, its drawings, its links, whatever stands in
names and results; and that a large one is still a page that opens."""
import html.parser
import json
import pathlib
import re
import time
import urllib.parse

import harness

SPEC = """\
version: 1
name: scan
device: cpu
world_size: 1
vars: {lr: 0.1, batch: 1, steps: 1, net: a}
env: {LR: "${vars.lr}", B: "${vars.batch}", S: "${vars.steps}", N: "${vars.net}"}
entrypoint:
  shell: |
    [ "$N" != c ] || { echo "<b>lost</b>" >&2; exit 3; }
    echo "{\\"loss\\": $LR, \\"note\\": \\"<script>alert(1)</script>\\"}" \
      > "$JOBRUN_RESULT_FILE"
results: {fields: {loss: {type: number}}}
sweep:
  axes:
    vars.lr: [0.001, 0.1, 1]
    "vars.batch,vars.steps": [[1, 20], [2, 10]]
    vars.net: [a, c]
  best: {field: loss, goal: max}
"""
VOID = {"meta", "br", "link", "img", "input"}


class Page(html.parser.HTMLParser):
    """All elements with their attributes, and the text; each element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        last = self.open.pop()
        assert last == tag, (last, tag)

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


class Report(harness.Case):
    def sweep(self, spec=SPEC, code=1, name="S"):
        self.write("scan.jobrun.yaml", spec)
        self.expect(self.jobrun("scan.jobrun.yaml", "--run-id", name), code)

    def page(self, *words, name="S"):
        done = self.expect(self.jobrun("report", name, "--format", "html",
                                       *words), 0)
        return Page(done.stdout)

    def rows(self, page):
        text = "".join(page.text)
        return text

    def test_table_and_drawings(self):
        self.sweep()
        page = self.page()
        text = "".join(page.text)
        self.assertIn("6 of 12 delivered, 6 failed", text)
        self.assertIn("0008: loss 1 (the highest)", text)
        captions = re.findall(r"loss over [^\n]*", text)
        self.assertEqual(captions, [
            "loss over lr, to a logarithmic scale",
            "loss over batch, steps", "loss over net"])
        groups = [group["class"] for group in page.all("g")]
        self.assertEqual(groups, ["dots", "best"] * 3)
        dots = re.findall(r"cell (\d+): loss (\S+) at ([\d., ]+|a)", text)
        self.assertEqual(len(dots), 3 * (6 + 1))  # the best is drawn again
        self.assertEqual(text.count("cell 0008: loss 1 at 1, 20"), 2)
        self.assertEqual(text.count("exited with code 3"), 6)
        self.assertIn("1, 20", text)

    def test_scales(self):
        """Equal factors are drawn alike, equal steps too, each value with a
        label."""
        self.sweep(SPEC.replace("[0.001, 0.1, 1]", "[0.3, 0.1, 0.03, 0.01]")
                   .replace("[[1, 20], [2, 10]]",
                            "[[1, 1], [2, 2]]").replace("[a, c]", "[a]"), 0)
        page = self.page()
        text = "".join(page.text)
        self.assertIn("loss over lr, to a logarithmic scale", text)
        labels = [place for place in page.all("text") if "x" in place]
        xs = [float(place["x"][:-1]) for place in labels if "%" in place["x"]]
        self.assertEqual(len(xs), 4 + 2)
        steps = [after - before for before, after in zip(xs[:4], xs[1:4])]
        self.assertLess(max(steps), 1.2 * min(steps))
        self.sweep(SPEC.replace("[0.001, 0.1, 1]", "{from: 1, to: 20}"),
                   name="T")
        self.assertNotIn("logarithmic scale", "".join(self.page(name="T").text))

    def test_metrics_are_drawn(self):
        """A line for each cell, of its last attempt."""
        self.sweep("""\
version: 1
name: scan
device: cpu
world_size: 2
oversubscribe: true
vars: {n: 0}
entrypoint: {shell: "for i in 1 2 3; do echo step $i loss ${vars.n}$i; done"}
progress: {pattern: 'step (?<step>\\d+) loss (?<loss>\\d+)', of: 3}
sweep: {axes: {vars.n: [1, 2, 3]}}
""", 0)
        page = self.page()
        text = "".join(page.text)
        self.assertIn("Progress", text)
        for cell in range(3):
            self.assertEqual(text.count(f"cell {cell:04}"), 1)

    def test_it_loads_and_runs_nothing(self):
        self.sweep()
        page = self.page()
        tags = {tag for tag, _ in page.elements}
        self.assertFalse(tags & {"script", "link", "img", "iframe", "object"})
        for tag, attributes in page.elements:
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on"), (tag, name))
                if name in ("src", "srcset"):
                    self.fail((tag, name, value))
        self.assertIn("<script>alert(1)</script>", "".join(page.text))
        self.assertIn("prefers-color-scheme: dark", "".join(page.text))

    def test_links_lead_to_the_cells(self):
        self.sweep()
        out = self.folder / "a folder"
        out.mkdir()
        self.expect(self.jobrun("report", "S", "--format", "html", "-o",
                                "a folder/page.html"), 0)
        page = Page((out / "page.html").read_text())
        links = [link["href"] for link in page.all("a")]
        self.assertEqual(len(links), 12 + 2)
        for link in links:
            self.assertTrue((out / urllib.parse.unquote(link)).exists(), link)
        self.expect(self.jobrun("report", "S", "-o", "a folder/page.html"), 2)

    def test_as_text_it_is_the_table(self):
        self.sweep()
        shown = self.expect(self.jobrun("show", "S"), 0).stdout
        self.assertEqual(self.expect(self.jobrun("report", "S"), 0).stdout,
                         shown)
        self.expect(self.jobrun("report", "S", "-o", "table.txt"), 0)
        self.assertEqual((self.folder / "table.txt").read_text(), shown)

    def test_hostile_words(self):
        """What a file of the sweep may hold is text, whatever it is."""
        self.sweep()
        path = self.folder / "runs/S/sweep.json"
        evil = "\"><img src=x onerror=alert(1)>'&\x1b[31m\u202e"
        sweep = json.loads(path.read_text())
        sweep["name"] = sweep["spec"] = evil
        sweep["best"]["field"] = evil
        sweep["axes"] = [{"path": evil, "values": [evil, {"a": evil}, [evil]]}]
        sweep["counts"] = {evil: 3, "succeeded": 9}
        for number, cell in enumerate(sweep["cells"]):
            cell["values"] = {evil: [evil, {"a": evil}, [evil]][number % 3]}
            cell["result"] = {evil: number, "x": evil, "y": [evil]}
            cell["status"] = "succeeded" if number < 9 else evil
        path.write_text(json.dumps(sweep))
        page = self.page()
        self.assertFalse([tag for tag, _ in page.elements if tag == "img"])
        self.assertEqual(len([group for group in page.all("g")
                              if group.get("class") == "dots"]), 1)
        for tag, attributes in page.elements:
            for name, value in attributes.items():
                self.assertFalse(name.startswith("on"), (tag, name, value))
                self.assertNotIn("alert", value or "", (tag, name))
        text = "".join(page.text)
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u202e", text)
        self.assertIn("<img src=x", text)

    def test_odd_sweeps(self):
        self.sweep()
        path = self.folder / "runs/S/sweep.json"
        good = json.loads(path.read_text())

        def drawn(**changes):
            path.write_text(json.dumps({**good, **changes}))
            page = self.page()
            return len([one for one in page.all("g")
                        if one.get("class") == "dots"])
        self.assertEqual(drawn(best=None), 3)  # the first number
        self.assertEqual(drawn(axes=[]), 0)
        self.assertEqual(drawn(axes=None), 0)
        self.assertEqual(drawn(axes=[{"path": "vars.lr", "values": [0.001]}]),
                         0)
        self.assertEqual(drawn(axes=[{"path": 3}, 4, {"values": [1, 2]}]), 0)
        self.assertEqual(drawn(cells=[]), 0)
        nothing = [{**cell, "result": None} for cell in good["cells"]]
        self.assertEqual(drawn(cells=nothing), 0)
        huge = [{**cell, "result": {"loss": value}} for cell, value in
                zip(good["cells"], [1e308, -1e308, 0, 5e-324] * 3)]
        self.assertEqual(drawn(cells=huge), 3)
        path.write_text("{\"cells\": 3}")
        self.expect(self.jobrun("report", "S", "--format", "html"), 7)

    def test_ten_thousand_cells(self):
        self.sweep()
        path = self.folder / "runs/S/sweep.json"
        sweep = json.loads(path.read_text())
        one = sweep["cells"][0]
        values = [i / 7 for i in range(5000)]
        sweep["axes"] = [{"path": "vars.lr", "values": values},
                         {"path": "vars.batch", "values": [1, 2]}]
        sweep["cells"] = [
            {**one, "cell": i, "run": f"cells/{i:04}",
             "values": {"vars.lr": values[i // 2], "vars.batch": 1 + i % 2},
             "result": {"loss": i * 7919 % 10007}} for i in range(10000)]
        sweep["counts"] = {"succeeded": 10000}
        path.write_text(json.dumps(sweep))
        began = time.monotonic()
        done = self.expect(self.jobrun("report", "S", "--format", "html"), 0)
        print(f"# 10000 cells: {len(done.stdout) / 1e6:.1f} MB in "
              f"{time.monotonic() - began:.2f} s")
        self.assertLess(len(done.stdout), 3_000_000)
        page = Page(done.stdout)
        text = "".join(page.text)
        self.assertIn("The first 2000 of 10000 cells by loss, highest first",
                      text)
        self.assertIn("jobrun show S --format csv", text)
        self.assertIn("one in 3 of 10000 cells is drawn", text)
        self.assertEqual(len(page.all("tr")), 2001)


if __name__ == "__main__":
    harness.main()
