"""The schema in an editor: what the YAML language server makes of it.

    YAMLLS=FOLDER   the server, from npm, installed into FOLDER
"""
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import unittest

FOLDER = pathlib.Path(os.environ.get("YAMLLS", "yamlls"))
PACKAGE = "yaml-language-server@1.25.0"
SCHEMA = (pathlib.Path(__file__).resolve().parents[2] /
          "schemas/jobspec-v1.schema.json")
LIMIT = 60
SPEC = """\
# yaml-language-server: $schema={schema}
version: 1
entrypoint: [./train]
world_size: many
start_method: frok
paralelism: {{model: 2}}
results:
  fields:
    loss: {{type: numbr}}
timeouts:
  r
dev
"""


class Server:
    """Speaks the Language Server Protocol over the server's own streams."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [FOLDER / "node_modules/.bin/yaml-language-server", "--stdio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=folder)
        self.told = queue.Queue()
        self.last = 0
        self.diagnostics = {}  # of each document, as last told
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while header := self.process.stdout.readline():
            size = 0
            while header.strip():
                name, _, value = header.decode().partition(":")
                if name.lower() == "content-length":
                    size = int(value)
                header = self.process.stdout.readline()
            self.told.put(json.loads(self.process.stdout.read(size)))
        self.told.put(None)

    def send(self, **message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text))
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def hear(self):
        """The next message; requests of the server are answered at once."""
        message = self.told.get(timeout=LIMIT)
        if message is None:
            raise EOFError("the server has gone")
        if "method" in message and "id" in message:
            items = message.get("params", {}).get("items", [])
            self.send(id=message["id"], result=[{} for _ in items] or None)
        if message.get("method") == "textDocument/publishDiagnostics":
            told = message["params"]
            self.diagnostics[told["uri"]] = told["diagnostics"]
        return message

    def ask(self, method, **params):
        self.last += 1
        self.send(id=self.last, method=method, params=params)
        while True:
            message = self.hear()
            if "method" not in message and message.get("id") == self.last:
                return message["result"]

    def begin(self, folder):
        """Say who asks; the first message of the protocol."""
        self.ask("initialize", processId=None, rootUri=folder.as_uri(),
                 capabilities={"textDocument": {"hover": {
                     "contentFormat": ["plaintext"]}}})
        self.send(method="initialized", params={})

    def open(self, path, text):
        """Its URI."""
        uri = path.as_uri()
        self.send(method="textDocument/didOpen", params={
            "textDocument": {"uri": uri, "languageId": "yaml", "version": 1,
                             "text": text}})
        return uri

    def marked(self, uri, text):
        """The words of each line that is marked, once any is."""
        while not self.diagnostics.get(uri):
            self.hear()
        lines = text.splitlines()
        return {lines[row["range"]["start"]["line"]]: row["message"]
                for row in self.diagnostics[uri]}

    def completed(self, place):
        """The labels of what is offered there."""
        found = self.ask("textDocument/completion", **place)
        items = found["items"] if isinstance(found, dict) else found
        return {item["label"].strip('"') for item in items}

    def end(self):
        self.process.kill()
        self.process.communicate()


class Editor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        cls.text = SPEC.format(schema=SCHEMA.as_uri())
        cls.server = Server(folder)
        cls.server.begin(folder)
        cls.uri = cls.server.open(folder / "train.jobrun.yaml", cls.text)
        cls.marked = cls.server.marked(cls.uri, cls.text)

    @classmethod
    def tearDownClass(cls):
        cls.server.end()
        cls.scratch.cleanup()

    def at(self, word, column=None):
        """Where a line that begins with `word` is; by default at its end."""
        lines = self.text.splitlines()
        (line,) = [i for i, text in enumerate(lines)
                   if text.strip().startswith(word)]
        end = len(lines[line]) if column is None else column
        return {"textDocument": {"uri": self.uri},
                "position": {"line": line, "character": end}}

    def test_mistakes_are_marked(self):
        for word in ("world_size", "start_method", "paralelism", "loss"):
            self.assertTrue(any(line.strip().startswith(word)
                                for line in self.marked), self.marked)

    def test_fields_are_completed(self):
        for word, wanted in (("dev", {"device", "devices"}), ("r", {"run"})):
            if word == "r":
                place = self.at("timeouts")
                place["position"]["line"] += 1
                place["position"]["character"] = 3
            else:
                place = self.at(word)
            self.assertLessEqual(wanted, self.server.completed(place))

    def test_values_are_completed(self):
        self.assertLessEqual({"spawn", "fork", "forkserver"},
                             self.server.completed(self.at("start_method", 14)))

    def test_descriptions_are_shown(self):
        hover = self.server.ask("textDocument/hover",
                                **self.at("world_size", 3))
        self.assertIn("rank", json.dumps(hover["contents"]))


class NewSpec(unittest.TestCase):
    """What `jobrun new -o` writes is all that an editor needs."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="jobrun new ")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        subprocess.run([os.environ["JOBRUN"], "new", "torch", "-o",
                        self.folder / "train.jobrun.yaml"], check=True,
                       stderr=subprocess.DEVNULL, timeout=LIMIT)
        self.server = Server(self.folder)
        self.addCleanup(self.server.end)
        self.server.begin(self.folder)

    def test_it_is_checked_and_completed(self):
        text = (self.folder / "train.jobrun.yaml").read_text()
        uri = self.server.open(self.folder / "train.jobrun.yaml", text)
        while uri not in self.server.diagnostics:
            self.server.hear()
        self.assertEqual(self.server.diagnostics[uri], [])
        wrong = text + "world_sise: 2\nstart_method: frok\ndev\n"
        uri = self.server.open(self.folder / "wrong.jobrun.yaml", wrong)
        marked = self.server.marked(uri, wrong)
        self.assertIn("world_sise", marked["world_sise: 2"])
        self.assertIn("forkserver", marked["start_method: frok"])
        place = {"textDocument": {"uri": uri},
                 "position": {"line": wrong.count("\n") - 1, "character": 3}}
        self.assertLessEqual({"devices", "device_visibility"},
                             self.server.completed(place))


def install():
    """By npm, once."""
    if (FOLDER / "node_modules/.bin/yaml-language-server").exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--prefix", ".", "--no-save",
                    "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE],
                   cwd=FOLDER, check=True, timeout=300,
                   stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    try:
        install()
    except (OSError, subprocess.SubprocessError) as error:
        print(f"SKIPPED: cannot fetch {PACKAGE}: {error}")
        sys.exit(77)
    unittest.main()
