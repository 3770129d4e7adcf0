"""The HTML report in a browser, where there is one: it is laid out at a wide
and a narrow width and in print, and asks for nothing."""
import shutil
import subprocess
import unittest

import harness

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@unittest.skipUnless(BROWSER, "no Chromium: the report is seen by nobody")
class Browser(harness.Case):
    def browse(self, *words, page="r.html"):
        return subprocess.run(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={self.folder / 'profile'}", *words,
             (self.folder / page).as_uri()],
            capture_output=True, text=True, timeout=harness.LIMIT, check=True)

    def test_it_is_shown_and_printed(self):
        self.write("t.jobrun.yaml", "version: 1\nname: seen\nworld_size: 2\n"
                   "tee: all\nentrypoint: {shell: 'echo a; exit $RANK'}\n")
        self.expect(self.jobrun("t.jobrun.yaml"), 1)
        self.write("runs/latest/metrics.jsonl", "".join(
            f'{{"step": {step}, "metrics": {{"loss": {1 / (step + 1)}, '
            f'"{"long_name/" * 6}": 1}}}}\n'
            for step in range(100)))
        self.expect(self.jobrun("report", "--format", "html", "-o", "r.html"),
                    0)
        for size, scheme in (("1200,2000", 1), ("400,2000", 0)):  # 0: dark
            shot = self.folder / "shot.png"
            self.browse(f"--window-size={size}", f"--screenshot={shot}",
                        f"--blink-settings=preferredColorScheme={scheme}")
            self.assertGreater(shot.stat().st_size, 10000)
            shot.unlink()
        self.fits_a_phone()
        paper = self.folder / "paper.pdf"
        self.browse(f"--print-to-pdf={paper}")
        self.assertEqual(paper.read_bytes()[:4], b"%PDF")
        dom = self.browse("--dump-dom").stdout
        self.assertIn("<h1>seen</h1>", dom)
        self.assertIn("<strong>loss</strong> 0.01 at step 99", dom)


    def fits_a_phone(self):
        """Nothing but what scrolls by itself is wider than the page, which is in
        a frame because windows have a least width."""
        self.write("phone.html", """\
<iframe src="r.html" width="360" onload="
  const page = this.contentDocument, table = page.querySelector('.name');
  document.title = (page.documentElement.scrollWidth <= 360) + ' ' +
      (table.offsetWidth < 200) + ' ' +
      Array.from(page.querySelectorAll('.curves svg')).every(
          one => one.getBoundingClientRect().right <= 360);
"></iframe>""")
        dom = self.browse("--allow-file-access-from-files", "--dump-dom",
                          page="phone.html").stdout
        self.assertIn("<title>true true true</title>", dom)


if __name__ == "__main__":
    harness.main()
