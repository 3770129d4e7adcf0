"""A real ssh to eight hosts, each in a network namespace of its own, with an address
and an sshd of its own: what goes between them goes over links."""
import re
import signal
import time
import unittest

import host_network
import test_ssh
from test_ssh import harness

NAMES = [f"h{i}" for i in range(1, 9)]
RANKS = 2 * len(NAMES)
LINES = 2000
# All meet where rank 0 listens, which tells from where they came.
MEET = """\
import os, socket, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if rank == 0:
    server = socket.create_server(place)
    met = [server.accept() for _ in range(world - 1)]
    for peer, _ in met:
        peer.sendall(b"x")
    print("met", *sorted({address[0] for _, address in met}))
else:
    until = time.monotonic() + 60
    while True:
        try:
            peer = socket.create_connection(place, 60)
            break
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.05)
    assert peer.recv(1) == b"x"
"""
HOSTS = {}


def setUpModule():
    test_ssh.setUpModule()
    HOSTS.update(host_network.start(test_ssh.SERVER_HERE, NAMES))
    for host in HOSTS.values():
        unittest.addModuleCleanup(host.close)


class Eight(test_ssh.Spares):
    """And nothing of what these show of hosts that are near."""
    test_a_spare_takes_the_place_of_a_host = None

    def line(self, script, hosts=",".join(NAMES), more="", words=()):
        return super().line(script, hosts, more, (
            "-s", f"master_addr={HOSTS['h1'].address}", *words))

    def begin_all(self, *args, nodes=len(NAMES), **options):
        process = self.begin(*args, **options)
        for rank in range(2 * nodes):
            self.await_event(event="rank_started", rank=rank)
        return process

    def test_all_meet(self):
        self.write("meet.py", MEET)
        done = self.run_on(0, "exec python3 meet.py")
        self.assertEqual(done.stdout.splitlines(), [
            "[0] met " + " ".join(host.address for host in HOSTS.values())])

    def test_the_first_failure_stops_all(self):
        done = self.run_on(1, "test $RANK != 11 || exit 7; exec sleep 1000")
        self.assertIn("rank 11 exited with code 7", done.stderr)
        self.assertIn("node 5 (h6)", done.stderr)
        self.assertIn("ranks 0-10,12-15 stopped by jobrun (SIGTERM)",
                      done.stderr)

    def test_a_slow_link(self):
        """No line is lost, and nobody has to wait for it to be told of a failure."""
        HOSTS["h5"].slow("256kbit")
        self.addCleanup(HOSTS["h5"].hurry)
        count = f"i=0; while [ $i -lt {LINES} ]; do i=$((i + 1)); echo $i; done"
        done = self.run_on(0, count)
        for rank in range(RANKS):
            lines = re.findall(rf"(?m)^\[{rank}\] (\d+)$", done.stdout)
            self.assertEqual(lines, [str(i + 1) for i in range(LINES)], rank)
        done = self.run_on(1, "test $RANK != 3 || exit 7; exec sleep 1000")
        self.assertIn("rank 3 exited with code 7", done.stderr)

    def test_a_host_is_cut_off(self):
        """And is none of the run any more; the last host takes its place."""
        config = self.server.folder / "config"
        process = self.begin_all(
            self.SCRIPT, more=self.MORE.replace("nodes: 2", "nodes: 7"), nodes=7,
            words=("-s", f"engine.ssh.options=[-F, '{config}', "
                   "-oServerAliveInterval=3, -oServerAliveCountMax=2]"))
        HOSTS["h3"].link("down")
        self.addCleanup(HOSTS["h3"].link, "up")
        _, err = process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, 0, err)
        self.expect_all_on("h1", "h2", "h8", "h4", "h5", "h6", "h7")
        entry, = self.results()["left_out"]
        self.assertEqual(entry["host"], "h3")
        HOSTS["h3"].link("up")
        self.nobody_is_left()

    def test_the_controller_is_killed(self):
        process = self.begin_all()
        self.assertGreaterEqual(len(test_ssh.processes_with(self.marker)), RANKS)
        process.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        self.nobody_is_left()
        print(f"nobody was left on eight hosts after "
              f"{time.monotonic() - killed:.1f} s")
        process.communicate(timeout=harness.LIMIT)


if __name__ == "__main__":
    unittest.main()
