"""The site of tools/site: every page is there and lists what it should, every link
and anchor leads somewhere, nothing is asked of another host, and a browser shows it
wide, narrow and dark, and finds a word.
"""
import html.parser
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

SOURCE = pathlib.Path(os.environ["SOURCE"])
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
LIMIT = 300  # seconds that any command may take
NARROW = 400  # pixels of a telephone
# Shows each page in a frame that is as wide as a telephone, then searches in the
# first, and turns it dark. Its image, which the server keeps back until the answer is
# there, keeps the browser.
CHECK = """\
<!DOCTYPE html><title>check</title><img src="/wait" alt="">
<iframe id="frame" width="%d" height="800"></iframe>
<script>
const pages = %s, frame = document.getElementById("frame"), told = {width: {}};
const load = page => new Promise(done => {
  frame.onload = () => done(frame.contentDocument);
  frame.src = page;
});
async function check() {
  for (const page of pages) {
    const shown = await load(page);
    told.width[page] = shown.documentElement.scrollWidth;
  }
  const shown = await load("index.html");
  const scheme = () => shown.body.getAttribute("data-md-color-scheme");
  told.light = scheme();
  shown.querySelector("#__palette_1").click();
  told.dark = scheme();
  const query = shown.querySelector("[data-md-component=search-query]");
  query.focus();
  query.value = "slurm";
  query.dispatchEvent(new Event("keyup"));
  while (!shown.querySelector(".md-search-result__item a"))
    await new Promise(done => setTimeout(done, 50));
  told.found = [...shown.querySelectorAll(".md-search-result__item a")]
    .map(link => new URL(link.href).pathname);
}
check().catch(error => { told.error = String(error); })
  .then(() => fetch("/told", {method: "POST", body: JSON.stringify(told)}));
</script>
"""


class Page(html.parser.HTMLParser):
    """What a page names, and what can be named in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.names = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.names.add(attrs["id"])
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if tag in ("script", "img", "iframe") and attrs.get("src"):
            self.loads.append(attrs["src"])
        if tag == "link" and attrs.get("rel") != "canonical":
            self.loads.append(attrs["href"])


class Handler(http.server.SimpleHTTPRequestHandler):
    """The site, the page that checks it, and its answer."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/wait":
            self.server.answered.wait(LIMIT)
        text = self.server.page if self.path == "/check" else ""
        if self.path not in ("/wait", "/check"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.server.told = json.loads(self.rfile.read(size))
        self.send_response(204)
        self.end_headers()
        self.server.answered.set()


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="jobrun-site-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.site = cls.scratch / "my site"
        done = subprocess.run([SOURCE / "tools/site", cls.site], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT, check=False)
        if done.returncode != 0 and "No matching distribution" in done.stdout:
            raise unittest.SkipTest("no PyPI")
        assert done.returncode == 0, done.stdout
        cls.pages = {path: Page(path) for path in cls.site.rglob("*.html")}

    def name(self, path):
        return str(path.relative_to(self.site))

    def test_every_page_is_there(self):
        made = {self.name(path) for path in self.pages}
        wanted = {str(path.relative_to(SOURCE).with_suffix(".html"))
                  for path in (SOURCE / "docs").glob("*.md")}
        self.assertGreater(len(wanted), 20)
        self.assertEqual(wanted - made, set())
        start = self.pages[self.site / "index.html"].links
        self.assertEqual({page for page in wanted if page not in start}, set())

    def test_links_and_anchors_lead_somewhere(self):
        lost, count = [], 0
        for path, page in self.pages.items():
            for link in page.links:
                parts = urllib.parse.urlsplit(link)
                if parts.scheme:
                    continue
                count += 1
                to = path if not parts.path else (
                    path.parent / urllib.parse.unquote(parts.path)).resolve()
                if path.name == "404.html" and parts.path.startswith("/"):
                    to = self.site / parts.path.lstrip("/")
                if to.is_dir():
                    to = to / "index.html"
                names = self.pages[to].names if to in self.pages else set()
                if not to.is_file() or (parts.fragment and
                                        parts.fragment not in names):
                    lost.append((self.name(path), link))
        self.assertGreater(count, 1000)
        self.assertEqual(lost, [])

    def test_nothing_is_asked_of_another_host(self):
        asked = [(self.name(path), load) for path, page in self.pages.items()
                 for load in page.loads if urllib.parse.urlsplit(load).netloc]
        self.assertEqual(asked, [])

    def test_words_for_tests_are_not_shown(self):
        text = (self.site / "index.html").read_text()
        typed = re.findall(r"(?m)^\$ ", (SOURCE / "README.md").read_text())
        self.assertGreater(len(typed), 10)
        self.assertEqual(text.count('<span class="gp">'), len(typed))
        for word in ("stand-in", "file=train", "status=3", "```"):
            self.assertFalse(word in text, word)

    @unittest.skipUnless(BROWSER, "no Chromium: the site is seen by nobody")
    def test_a_browser_shows_it(self):
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *words: Handler(
                *words, directory=str(self.site)))
        self.addCleanup(server.server_close)
        server.answered, server.told = threading.Event(), {}
        names = sorted(self.name(path) for path in self.pages
                       if path.name != "404.html")
        server.page = CHECK % (NARROW, json.dumps(names))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        address = f"http://127.0.0.1:{server.server_port}"
        self.browse("--dump-dom", address + "/check")
        told = server.told
        self.assertNotIn("error", told)
        self.assertEqual(sorted(told["width"]), names)
        self.assertEqual({name: width for name, width in told["width"].items()
                          if width > NARROW}, {})
        self.assertEqual((told["light"], told["dark"]), ("default", "slate"))
        self.assertIn("/docs/slurm.html", told["found"])
        for size in ("1280,900", "500,900"):
            shot = self.scratch / "shot.png"
            self.browse(f"--window-size={size}", f"--screenshot={shot}",
                        address + "/index.html")
            self.assertGreater(shot.stat().st_size, 20000)
            shot.unlink()

    def browse(self, *words):
        subprocess.run(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={self.scratch / 'profile'}", *words],
            check=True, timeout=LIMIT, capture_output=True)


if __name__ == "__main__":
    unittest.main()
