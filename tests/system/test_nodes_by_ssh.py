"""Several nodes by agents that ssh has started: what they show under srun, too, and
what is ssh's own. A stand-in for ssh runs the commands on this machine."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import agent_cases as cases
import harness

ADDRESS = "127.0.1."


def rename(value):
    """The addresses of the hosts as the names that the cases have for them."""
    if isinstance(value, str):
        return re.sub(re.escape(ADDRESS) + r"(\d+)", r"n\1", value)
    if isinstance(value, list):
        return [rename(item) for item in value]
    if isinstance(value, dict):
        return {key: rename(item) for key, item in value.items()}
    return value


class Ssh(cases.Agents):
    FAKE, NAME, FIRST = "fakessh", "ssh", "head -n 1"
    EXCLUDE = ""
    ASKING = "asking 2 hosts for their facts by ssh"

    def hosts(self, nodes):
        return [f"{ADDRESS}{i + 1}" for i in range(nodes)]

    def allocation(self, nodes=2, **extra):
        """So many hosts, which `jobrun` and `start` here state."""
        hosts = self.hosts(nodes)
        by_host = {key: {hosts[int(node)]: item for node, item in value.items()}
                   if isinstance(value, dict) else value
                   for key, value in extra.items()}
        return {"FAKE_HOSTS": ",".join(hosts), **self.fakes(**by_host)}

    def words(self, words, env):
        hosts = (env or {}).get("FAKE_HOSTS")
        verb = words[0] if words[0] in ("plan", "resolve", "run") else "run"
        rest = words[words[0] == verb:]
        if hosts is None or words[0] in ("show", "agent"):
            return words
        return [verb, "--hosts", hosts, *rest]

    def jobrun(self, *words, env=None, **options):
        done = super().jobrun(*self.words(words, env), env=env, **options)
        done.stdout, done.stderr = rename(done.stdout), rename(done.stderr)
        return done

    def start(self, *words, env=None, **options):
        return super().start(*self.words(words, env), env=env, **options)

    def finish(self, process, code):
        return rename(super().finish(process, code))

    def results(self, *words, **options):
        return rename(super().results(*words, **options))


class Runs(cases.Runs, Ssh):
    def test_what_ranks_inherit(self):
        """A login there, and what `env` names of the variables here."""
        done = self.expect(self.run_on(
            2, 'echo $ONE $TWO_A "[$OTHER]" "[$SSH_CONNECTION]" "[$FAKE_HOSTS]"', "-s", "engine.ssh.env=[ONE, TWO_*]", local=1,
            ONE="a\nb", TWO_A="c", OTHER="d"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"[{rank}] a b c [] [127.0.0.1 4711 127.0.0.1 22] []" for rank in (0, 1)])

    def test_variables_of_any_bytes(self):
        """And more of them than a message has otherwise."""
        odd = b"\xff\xfe \xc3\n\x1b'"
        large = {f"BIG_{i}": 100_000 * "x" for i in range(13)}
        done = self.expect(self.run_on(
            2, 'printf %s "$ODD" | od -An -tx1; '
            'printf %s "$BIG_0$BIG_12" | wc -c',
            "-s", "engine.ssh.env=[ODD, BIG_*]", local=1,
            ODD=os.fsdecode(odd), **large), 0)
        for rank in (0, 1):
            self.assertIn(f"[{rank}]  {odd.hex(' ')}", done.stdout.splitlines())
            self.assertIn(f"[{rank}] 200000", done.stdout.splitlines())

    def test_secrets_that_ranks_inherit(self):
        self.expect(self.run_on(
            2, 'test "$API_KEY" = s3cr3t"-"word', "-s", "engine.ssh.env=[API_KEY]",
            API_KEY="s3cr3t-word", FAKE_WORDS=str(self.folder / "words")), 0)
        for path in self.folder.rglob("*"):
            if path.is_file() and path.name not in ("t.jobrun.yaml",
                                                    "spec.yaml"):
                self.assertNotIn(b"s3cr3t-word", path.read_bytes(), path)

    def test_the_words_of_ssh(self):
        words = self.folder / "words"
        self.expect(self.run_on(
            1, "true", "-s", "engine.ssh.options=[-J, gate, -oConnectTimeout=3]",
            FAKE_WORDS=str(words)), 0)
        told = json.loads(words.read_text())
        self.assertEqual(told[-3:-1], ["--", ADDRESS + "1"])
        stated = told.index("gate")
        self.assertLess(told.index("-oBatchMode=yes"), stated)
        self.assertLess(told.index("-oControlMaster=no"), stated)
        self.assertGreater(told.index("-oLogLevel=ERROR"), stated)
        self.assertIn("-oServerAliveInterval=0", told)
        self.assertIn("-T", told)

    def test_what_the_configuration_states(self):
        """`ssh -G` tells it: there, ConnectTimeout counts as it does for ssh."""
        for config, there in (("connecttimeout none", True),
                              ("connecttimeout 60", False)):
            words = self.folder / config.replace(" ", "-")
            self.expect(self.run_on(1, "true", FAKE_WORDS=str(words),
                                    FAKE_CONFIG=config), 0)
            self.assertEqual("-oConnectTimeout=10" in json.loads(
                words.read_text()), there)

    def test_hosts_of_the_spec(self):
        """With the field, or with the option, or without both."""
        more = "hosts: [127.0.1.1, 127.0.1.2]\nmaster_port: 29511"
        env = {**self.allocation(2), "FAKE_HOSTS": ""}
        del env["FAKE_HOSTS"]
        for words, engine in ((["--engine", "ssh"], ""),
                              ([], "\nengine: {ssh: {options: [-4]}}"),
                              (["--engine", "ssh"],
                               "\nengine: {ssh: {options: [-4]}}")):
            done = self.expect(self.jobrun(
                self.spec("echo $RANK", more + engine, 1), *words, env=env), 0)
            self.assertEqual(sorted(done.stdout.splitlines()),
                             ["[0] 0", "[1] 1"])
        self.assertIn("--run-id", self.expect(self.jobrun(
            self.spec("true", more, 1), "--node-rank", "1", env=env),
            2).stderr)

    def test_hosts_of_the_line_come_before_those_of_the_spec(self):
        done = self.expect(self.run_on(
            2, "echo $MASTER_ADDR", local=1,
            more="hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]"), 0)
        self.assertEqual(sorted(done.stdout.splitlines()),
                         ["[0] n1", "[1] n1"])

    def test_a_range_of_hosts(self):
        done = self.expect(self.jobrun(
            "resolve", self.spec("true"), "--hosts", "gpu[08-10],login", "--on",
            "4x2", env=self.fakes()), 0)
        self.assertIn("hosts: [gpu08, gpu09, gpu10, login]", done.stdout)
        self.assertIn("ssh: {}", done.stdout)

    def test_localhost_needs_no_ssh(self):
        os.unlink(self.folder / "bin" / "ssh")
        done = self.expect(self.jobrun(
            self.spec("echo $RANK"), "--hosts", "localhost",
            env={"PATH": os.environ["PATH"]}), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] 0", "[1] 1"])

    def test_a_run_is_repeated_on_its_hosts(self):
        self.expect(self.run_on(2, "echo $RANK", local=1), 0)
        env = self.allocation(2)
        del env["FAKE_HOSTS"]
        for words in ((), ("--exact",)):
            done = self.expect(self.jobrun("rerun", "latest", *words, env=env),
                               0)
            self.assertEqual(sorted(done.stdout.splitlines()),
                             ["[0] 0", "[1] 1"])
        self.assertEqual(len(list((self.folder / "runs").glob("2*"))), 3)


class Dry(cases.Dry, Ssh):
    pass


class Resources(cases.Resources, Ssh):
    pass


class Custom(cases.Custom, Ssh):
    pass


class Mpi(cases.Mpi, Ssh):
    pass


class Wrong(cases.Wrong, Ssh):
    def refuse(self, said, *parts, code=7, **extra):
        """Node 1 is not reached, and no rank starts anywhere."""
        done = self.expect(self.run_on(
            2, "touch begun", FAKE_REFUSAL={"1": said}, **extra), code)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse((self.folder / "begun").exists())
        self.nobody_is_left()

    def test_a_host_that_is_not_reached(self):
        said = "ssh: connect to host n2 port 22: Connection timed out"
        self.refuse(said, f"node 1 (n2) did not answer: {said}; try: ssh n2 "
                    "true")

    def test_a_host_that_asks_for_a_password(self):
        self.refuse("u@n2: Permission denied (publickey,password).\n",
                    "node 1 (n2) did not answer: u@n2: Permission denied",
                    "jobrun never asks for a password: give it a key "
                    "(ssh-copy-id n2), and try: ssh -o BatchMode=yes n2 true")

    def test_a_host_whose_key_is_another(self):
        self.refuse("@@@@@@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS "
                    "CHANGED! @\n@@@@@\nHost key verification failed.\n",
                    "node 1 (n2) did not answer: @ WARNING: REMOTE HOST "
                    "IDENTIFICATION HAS CHANGED! @; its key is not the one that "
                    "this machine knows", "ssh-keygen -R n2")

    def test_a_host_whose_key_is_not_known(self):
        self.refuse("No ED25519 host key is known for n2 and you have requested "
                    "strict checking.\nHost key verification failed.\n",
                    "this machine does not know its key yet", "ssh n2 true")

    def test_a_host_that_is_not_reached_in_time(self):
        """What its own ssh has said, and not what another's has."""
        chatty = self.write("chatty", "#!/bin/sh\necho welcome >&2\n"
                            f"exec '{harness.JOBRUN}' \"$@\"\n")
        chatty.chmod(0o700)
        self.in_time(lambda limit: self.expect(self.run_on(
            2, "touch begun", more=f"timeouts: {{start: {limit}s}}",
            FAKE_PROGRAM={"0": str(chatty)},
            FAKE_STUCK={"1": "Connecting to the gate"}), 7),
            "node 1 (n2) did not answer within {}s (timeouts.start); the last "
            "output of ssh: Connecting to the gate")
        self.assertFalse((self.folder / "begun").exists())
        self.nobody_is_left()

    def test_a_name_that_is_none(self):
        self.refuse("ssh: Could not resolve hostname n2: Name or service not "
                    "known\n", "~/.ssh/config")

    def test_a_host_without_the_program(self):
        done = self.expect(self.run_on(
            2, "touch begun", "-s", "engine.ssh.program=/no where/jobrun"), 7)
        self.assertRegex(done.stderr, r"node [01] \(n[12]\) did not answer: there "
                         "is no jobrun: /no where/jobrun; install it there, name "
                         "it: -s engine.ssh.program=PATH, or have it copied: -s "
                         "engine.ssh.copy=true")
        self.assertFalse((self.folder / "begun").exists())
        self.nobody_is_left()

    def test_a_program_in_the_home_folder(self):
        home = self.folder / "ho me"
        (home / "b in").mkdir(parents=True)
        os.symlink(harness.JOBRUN, home / "b in" / "jobrun")
        self.expect(self.run_on(
            2, "true", "-s", "engine.ssh.program=~/b in/jobrun",
            HOME=str(home)), 0)

    def test_a_program_in_path(self):
        """The one that starts it has gone since, or is elsewhere there."""
        own = self.folder / "own"
        shutil.copy(harness.JOBRUN, own)
        os.symlink(harness.JOBRUN, self.folder / "bin" / "jobrun")
        env = self.allocation(2)
        spec = self.spec("echo $RANK", local=1)
        mute = self.write("bin/ssh.real", (cases.FAKES / "fakessh").read_text())
        mute.chmod(0o700)
        os.unlink(self.folder / "bin" / "ssh")
        self.write("bin/ssh", f"#!/bin/sh\nrm -f '{own}'\n"
                   f"exec '{mute}' \"$@\"\n").chmod(0o700)
        done = self.expect(subprocess.run(
            [own, spec, "--hosts", env["FAKE_HOSTS"]], cwd=self.folder,
            env=harness.clean_environment(**env), text=True,
            capture_output=True, timeout=harness.LIMIT), 0)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] 0", "[1] 1"])

    def test_no_ssh(self):
        os.unlink(self.folder / "bin" / "ssh")
        done = self.expect(self.jobrun(self.spec("true"), env={
            **self.allocation(2), "PATH": str(self.folder / "bin")}), 7)
        self.assertIn("ssh is not in PATH", done.stderr)

    def test_no_hosts(self):
        done = self.expect(self.jobrun(
            self.spec("true"), "--engine", "ssh", env=self.fakes()), 4)
        self.assertIn("`engine.ssh` starts the ranks on `hosts`, and none are "
                      "stated: type --hosts gpu01,gpu02", done.stderr)

    def test_another_engine(self):
        done = self.expect(self.jobrun(
            self.spec("true"), "--engine", "slurm", env=self.fakes()), 2)
        self.assertIn("jobrun render SPEC --engine slurm", done.stderr)

    def test_a_host_twice(self):
        done = self.expect(self.jobrun(
            self.spec("true"), "--hosts", "a,b,a", env=self.fakes()), 3)
        self.assertIn("'hosts' lists 'a' twice", done.stderr)

    def test_what_is_no_host(self):
        for hosts in ("", "a,,b", "a b", "-oProxyCommand=touch begun", "a[1-"):
            done = self.expect(self.jobrun(
                self.spec("true"), "--hosts", hosts, env=self.fakes()), 3)
            self.assertIn("'hosts", done.stderr)
        self.assertFalse((self.folder / "begun").exists())

    def test_where_ranks_meet_is_not_known_there(self):
        done = self.expect(self.run_on(
            2, "touch begun", "-s", "master_addr=no.such.name.invalid"), 4)
        self.assertRegex(done.stderr, r"node [01] \(n[12]\): the ranks meet at "
                         r"'no.such.name.invalid' \(master_addr\), and that name "
                         "is not known there: .*; state master_addr")
        self.assertFalse((self.folder / "begun").exists())
        self.nobody_is_left()

    def test_where_ranks_meet_is_another_machine_on_each(self):
        done = self.expect(self.jobrun(
            self.spec("true"), "--hosts", "localhost,127.0.1.2",
            env=self.fakes()), 4)
        self.assertIn("'localhost' is another machine on each of them: state "
                      "master_addr", done.stderr)

    def test_a_shell_there_that_prints(self):
        """What a login prints is no message, and ends no line of one."""
        chatty = self.write("chatty", "#!/bin/sh\nprintf 'welcome, '\n"
                            f"exec '{harness.JOBRUN}' \"$@\"\n")
        chatty.chmod(0o700)
        done = self.expect(self.run_on(
            2, "echo $RANK", local=1, FAKE_PROGRAM={"1": str(chatty)}), 0)
        self.assertIn("welcome, ", done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] 0", "[1] 1"])

    def test_an_agent_that_nobody_started(self):
        done = self.expect(self.jobrun("agent", "ssh"), 2)
        self.assertIn("started by hand it does nothing", done.stderr)

    def test_a_sweep_stays_here(self):
        done = self.expect(self.jobrun(
            self.spec("true", "vars: {a: 1}"), "--sweep", "vars.a=1,2",
            env=self.allocation(1)), 4)
        self.assertIn("is to run on `hosts`, by ssh, and a sweep runs its cells "
                      "on this machine", done.stderr)

    def test_devices_are_waited_for_here_alone(self):
        done = self.expect(self.run_on(2, "true", "--wait"), 2)
        self.assertIn("the ranks are on other hosts", done.stderr)


class Copy(Ssh):
    """The program, for hosts that lack it. Each has a home folder of its own."""

    def copy(self, code, script, *words, nodes=2, more="", **extra):
        homes = {}
        for node in range(nodes):
            home = self.folder / f"ho me {node}"
            home.mkdir(exist_ok=True)
            homes[str(node)] = {"HOME": str(home), **extra}
        done = self.expect(self.run_on(
            nodes, script, "-s", "engine.ssh.program=/nowhere/jobrun", "-s",
            "engine.ssh.copy=true", *words, local=1, more=more,
            FAKE_TASKS=homes), code)
        self.nobody_is_left()
        return done

    def copies(self, node):
        """What lies in the cache folder of a host."""
        folder = self.folder / f"ho me {node}" / ".cache" / "jobrun"
        return sorted(folder.iterdir()) if folder.exists() else []

    def test_hosts_without_the_program(self):
        script = "test \"$RANK\" = 0 || readlink /proc/$PPID/exe; umask"
        done = self.copy(0, script)
        said = re.findall(r"^jobrun: node (\d) \(n\d\): jobrun ([\d.]+) is copied "
                          r"there \(\d+\.\d MiB\), into (\S+)$", done.stderr, re.M)
        self.assertEqual([node for node, _, _ in sorted(said)], ["0", "1"])
        [copy] = self.copies(1)
        self.assertEqual(f"~/.cache/jobrun/{copy.name}", said[0][2])
        self.assertTrue(copy.name.startswith(said[0][1] + "-"))
        self.assertIn(f"[1] {copy}/jobrun", done.stdout.splitlines())
        for folder in (copy.parent, copy, copy / "support"):
            self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
            self.assertEqual(folder.stat().st_uid, os.getuid())
        umask = os.umask(0o22)
        os.umask(umask)
        self.assertIn(f"[0] {umask:04o}", done.stdout.splitlines())
        self.assertNotIn("copied", self.copy(0, "true").stderr)
        self.assertEqual(self.copies(1), [copy])

    def test_what_python_needs_comes_along(self):
        self.write("train.py", "import jobrun\ndef main():\n"
                   "    return {'from': jobrun.__file__}\n")
        self.copy(0, "true", "-s", "entrypoint={python: {function: 'train:main'}}")
        for node, rank in enumerate(self.results()["ranks"]):
            self.assertTrue(rank["result"]["from"].startswith(
                str(self.folder / f"ho me {node}" / ".cache")), rank["result"])

    def test_a_copy_that_somebody_has_changed(self):
        self.copy(0, "true", nodes=1)
        [copy] = self.copies(0)
        with open(copy / "jobrun", "r+b") as file:
            file.seek(2000)
            file.write(b"#")
        self.assertIn("is copied there", self.copy(0, "true", nodes=1).stderr)
        self.assertEqual(self.copies(0), [copy])

    def test_another_version_there(self):
        old = self.write("old/jobrun", "#!/bin/sh\necho jobrun 0.0.1\n")
        old.chmod(0o700)
        self.write("t.jobrun.yaml", "version: 1\nlocal_world_size: 1\n"
                   "entrypoint: ['true']\n")
        env = self.allocation(1)
        env["HOME"] = str(self.folder)
        words = ("t.jobrun.yaml", "-s", f"engine.ssh.program={old}")
        done = self.expect(self.jobrun(
            *words, "-s", "engine.ssh.copy=true", env=env), 0)
        self.assertIn("is copied there", done.stderr)

    def refuse(self, part, advice, **extra):
        done = self.copy(7, "touch begun", nodes=1, **extra)
        self.assertRegex(done.stderr, rf"the 1 nodes did not answer: {part}.*; "
                         f"{advice}|node 0 .*did not answer: {part}.*; {advice}")
        self.assertFalse((self.folder / "begun").exists())

    def test_another_machine(self):
        self.write("path/uname", "#!/bin/sh\necho Linux riscv64\n").chmod(0o700)
        self.refuse("cannot copy jobrun: that machine is Linux riscv64, and this "
                    "program is for Linux ", "install jobrun for that machine",
                    PATH=f"{self.folder / 'path'}:{os.environ['PATH']}")
        self.assertEqual(self.copies(0), [])

    def test_a_cache_folder_of_somebody_else(self):
        cache = self.folder / "ho me 0" / ".cache"
        cache.mkdir(parents=True)
        os.symlink(self.folder, cache / "jobrun")
        self.refuse("cannot copy jobrun: .*/.cache/jobrun is a link",
                    "make it a folder that is the user's alone")
        os.unlink(cache / "jobrun")
        if os.getuid() == 0:
            (cache / "jobrun").mkdir(0o700)
            os.chown(cache / "jobrun", 65534, 65534)
            self.refuse("cannot copy jobrun: .* belongs to user 65534",
                        "make it a folder that is the user's alone")

    def test_a_full_disk(self):
        """Nothing half-written is left there."""
        home = self.folder / "small"
        home.mkdir()
        env = self.allocation(1, FAKE_TASKS={"0": {"HOME": str(home)}})
        spec = self.spec("touch begun", local=1)
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=512k none "
             "\"$1\" || exit 77; shift; \"$@\"; code=$?; find small -type f "
             "-o -name '.new*'; exit $code", "sh", home, harness.JOBRUN, spec,
             "--hosts", env["FAKE_HOSTS"], "-s", "engine.ssh.copy=true", "-s",
             "engine.ssh.program=/nowhere/jobrun"], cwd=self.folder, text=True,
            env=harness.clean_environment(**env), capture_output=True,
            timeout=harness.LIMIT)
        if "begun" not in done.stderr and (
                done.returncode == 77 or "unshare" in done.stderr):
            self.skipTest("no mount namespace for a small disk")
        self.assertEqual((done.returncode, done.stdout), (7, ""), done.stderr)
        self.assertRegex(done.stderr, "did not answer: cannot copy jobrun: no room: "
                         ".*No space left on device; make room in the home folder")
        self.assertFalse((self.folder / "begun").exists())

    def test_doctor_has_it_copied_too(self):
        env = self.allocation(1, FAKE_TASKS={"0": {
            "HOME": str(self.folder)}})
        done = self.expect(harness.Case.jobrun(
            self, "doctor", "--hosts", env["FAKE_HOSTS"], "-s",
            "engine.ssh.program=/nowhere/jobrun", "-s", "engine.ssh.copy=true",
            env=env), 0)
        self.assertIn("is copied there", done.stderr)
        self.assertIn("the host can take part", done.stdout)

    def test_localhost_is_not_copied_to(self):
        done = self.expect(self.jobrun(
            self.spec("true"), "--hosts", "localhost", "-s",
            "engine.ssh.copy=true", env={"PATH": os.environ["PATH"],
                                         "HOME": str(self.folder)}), 0)
        self.assertNotIn("copied", done.stderr)
        self.assertFalse((self.folder / ".cache").exists())

    def test_what_is_no_choice(self):
        done = self.expect(self.jobrun(
            self.spec("true"), "--hosts", "a", "-s", "engine.ssh.copy=yes"), 3)
        self.assertIn("'engine.ssh.copy' wants true or false", done.stderr)


class Silence(cases.Silence, Ssh):
    pass


class Ends(cases.Ends, Ssh):
    def test_an_agent_is_killed(self):
        process = self.begin(nodes=2)
        os.kill(self.agents()[1], signal.SIGKILL)
        err = self.finish(process, 1)
        self.assertIn("rank 2 was lost with its node", err)
        self.assertIn("ranks 0-1 stopped by jobrun", err)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["host"]), ("lost_node", "n2"))
        self.assertEqual(cause["message"], "ssh was killed by SIGKILL")

    def test_a_connection_that_breaks(self):
        """ssh says so, and its agent sees the end of its input."""
        broken = self.write(
            "broken", "#!/usr/bin/python3\n"
            "import os, subprocess, sys, threading, time\n"
            f"agent = subprocess.Popen([{harness.JOBRUN!r}, *sys.argv[1:]],\n"
            "    stdin=subprocess.PIPE, stdout=subprocess.PIPE,\n"
            "    start_new_session=True)\n"
            "open('agent', 'w').write(str(agent.pid))\n"
            "def carry(source, to):\n"
            "    while data := os.read(source, 65536):\n"
            "        os.write(to, data)\n"
            "for pair in ((0, agent.stdin.fileno()),\n"
            "             (agent.stdout.fileno(), 1)):\n"
            "    threading.Thread(target=carry, args=pair,\n"
            "                     daemon=True).start()\n"
            "while not os.path.exists('cut'):\n"
            "    time.sleep(0.01)\n"
            "sys.stderr.write('client_loop: send disconnect: Broken pipe\\n')\n"
            "sys.stderr.flush()\n"
            "os._exit(255)\n")
        broken.chmod(0o700)
        process = self.begin(FAKE_PROGRAM={"1": str(broken)})
        self.write("cut", "")
        err = self.finish(process, 1)
        self.assertIn("rank 2 was lost with its node", err)
        self.assertIn("ssh ended with exit code 255; its last output: "
                      "client_loop: send disconnect: Broken pipe", err)
        self.await_end((self.folder / "agent").read_text())

    def test_all_others_go_on_where_they_are_to(self):
        process = self.begin(
            "test -e lost && exit 0; until test -e lost; do sleep 0.05; done",
            more="on_failure: continue")
        os.kill(self.agents()[1], signal.SIGKILL)
        self.await_event(event="node_lost", node=1)
        self.write("lost", "")
        self.finish(process, 1)
        self.assertEqual([rank["state"] for rank in self.results()["ranks"]],
                         ["succeeded", "succeeded", "failed", "failed"])

    def test_before_all_have_answered(self):
        """Neither is an ssh left that is still connecting."""
        for sent in (signal.SIGINT, signal.SIGKILL):
            process = self.start(self.spec("true"), env=self.allocation(
                2, FAKE_STUCK={"1": "connecting"}))
            until = time.monotonic() + harness.LIMIT
            while len(self.agents()) < 2:
                self.assertLess(time.monotonic(), until)
                time.sleep(0.01)
            process.send_signal(sent)
            process.communicate(timeout=harness.LIMIT)
            self.assertEqual(process.returncode, -sent)
            self.nobody_is_left()
            os.unlink(self.folder / "tasks")


class Again(cases.Again, Ssh):
    pass


class Functions(cases.Functions, Ssh):
    pass


if __name__ == "__main__":
    harness.main()
