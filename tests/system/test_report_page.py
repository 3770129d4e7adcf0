"""jobrun report: the file that a run can be handed on as."""
import html.parser
import json
import os
import pathlib
import re
import urllib.parse

import harness

VOID = {"meta", "br"}
EVIL = "<script>alert(1)</script>\"'&</pre>"
LOADS = {"script", "link", "img", "iframe", "object", "embed", "base", "form",
         "video", "audio", "source", "use", "image", "foreignobject"}


class Page(html.parser.HTMLParser):
    """What the tests ask of a page; whatever is not closed in order, or loads
    or executes anything, is a mistake."""

    def __init__(self, text):
        super().__init__()
        self.open, self.mistakes, self.links = [], [], []
        self.count, self.ids, self.text = {}, set(), []
        self.feed(text)
        self.close()
        if self.open:
            self.mistakes.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag in LOADS:
            self.mistakes.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or name in ("src", "srcset", "style"):
                self.mistakes.append(f"{tag} {name}={value}")
            if name == "href":
                self.links.append(value)
            if name == "id":
                if value in self.ids:
                    self.mistakes.append(f"twice: id {value}")
                self.ids.add(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(f"</{tag}> out of order")

    def handle_data(self, data):
        self.text.append(data)


def many(run, count):
    """Give the run `count` ranks, of which one failed."""
    path = run / "results.json"
    results = json.loads(path.read_text())
    first = results["ranks"][0]
    start = 10 ** 12
    events = []
    for i in range(count):
        events.append({"time": "2026-01-01T00:00:00.000Z", "rank": i, "pid": 9,
                       "ns": start + i * 10 ** 6, "event": "rank_started"})
    results["ranks"] = [
        {**first, "rank": i, "local_rank": i, "seconds": 1 + i / 100,
         "coordinates": {"model": i % 8, "pipeline": 0, "data": i // 8},
         "state": "failed" if i == 300 else "stopped",
         "result": {"loss": i / 7, "name": f"r{i}"}} for i in range(count)]
    for i in range(count):
        events.append({"time": "2026-01-01T00:00:00.000Z", "rank": i, "pid": 9,
                       "ns": start + 10 ** 9 + i * 10 ** 6, "exit_code": 1,
                       "signal": None, "event": "rank_ended"})
    results.update(world_size=count, status="failed", exit_code=1)
    path.write_text(json.dumps(results))
    (run / "events.jsonl").write_text(
        "".join(json.dumps(event) + "\n" for event in events))


class Report(harness.Case):
    def run_of(self, script, more="", code=0):
        self.write("t.jobrun.yaml",
                   "version: 1\nname: t\nworld_size: 2\ntee: all\n"
                   f"{more}entrypoint:\n  shell: |\n    {script}\n")
        self.expect(self.jobrun("t.jobrun.yaml"), code)
        return (self.folder / "runs" / "latest").resolve()

    def page(self, *words, code=0):
        done = self.expect(self.jobrun("report", "--format", "html", *words),
                           code)
        return self.checked(done.stdout)

    def checked(self, text):
        page = Page(text)
        self.assertEqual(page.mistakes, [])
        self.assertNotRegex(text, r"(?i)https?:|//[a-z]|@import|url\(")
        for link in page.links:
            self.assertEqual(urllib.parse.urlsplit(link)[:2], ("", ""), link)
        return page

    def test_text_is_what_the_run_told(self):
        self.run_of("exit 3", code=1)
        told = self.expect(self.jobrun("report"), 0).stdout
        self.assertEqual(told, self.jobrun("show").stdout)
        self.assertIn("exited with code 3", told)

    def test_a_run_without_results_has_none(self):
        run = self.run_of("true")
        (run / "results.json").unlink()
        for words in ([], ["--format", "html", "-o", "a.html"]):
            done = self.expect(self.jobrun("report", *words), 7)
            self.assertIn("jobrun show", done.stderr)
        self.assertFalse((self.folder / "a.html").exists())
        self.expect(self.jobrun("report", "nosuch"), 2)
        self.expect(self.jobrun("report", "--format", "pdf"), 2)

    def test_parts(self):
        self.run_of("""echo hi; echo '{"loss": '$RANK'.5}' > """
                    "$JOBRUN_RESULT_FILE", "results: {required: all}\n")
        page = self.page()
        self.assertLessEqual(
            {"cause", "timeline", "results", "mesh", "ranks", "usage",
             "origin", "place", "files"}, page.ids)
        text = "".join(page.text)
        for word in ("succeeded in", "0.5 .. 1.5", "world_size",
                     "t.jobrun.yaml:3:13", "began", "kernel", "first output"):
            self.assertIn(word, text)
        self.assertEqual(page.count["table"], page.count["caption"])

    def test_metrics_are_drawn(self):
        run = self.run_of("true")
        before = self.page()
        self.assertNotIn("curves", before.ids)
        lines = [{"ns": step, "time": "t", "attempt": attempt, "rank": rank,
                  "step": step, "metrics": {
                      "loss": None if step == 7 else 1 / (step + rank + 1),
                      "acc": step / 100}}
                 for attempt in (0, 1) for step in range(100)
                 for rank in (0, 1)]
        path = run / "metrics.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        page = self.page()
        self.assertIn("curves", page.ids)
        self.assertEqual(page.count["path"] - before.count.get("path", 0), 8)
        text = "".join(page.text)
        for word in ("loss 0.01 at step 99", "one line for each rank",
                     "pale lines are earlier attempts", "metrics.jsonl: "):
            self.assertIn(word, text)

    def test_a_hostile_file_of_metrics(self):
        run = self.run_of("true")
        path = run / "metrics.jsonl"
        name = EVIL + "\x1b[2J\u202e"
        path.write_text(json.dumps({"step": 1, "metrics": {name: 2}}) + "\n"
                        "junk\n{\"step\": 2")
        page = self.page()
        self.assertIn(EVIL, "".join(page.text))
        self.assertNotIn("\x1b", "".join(page.text))
        self.assertIn("missing or unreadable", "".join(page.text))
        path.unlink()
        path.symlink_to("/etc/passwd")
        self.assertNotIn("curves", self.page().ids)
        path.unlink()
        os.mkfifo(path)
        self.assertNotIn("curves", self.page().ids)
        path.unlink()
        with open(path, "wb") as file:
            file.truncate(1 << 40)
        with self.takes_less(20):
            self.assertNotIn("curves", self.page().ids)

    def test_values_of_the_command_line(self):
        self.expect(self.jobrun("-n", "2", "-s", "threads=1", "--", "true"), 0)
        rows = self.page().text
        for place in "-n:1", "--set:9":
            self.assertIn(place, rows)

    def test_the_system_is_told(self):
        """Wherever in os-release(5) its name stands."""
        run = self.run_of("true")
        names = re.findall(r"(?m)^PRETTY_NAME=[\"']?([^\"'\n]*)",
                           self.os_release())
        self.assertEqual([json.loads((run / "run.json").read_text())["os"]],
                         names or [None])

    def os_release(self):
        try:
            return pathlib.Path("/etc/os-release").read_text()
        except FileNotFoundError:
            return ""

    def test_nothing_from_outside_is_markup(self):
        body = json.dumps({EVIL: EVIL, "x": [EVIL]})
        self.write("body.json", body)
        self.write("err.txt", EVIL + "\n\x1b[2Jx\u202ey\n")
        self.write("evil.py", "import sys, os, json\n"
                   "open(os.environ['JOBRUN_RESULT_FILE'], 'w').write("
                   "open('body.json').read())\n"
                   "sys.stderr.write(open('err.txt').read())\n"
                   "class E(Exception): pass\n"
                   "raise E(open('err.txt').read())\n")
        self.write("t.jobrun.yaml",
                   f"version: 1\nname: t\nworld_size: 2\ntee: all\n"
                   f"description: {json.dumps(EVIL)}\n"
                   f"labels: {{a: {json.dumps(EVIL)}}}\n"
                   f"env: {{A: {json.dumps(EVIL)}}}\n"
                   "entrypoint: {python: {script: evil.py}, "
                   f"args: [{json.dumps(EVIL)}]}}\n")
        done = self.jobrun("t.jobrun.yaml", "-s", f"env.B={EVIL}",
                           "--run-id", "evil")
        self.expect(done, 1)
        run = self.folder / "runs" / "evil"
        results = json.loads((run / "results.json").read_text())
        results.update(name=EVIL, run_id=EVIL)
        log = run / ("javascript:alert(1)//" + EVIL)
        log.parent.mkdir(parents=True)
        log.write_text("a stream that wrote nothing has no link")
        for rank in results["ranks"]:
            rank.update(host=EVIL, device=EVIL, result={EVIL: EVIL},
                        error=EVIL, stdout="javascript:alert(1)//" + EVIL)
        (run / "results.json").write_text(json.dumps(results))
        record = json.loads((run / "run.json").read_text())
        record.update({key: EVIL for key in record
                       if isinstance(record[key], str)})
        (run / "run.json").write_text(json.dumps(record))
        with open(run / "events.jsonl", "a") as file:
            file.write(json.dumps({"ns": 10 ** 15, "event": EVIL,
                                   EVIL: EVIL}) + "\nno json <b>\n[]\n{}\n")
        page = self.page()
        text = "".join(page.text)
        self.assertGreater(text.count("<script>alert(1)</script>"), 10)
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u202e", text)
        self.assertTrue(any("javascript%3A" in link for link in page.links))

    def test_links_lead_to_the_files(self):
        self.run_of("echo a; echo b >&2")
        deep = self.folder / "a b" / "c"
        deep.mkdir(parents=True)
        for where, words in ((self.folder, []),
                             (deep, ["-o", deep / "r.html"]),
                             (self.folder / "runs", ["-o", "runs/r.html"]),
                             (self.folder / "runs/latest",
                              ["-o", "runs/latest/r.html"])):
            done = self.expect(
                self.jobrun("report", "--format", "html", *words), 0)
            text = done.stdout or (where / "r.html").read_text()
            links = self.checked(text).links
            self.assertGreater(len(links), 8)
            for link in links:
                path = where.resolve() / urllib.parse.unquote(link)
                self.assertTrue(path.is_file(), f"{where}: {link}")

    def test_a_log_that_is_gone_is_not_called_empty(self):
        run = self.run_of("echo a; echo b >&2")
        (run / "attempt_0/0/stderr.log").unlink()
        text = "".join(self.page(run.name).text)
        self.assertIn("stderr: no file", text)
        self.assertNotIn("stdout: no file", text)

    def test_a_file_that_is_there_stays(self):
        self.run_of("true")
        self.write("r.html", "mine")
        self.expect(self.jobrun("report", "-o", "r.html"), 2)
        self.assertEqual((self.folder / "r.html").read_text(), "mine")

    def test_many_ranks_are_folded(self):
        run = self.run_of("true")
        many(run, 512)
        done = self.expect(self.jobrun("report", "--format", "html"), 0)
        self.checked(done.stdout)
        outside = re.sub(r"<details>.*?</details>", "", done.stdout,
                         flags=re.S)
        self.assertLess(outside.count("<tr"), 100)
        self.assertIn("All 512 ranks", done.stdout)
        self.assertEqual(outside.count('<rect class="failed"'), 1)
        self.assertLess(len(done.stdout), 1 << 20)
        many(run, 5000)
        self.page()

    def test_what_is_missing_is_left_out(self):
        run = self.run_of("true")
        for name in ("events.jsonl", "explain.json", "plan.json"):
            (run / name).unlink()
            self.page(run.name)
        (run / "run.json").write_text("{")
        self.assertNotIn("place", self.page(run.name).ids)


if __name__ == "__main__":
    harness.main()
