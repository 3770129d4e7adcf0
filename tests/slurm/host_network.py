"""Hosts that are network namespaces, each with an address and an sshd of its own,
joined by a bridge: a link is cut or slowed at the port of its host."""
import subprocess
import time

import cluster
import own_links

own_links.enter()
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

import test_ssh  # noqa: E402
from test_ssh import harness  # noqa: E402

BRIDGE, HERE = "lan", "10.78.0.254"


def do(*words):
    subprocess.run(words, check=True, timeout=harness.LIMIT)


class Host:
    """The port of the bridge has the host's name."""

    def __init__(self, server, name, number):
        self.name, self.address = name, f"10.78.0.{number}"
        self.home = subprocess.Popen(
            ["unshare", "-n", "cat"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, preexec_fn=cluster.die_with_parent)
        self.home.stdin.write(b"\n")
        self.home.stdin.flush()
        self.home.stdout.read(1)  # it is there
        self.there = ["nsenter", "-n", "-t", str(self.home.pid)]
        do("ip", "link", "add", name, "type", "veth", "peer", "name", "eth",
           "netns", str(self.home.pid))
        do("ip", "link", "set", name, "master", BRIDGE, "up")
        do(*self.there, "ip", "link", "set", "lo", "up")
        do(*self.there, "ip", "address", "add", f"{self.address}/24", "dev", "eth")
        do(*self.there, "ip", "link", "set", "eth", "up")
        own = (server.folder / "sshd_config").read_text()
        config = server.folder / f"{name}_config"
        config.write_text(own.replace("ListenAddress 127.0.0.1",
                                      f"ListenAddress {self.address}"))
        self.sshd = subprocess.Popen(
            [*self.there, test_ssh.SSHD, "-D", "-E", server.folder / f"{name}_log",
             "-f", config], preexec_fn=cluster.die_with_parent)

    def close(self):
        self.sshd.terminate()
        self.sshd.wait(harness.LIMIT)
        self.home.stdin.close()
        self.home.wait(harness.LIMIT)
        self.home.stdout.close()

    def link(self, state):
        do("ip", "link", "set", self.name, state)

    def slow(self, rate):
        """In both directions: so many bits a second, such as 256kbit."""
        shape = ("root", "tbf", "rate", rate, "burst", "4kb", "latency", "1s")
        do("tc", "qdisc", "replace", "dev", self.name, *shape)
        do(*self.there, "tc", "qdisc", "replace", "dev", "eth", *shape)

    def hurry(self):
        do("tc", "qdisc", "del", "dev", self.name, "root")
        do(*self.there, "tc", "qdisc", "del", "dev", "eth", "root")


def add_to_client(config, hosts):
    text = config.read_text()
    config.write_text(text + "".join(
        text.replace("Host n*", f"Host {host.name}").replace(
            "HostName 127.0.0.1", f"HostName {host.address}") for host in hosts))


def await_answer(config, host):
    until = time.monotonic() + harness.LIMIT
    while subprocess.run(["ssh", "-F", config, "-oBatchMode=yes", host.name,
                          "true"], capture_output=True).returncode != 0:
        if time.monotonic() > until:
            raise RuntimeError(f"no sshd on {host.name}")
        time.sleep(0.05)


def start(server, names):
    """The hosts by their names, beside those of the server."""
    do("ip", "link", "add", BRIDGE, "type", "bridge")
    do("ip", "address", "add", f"{HERE}/24", "dev", BRIDGE)
    do("ip", "link", "set", BRIDGE, "up")
    hosts = {name: Host(server, name, 1 + i) for i, name in enumerate(names)}
    config = server.folder / "config"
    add_to_client(config, hosts.values())
    for host in hosts.values():
        await_answer(config, host)
    return hosts
