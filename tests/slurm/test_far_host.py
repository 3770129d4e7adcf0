"""A real ssh to a host behind a link that is cut: it is in a network namespace of
its own, with an sshd of its own."""
import subprocess
import time
import unittest

import own_links

own_links.enter()
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

import cluster  # noqa: E402
import test_ssh  # noqa: E402
from test_ssh import harness  # noqa: E402

HERE, FAR = "10.78.0.1", "10.78.0.2"
HALF_A_MINUTE = 30
CUT = 60  # seconds in which ssh notices, with the options that are given to it


class Host:
    """`far`, as n1 is, but for its network."""

    def __init__(self, server):
        self.home = subprocess.Popen(
            ["unshare", "-n", "cat"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, preexec_fn=cluster.die_with_parent)
        self.home.stdin.write(b"\n")
        self.home.stdin.flush()
        self.home.stdout.read(1)  # it is there
        there = ["nsenter", "-n", "-t", str(self.home.pid)]
        for words in (
                ["ip", "link", "add", "near", "type", "veth", "peer", "name",
                 "far", "netns", str(self.home.pid)],
                ["ip", "address", "add", f"{HERE}/24", "dev", "near"],
                ["ip", "link", "set", "near", "up"],
                [*there, "ip", "link", "set", "lo", "up"],
                [*there, "ip", "address", "add", f"{FAR}/24", "dev", "far"],
                [*there, "ip", "link", "set", "far", "up"]):
            subprocess.run(words, check=True, timeout=harness.LIMIT)
        own = (server.folder / "sshd_config").read_text()
        far = server.folder / "far_config"
        far.write_text(own.replace("ListenAddress 127.0.0.1",
                                   f"ListenAddress {FAR}"))
        self.sshd = subprocess.Popen(
            [*there, test_ssh.SSHD, "-D", "-E", server.folder / "far_log", "-f",
             far], preexec_fn=cluster.die_with_parent)
        client = server.folder / "config"
        text = client.read_text()
        client.write_text(text + text.replace("Host n*", "Host far").replace(
            "HostName 127.0.0.1", f"HostName {FAR}"))
        self.await_answer(client)

    @staticmethod
    def await_answer(config):
        until = time.monotonic() + harness.LIMIT
        while subprocess.run(["ssh", "-F", config, "-oBatchMode=yes", "far",
                              "true"], capture_output=True).returncode != 0:
            if time.monotonic() > until:
                raise RuntimeError("no sshd on the far host")
            time.sleep(0.05)

    def close(self):
        self.sshd.terminate()
        self.sshd.wait(harness.LIMIT)
        self.home.stdin.close()
        self.home.wait(harness.LIMIT)
        self.home.stdout.close()

    @staticmethod
    def link(state):
        subprocess.run(["ip", "link", "set", "near", state], check=True)


HOST = None


def setUpModule():
    global HOST
    test_ssh.setUpModule()
    HOST = Host(test_ssh.SERVER_HERE)
    unittest.addModuleCleanup(HOST.close)


class Far(test_ssh.Spares):
    """And nothing of what these show of hosts that are near."""
    test_a_spare_takes_the_place_of_a_host = None

    def setUp(self):
        super().setUp()
        self.addCleanup(HOST.link, "up")

    def test_a_link_that_is_cut_for_half_a_minute(self):
        """Nobody notices, and no line is lost: TCP keeps what was sent."""
        process = self.begin(
            'i=0; until test -e "$JOBRUN_RUN_DIR/enough"; do i=$((i + 1)); '
            "echo $i; sleep 0.2; done", hosts="n1,far")
        HOST.link("down")
        time.sleep(HALF_A_MINUTE)  # that is what is tried
        HOST.link("up")
        (self.folder / "runs/latest/enough").touch()
        out, err = process.communicate(timeout=2 * harness.LIMIT)
        self.assertEqual(process.returncode, 0, err)
        for rank in (2, 3):
            log = self.folder / f"runs/latest/attempt_0/{rank}/stdout.log"
            lines = log.read_text().splitlines()
            self.assertGreater(len(lines), 50)
            self.assertEqual([line.split()[1] for line in out.splitlines()
                              if line.startswith(f"[{rank}] ")], lines)
        self.nobody_is_left()

    def test_a_link_that_is_cut(self):
        """The ranks beyond it go on until it is mended: nobody can tell them."""
        config = self.server.folder / "config"
        process = self.begin(
            self.SCRIPT, hosts="n1,far,n2", more=self.MORE, words=(
                "-s", f"engine.ssh.options=[-F, '{config}', "
                "-oServerAliveInterval=3, -oServerAliveCountMax=2]"))
        HOST.link("down")
        began = time.monotonic()
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 0, err)
        self.assertLess(time.monotonic() - began, CUT)
        self.assertIn("the spare n2 takes the place of node 1 (far): ", err)
        self.expect_all_on("n1", "n2")
        entry, = self.results()["left_out"]
        self.assertEqual(entry["host"], "far")
        self.assertIn("ssh ended with exit code 255; its last output: Timeout, "
                      f"server {FAR} not responding.", entry["reason"])
        HOST.link("up")
        self.nobody_is_left()


if __name__ == "__main__":
    unittest.main()
