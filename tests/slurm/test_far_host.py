"""A real ssh to a host behind a link that is cut: it is in a network namespace of
its own, with an sshd of its own."""
import time
import unittest

import host_network
import test_ssh
from test_ssh import harness

HALF_A_MINUTE = 30
CUT = 60  # seconds in which ssh notices, with the options that are given to it
HOST = None


def setUpModule():
    global HOST
    test_ssh.setUpModule()
    HOST = host_network.start(test_ssh.SERVER_HERE, ["far"])["far"]
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
                      f"server {HOST.address} not responding.", entry["reason"])
        HOST.link("up")
        self.nobody_is_left()


if __name__ == "__main__":
    unittest.main()
