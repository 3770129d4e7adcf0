"""What doctor tells of hosts that ssh reaches: who answers, what differs, what is
wrong with each and what to do. A stand-in for ssh runs the commands here."""
import json
import os
import re
import shlex
import socket
import time
import unittest

import agent_cases as cases
import harness
from test_nodes_by_ssh import ADDRESS, Ssh, rename


class Hosts(Ssh):
    def ask(self, code, *words, nodes=2, **extra):
        """The lines of the answer, with names for the addresses."""
        env = self.allocation(nodes, **extra)
        done = self.expect(harness.Case.jobrun(
            self, "doctor", "--hosts", env["FAKE_HOSTS"], *words, env=env), code)
        self.nobody_is_left()
        return rename(done.stdout).splitlines(), rename(done.stderr)

    def program(self, text):
        """A program in the place of jobrun on a host."""
        path = self.write("own program", f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return str(path)

    def faults(self, *words, **extra):
        """Those of each host, from the JSON."""
        lines, _ = self.ask(4, "--json", *words, **extra)
        report = json.loads("\n".join(lines))
        return [[fault["message"] for fault in host["faults"]]
                for host in report["hosts"]]


class Well(Hosts):
    def test_a_line_for_each_host(self):
        lines, said = self.ask(0, nodes=3)
        self.assertEqual(said, "")
        self.assertEqual(len(lines), 4)
        for node in range(3):
            self.assertRegex(lines[node], rf"^n{node + 1} +\S.* +jobrun \d+\.\d+\.\d+ +"
                             r"clock (within|[+-])[\d. ]+(ms|s) +reaches n1:295\d\d$")
        self.assertEqual(lines[3], "all 3 hosts can take part")

    def test_one_host_alone(self):
        lines, _ = self.ask(0, nodes=1)
        self.assertEqual(lines[1:], ["the host can take part"])

    def test_localhost(self):
        os.unlink(self.folder / "bin" / "ssh")
        done = self.expect(harness.Case.jobrun(
            self, "doctor", "--hosts", "localhost"), 0)
        self.assertIn("reaches localhost:", done.stdout)

    def test_json(self):
        lines, _ = self.ask(0, "--format", "json")
        report = json.loads("\n".join(lines))
        self.assertEqual(report["format_version"], 1)
        self.assertRegex(report["meeting"], r"^n1:295\d\d$")
        self.assertEqual(report["differences"], [])
        for host in report["hosts"]:
            self.assertEqual(host["cpus"], len(os.sched_getaffinity(0)))
            self.assertEqual(host["hostname"], os.uname().nodename)
            self.assertGreater(host["memory"], 0)
            self.assertEqual(host["faults"], [])
            self.assertTrue(host["answered"] and host["reaches"] and
                            host["can_take_part"])
            # All are this machine.
            self.assertLessEqual(abs(host["clock_offset"]), host["clock_error"] + 1)

    def test_what_differs(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("there is one CPU")
        few = self.program(f"exec taskset -c {cpus[0]} {shlex.quote(harness.JOBRUN)} "
                           '"$@"')
        lines, _ = self.ask(0, nodes=3, FAKE_PROGRAM={"1": few})
        self.assertIn(f"differ  CPUs: {len(cpus)} on n1, n3; 1 on n2",
                      [re.sub(" +", " ", line).replace("differ ", "differ  ")
                       for line in lines])

    def test_the_words_of_ssh(self):
        words = self.folder / "words"
        self.ask(0, "-s", "engine.ssh.options=[-J, gate]", FAKE_WORDS=str(words))
        self.assertIn("gate", json.loads(words.read_text().splitlines()[0]))

    def test_nothing_is_written(self):
        before = sorted(path.name for path in self.folder.iterdir())
        self.ask(0)
        after = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(sorted(set(after) - set(before)), ["tasks"])


class Wrong(Hosts):
    def test_a_host_that_is_not_reached(self):
        said = "ssh: connect to host n2 port 22: Connection timed out\n"
        lines, _ = self.ask(4, nodes=3, FAKE_REFUSAL={"1": said})
        self.assertRegex(lines[0], "^n1 .* reaches n1:")
        start = len(lines[0]) - len(lines[0].lstrip("n1").lstrip())
        self.assertEqual(lines[1].split(None, 1), ["n2", "not reached: " +
                                                   said.strip()])
        self.assertEqual(lines[2].strip(), "try: ssh n2 true")
        self.assertGreaterEqual(len(lines[2]) - len(lines[2].lstrip()), start)
        self.assertRegex(lines[3], "^n3 .* reaches n1:")
        self.assertEqual(lines[4], "1 of 3 hosts cannot take part")

    def test_what_is_not_known_is_null(self):
        lines, _ = self.ask(4, "--json", FAKE_REFUSAL={"1": "no\n"})
        known, unknown = json.loads("\n".join(lines))["hosts"]
        self.assertTrue(known["answered"] and known["can_take_part"])
        self.assertFalse(unknown["answered"] or unknown["can_take_part"])
        for key in ("version", "hostname", "devices", "cpus", "memory", "clock_offset",
                    "clock_error", "reaches"):
            self.assertIsNone(unknown[key], key)

    def test_the_first_is_not_reached(self):
        """The others would meet at the next; unless they were to meet at it."""
        refusal = {"0": "u@n1: Permission denied (publickey).\n"}
        lines, _ = self.ask(4, FAKE_REFUSAL=refusal)
        self.assertIn("never asks for a password", lines[1])
        self.assertRegex(lines[2], "^n2 .* reaches n2:")
        lines, _ = self.ask(4, "-s", f"master_addr={ADDRESS}1",
                            FAKE_REFUSAL=refusal)
        self.assertNotIn("reaches", lines[2])
        self.assertEqual(lines[3], "1 of 2 hosts cannot take part")

    def test_no_host_is_reached(self):
        lines, _ = self.ask(4, FAKE_REFUSAL={"0": "no\n", "1": "no\n"})
        self.assertEqual(lines[-1], "2 of 2 hosts cannot take part")

    def test_another_version(self):
        other = self.program(f"{shlex.quote(harness.JOBRUN)} \"$@\" | sed -u "
                             "'s/\"version\": \"[^\"]*\"/\"version\": \"0.0.9\"/'")
        lines, _ = self.ask(4, FAKE_PROGRAM={"1": other})
        self.assertRegex(lines[1], "^n2 .* jobrun 0.0.9")
        self.assertIn("jobrun is of version 0.0.9 there", lines[2])
        self.assertIn("-s engine.ssh.program=PATH", lines[3])
        self.assertIn("differ", lines[4])
        self.assertEqual(lines[-1], "1 of 2 hosts cannot take part")

    def test_a_host_without_the_program(self):
        faults = self.faults("-s", "engine.ssh.program=/no where/jobrun")
        self.assertEqual(faults, [["there is no jobrun: /no where/jobrun"]] * 2)

    def test_clocks(self):
        for seconds, direction, last in ((700, "ahead", "cannot take part"),
                                         (-700, "behind", "cannot take part"),
                                         (40, "ahead", "has a fault")):
            with self.subTest(seconds):
                shifted = cases.beside_a_clock(self, seconds)
                lines, _ = self.ask(4, FAKE_PROGRAM={"1": str(shifted)})
                self.assertIn("clock " + ("+" if seconds > 0 else "-"), lines[1])
                self.assertRegex(lines[2], f"its clock is .* {direction} of the one "
                                 "here")
                self.assertIn("chrony", lines[3])
                self.assertEqual(lines[4], f"1 of 2 hosts {last}")

    def test_where_ranks_meet_is_not_known(self):
        for name, why in (("no.such.name.invalid", "-s master_addr=ADDRESS"),
                          ("192.0.2.1", "no route")):
            with self.subTest(name):
                lines, _ = self.ask(4, "-s", f"master_addr={name}")
                self.assertRegex(lines[0], f"does not reach {name}:")
                self.assertRegex(lines[1], f"does not reach {name}:[0-9]+: .")
                self.assertIn(why, lines[2])
                self.assertEqual(lines[-1], "2 of 2 hosts cannot take part")

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            port = taken.getsockname()[1]
            faults = self.faults("-s", f"master_port={port}")
        self.assertEqual(faults[1], [])
        self.assertRegex(faults[0][0], f"could not listen at port {port}: ")

    def test_a_host_that_says_nothing(self):
        mute = self.program("read line; read line")
        faults = self.faults("-s", "timeouts.start=2s", FAKE_PROGRAM={"1": mute})
        self.assertEqual(faults[1], ["no answer within 2 s"])

    def test_a_host_that_is_lost_meanwhile(self):
        gone = self.program(f"head -n 1 | {shlex.quote(harness.JOBRUN)} \"$@\"")
        lines, _ = self.ask(4, FAKE_PROGRAM={"1": gone})
        self.assertEqual(lines[-1], "1 of 2 hosts cannot take part")
        self.assertIn("ssh ended with exit code", "".join(lines))

    def test_no_ssh(self):
        os.unlink(self.folder / "bin" / "ssh")
        done = self.expect(harness.Case.jobrun(
            self, "doctor", "--hosts", "a,b",
            env={"PATH": str(self.folder / "bin")}), 7)
        self.assertIn("ssh is not in PATH", done.stderr)

    def test_by_a_signal(self):
        mute = self.program("touch begun; read line; read line")
        process = harness.Case.start(
            self, "doctor", "--hosts", self.allocation()["FAKE_HOSTS"],
            env=self.allocation(FAKE_PROGRAM={"0": mute, "1": mute}))
        self.await_file("begun")
        process.terminate()
        process.communicate(timeout=harness.LIMIT)
        self.assertEqual(process.returncode, -15)
        self.nobody_is_left()

    def await_file(self, name):
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / name).exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)


class Usage(Hosts):
    def refuse(self, code, *words):
        return self.expect(harness.Case.jobrun(self, "doctor", *words), code).stderr

    def test_what_is_no_field_of_a_survey(self):
        self.assertIn("-s nodes: doctor looks at engine.ssh, master_addr, master_port",
                      self.refuse(2, "--hosts", "a", "-s", "nodes=2"))
        self.assertIn("-s engine.sshx: ", self.refuse(
            2, "--hosts", "a", "-s", "engine.sshx=2"))

    def test_settings_without_hosts(self):
        self.assertIn("jobrun doctor --hosts gpu01,gpu02 -s master_port=1",
                      self.refuse(2, "-s", "master_port=1"))

    def test_a_misspelt_field(self):
        self.assertIn("did you mean 'options'?", self.refuse(
            3, "--hosts", "a", "-s", "engine.ssh.optoins=[-4]"))

    def test_what_is_no_host(self):
        for hosts in ("", "a,,b", "a b", "-oProxyCommand=x", "a,a"):
            self.assertIn("'hosts", self.refuse(3, "--hosts", hosts))

    def test_mistakes_stand_where_they_were_typed(self):
        said = self.refuse(3, "--hosts", "a,bc,a")
        self.assertTrue(said.startswith(
            "--hosts:6: error[JR0331]: 'hosts' lists 'a' twice\n"
            "     | a,bc,a\n"
            "     |      ^ help: "), said)
        self.assertIn("     | a,bc,a\n     | - stated here\n", said)
        self.assertIn("help: for example: --hosts gpu01,gpu02",
                      self.refuse(3, "--hosts", ""))
        self.assertIn("--hosts:1: error[JR0331]: 'hosts' lists 'n1' twice\n"
                      "     | n[1-2],n1\n     | ^^^^^^^^^ ",
                      self.refuse(3, "--hosts", "n[1-2],n1"))

    def test_formats(self):
        self.assertIn("jobrun doctor --hosts a --format json",
                      self.refuse(2, "--hosts", "a", "--format", "yaml"))
        self.assertIn("jobrun doctor --format yaml", self.refuse(2, "--json"))

    def test_where_ranks_meet_is_another_machine_on_each(self):
        self.assertIn("state master_addr",
                      self.refuse(4, "--hosts", "localhost,n2"))


if __name__ == "__main__":
    unittest.main()
