"""What `render --engine kubernetes` makes, read by kubectl itself: its client
dry run, beside a server that knows no more than the names of the kinds."""
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import threading
import unittest

import harness

KUBECTL = shutil.which("kubectl")
if KUBECTL is None:
    print("SKIPPED: no kubectl: install kubernetes-client")
    sys.exit(77)

SPECS = pathlib.Path(__file__).parent / "render"


def kinds(group, *names):
    return {"kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": group, "resources": [
                {"name": f"{name.lower()}s", "singularName": name.lower(),
                 "namespaced": True, "kind": name, "verbs": ["create", "get"]}
                for name in names]}


BATCH = {"groupVersion": "batch/v1", "version": "v1"}
ANSWERS = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
        {"name": "batch", "versions": [BATCH], "preferredVersion": BATCH}]},
    "/api/v1": kinds("v1", "ConfigMap", "Service"),
    "/apis/batch/v1": kinds("batch/v1", "Job"),
}


class Discovery(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        answer = ANSWERS.get(self.path.partition("?")[0])
        text = json.dumps(answer or {"kind": "Status"}).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Kubectl(harness.Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(SPECS, self.folder, dirs_exist_ok=True)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Discovery)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = "http://127.0.0.1:%d" % server.server_port

    def kubectl(self, *words):
        done = subprocess.run(
            [KUBECTL, f"--server={self.url}", *words], capture_output=True,
            text=True, timeout=harness.LIMIT, cwd=self.folder,
            env=harness.clean_environment(HOME=str(self.folder)))
        return self.expect(done, 0).stdout

    def render(self, spec):
        done = self.expect(self.jobrun("render", spec, "--engine",
                                       "kubernetes"), 0)
        self.write("objects.yaml", done.stdout)
        return done.stdout

    def created(self):
        """The objects as kubectl would send them, by kind."""
        text = self.kubectl("create", "--dry-run=client", "--validate=false",
                            "-o", "json", "-f", "objects.yaml")
        decoder, found, at = json.JSONDecoder(), {}, 0
        while at < len(text):
            item, at = decoder.raw_decode(text, at)
            at += len(text[at:]) - len(text[at:].lstrip())
            for one in item.get("items", [item]):
                found[one["kind"]] = one
        return found

    def test_every_object_is_taken(self):
        for spec in ("one.jobrun.yaml", "two.jobrun.yaml"):
            with self.subTest(spec):
                self.render(spec)
                told = self.kubectl("create", "--dry-run=client",
                                    "--validate=false", "-f", "objects.yaml")
                self.assertIn("job.batch/", told)
                self.assertEqual(told.count("(dry run)"), len(self.created()))

    def test_its_own_types_lose_nothing_of_a_job(self):
        """`set` reads a job into the type that the server has of it, which
        drops the fields that it does not know."""
        minor = json.loads(self.kubectl("version", "--client", "-o", "json"))[
            "clientVersion"]["minor"]
        if int(minor.rstrip("+")) < 31:
            self.skipTest(f"SKIPPED: kubectl 1.{minor} is older than the "
                          "fields of a job")
        for spec in ("one.jobrun.yaml", "two.jobrun.yaml"):
            with self.subTest(spec):
                self.render(spec)
                job = self.created()["Job"]
                self.write("job.json", json.dumps(job))
                typed = json.loads(self.kubectl(
                    "set", "env", "--local", "--dry-run=client", "-o", "json",
                    "-f", "job.json", "ADDED=1"))
                self.assert_within(job["spec"], typed["spec"], "spec")

    def assert_within(self, ours, theirs, path):
        """All that is in ours is in theirs, which may have more."""
        if isinstance(ours, dict):
            for key, value in ours.items():
                self.assertIn(key, theirs, path)
                self.assert_within(value, theirs[key], f"{path}.{key}")
        elif isinstance(ours, list):
            for i, value in enumerate(ours):
                self.assert_within(value, theirs[i], f"{path}[{i}]")
        else:
            self.assertEqual(str(ours), str(theirs), path)

    def test_a_field_that_is_none_is_lost(self):
        """The test above would see it."""
        self.render("one.jobrun.yaml")
        job = self.created()["Job"]
        job["spec"]["template"]["spec"]["restartPolice"] = "Never"
        self.write("job.json", json.dumps(job))
        typed = self.kubectl("set", "env", "--local", "--dry-run=client", "-o",
                             "json", "-f", "job.json", "ADDED=1")
        self.assertNotIn("restartPolice", typed)


if __name__ == "__main__":
    unittest.main()
