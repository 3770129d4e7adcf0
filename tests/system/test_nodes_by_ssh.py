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


# An agent that hears nothing any more from the first message on that has a word.
DEAF = """\
#!/usr/bin/python3
import subprocess, sys
agent = subprocess.Popen([%r, *sys.argv[1:]], stdin=subprocess.PIPE)
with agent:
    for line in sys.stdin.buffer:
        if %r in line:
            open("asked", "w").close()
            sys.stdin.buffer.read()  # until its end
            break
        agent.stdin.write(line)
        agent.stdin.flush()
    agent.stdin.close()
"""


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


    def deaf_program(self, word):
        """In the place of jobrun on a host."""
        program = self.write("deaf", DEAF % (harness.JOBRUN,
                                             f'"{word}"'.encode()))
        program.write_text(program.read_text().replace(
            '"asked"', repr(str(self.folder / "asked"))))
        program.chmod(0o700)
        return str(program)

    def stop_once_asked(self, process, sig):
        """A signal ends it, though a host does not answer."""
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / "asked").exists():
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        process.send_signal(sig)
        return self.finish(process, 128 + sig)


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
        self.assertGreater(told.index("-oLogLevel=INFO"), stated)
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

    def test_a_host_that_hangs_over_the_spec_is_not_waited_for(self):
        """By a signal it is over, as long as no rank has begun."""
        for sig in (signal.SIGINT, signal.SIGTERM):
            process = self.start(self.spec("touch begun"), env=self.allocation(
                2, FAKE_PROGRAM={"1": self.deaf_program("spec")}))
            err = self.stop_once_asked(process, sig)
            self.assertIn("jobrun was told to stop", err)
            self.assertFalse((self.folder / "begun").exists())
            (self.folder / "asked").unlink()

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

    def test_what_ssh_prints_on_its_way(self):
        """A banner is no message where the host is reached, nor the last output
        of an ssh that ends later; it is shown where the host is not reached."""
        banner = self.write("banner", "#!/bin/sh\necho 'for members only' >&2\n"
                            f"sleep 0.3; exec '{harness.JOBRUN}' \"$@\"\n")
        banner.chmod(0o700)
        own = {"1": str(banner)}
        done = self.expect(self.run_on(2, "true", FAKE_PROGRAM=own), 0)
        self.assertNotIn("members", done.stderr)
        os.unlink(self.folder / "tasks")
        shutil.rmtree(self.folder / "runs")
        process = self.begin(FAKE_PROGRAM=own)
        os.kill(self.agents()[1], signal.SIGKILL)
        self.assertNotIn("members", self.finish(process, 1))
        done = self.expect(self.run_on(2, "true", FAKE_REFUSAL={
            "1": "for members only\nConnection closed by x port 22\n"}), 7)
        self.assertIn("jobrun: for members only\njobrun: Connection closed by x "
                      "port 22\n", done.stderr)
        self.assertIn("node 1 (n2) did not answer: Connection closed by x port "
                      "22; try: ssh n2 true", done.stderr)

    def test_an_agent_that_nobody_started(self):
        done = self.expect(self.jobrun("agent", "ssh"), 2)
        self.assertIn("started by hand it does nothing", done.stderr)

    def test_devices_are_waited_for_here_alone(self):
        done = self.expect(self.run_on(2, "true", "--wait"), 2)
        self.assertIn("the ranks are on other hosts", done.stderr)


class Disks(Ssh):
    """Hosts with a log folder of their own, where that of the controller is."""

    def setUp(self):
        super().setUp()
        (self.folder / "runs").mkdir()
        tried = subprocess.run(
            ["unshare", "-m", "mount", "-t", "tmpfs", "none",
             self.folder / "runs"], capture_output=True)
        if tried.returncode != 0:
            self.skipTest("no mount namespace for a folder of its own")

    def disk(self, name, hidden=None):
        """A program that sees the folder of this name as the log folder, and
        not what is in another."""
        (self.folder / name).mkdir(exist_ok=True)
        hide = f'mount -t tmpfs none "{hidden}" && ' if hidden else ""
        program = self.write(
            f"with-{name}", "#!/bin/sh\nexec unshare -m sh -c '%smount --bind "
            "\"$1\" \"$2\" && shift 2 && exec \"$@\"' sh '%s' '%s/runs' '%s' "
            "\"$@\"\n" % (hide, self.folder / name, self.folder, harness.JOBRUN))
        program.chmod(0o700)
        return str(program)

    def ssh_on(self, disk):
        """From now on, what ssh runs sees that folder as the log folder."""
        os.rename(self.folder / "bin" / "ssh", self.folder / "bin" / "real")
        self.write("bin/ssh", "#!/bin/sh\nexec unshare -m sh -c 'mount --bind "
                   "\"$1\" \"$2\" && shift 2 && exec \"$@\"' sh '%s' '%s' '%s' "
                   "\"$@\"\n" % (self.folder / disk, self.folder / "runs",
                                self.folder / "bin" / "real")).chmod(0o700)


class Apart(Disks):
    def run_apart(self, code, script, *words, disks=("", "disk"), **options):
        """A host for each disk; one without a name sees the controller's."""
        programs = {str(node): self.disk(name)
                    for node, name in enumerate(disks) if name}
        done = self.expect(self.run_on(
            len(disks), script, *words, FAKE_PROGRAM=programs, **options), code)
        self.nobody_is_left()
        return done

    def small_disk(self, size):
        """The same, with so much room and no name."""
        small = self.write(
            f"small-{size}", "#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs "
            "-o size=%s none \"$1\" && shift && exec \"$@\"' sh '%s/runs' '%s' "
            "\"$@\"\n" % (size, self.folder, harness.JOBRUN))
        small.chmod(0o700)
        return str(small)

    def log(self, rank, stream="stdout", attempt=0):
        return (self.folder / "runs" / "latest" / f"attempt_{attempt}" /
                str(rank) / f"{stream}.log")

    def test_what_ranks_leave_comes_back(self):
        """Values, files and logs, and no mark is left."""
        self.run_apart(
            0, "echo out $RANK; echo err $RANK >&2; "
            "echo \"{\\\"r\\\": $RANK, \\\"same\\\": 1}\" > "
            "\"$JOBRUN_RESULT_FILE\"; touch \"$JOBRUN_RANK_DIR/big\"",
            more="results: {fields: {r: {type: integer}, same: {type: integer}}, "
            "distinct: [r], equal: [same]}")
        results = self.results()
        self.assertEqual([(rank["state"], rank["result"]["r"])
                          for rank in results["ranks"]],
                         [("succeeded", rank) for rank in range(4)])
        [run] = [path for path in (self.folder / "runs").iterdir()
                 if path.is_dir() and not path.is_symlink()]
        for rank in range(4):
            self.assertEqual(self.log(rank).read_text(), f"out {rank}\n")
            self.assertEqual(self.log(rank, "stderr").read_text(),
                             f"err {rank}\n")
            folder = run / "attempt_0" / str(rank)
            self.assertEqual(json.loads((folder / "result.json").read_text()),
                             {"r": rank, "same": 1})
            self.assertEqual((folder / "big").exists(), rank < 2)
        there = self.folder / "disk" / run.name / "node_1" / "attempt_0"
        self.assertTrue((there / "3" / "big").exists())
        self.assertEqual(list(self.folder.glob("*/*/.mark*")), [])
        shown = self.expect(self.jobrun("logs", "latest", "--rank", "3"), 0)
        self.assertIn("out 3", shown.stdout)

    def test_hosts_that_share_a_folder_among_themselves(self):
        self.run_apart(0, "echo $RANK", disks=("disk", "disk"))
        self.assertEqual([self.log(rank).read_text() for rank in range(4)],
                         [f"{rank}\n" for rank in range(4)])
        [run] = [path for path in (self.folder / "disk").iterdir()
                 if path.is_dir()]
        self.assertEqual(sorted(path.name for path in run.iterdir()),
                         ["node_0", "node_1"])

    def test_no_host_sees_it(self):
        self.run_apart(0, "echo $RANK", disks=("one", "two", "three"))
        self.assertEqual([self.log(rank).read_text() for rank in range(6)],
                         [f"{rank}\n" for rank in range(6)])

    def test_results_that_do_not_count(self):
        """Missing, wrong, and different from those of other hosts."""
        script = ("test $RANK = 1 || echo '{\"a\": '$RANK', \"same\": '"
                  "$NODE_RANK'}' > \"$JOBRUN_RESULT_FILE\"; "
                  "test $RANK != 2 || rm \"$JOBRUN_RESULT_FILE\"")
        done = self.run_apart(5, script, disks=("one", "two"),
                              more="results: {fields: {a: {type: integer, "
                              "max: 2}}}")
        self.assertIn("result.json was not written", done.stderr)
        self.assertIn("'a' is 3, more than 2", done.stderr)
        self.assertEqual([rank["state"] for rank in self.results()["ranks"]],
                         ["succeeded"] + 3 * ["incomplete"])
        done = self.run_apart(5, script, more="results: {fields: {same: {type: "
                              "integer}}, equal: [same], required: '0,3'}")
        self.assertRegex(done.stderr, "same")

    def test_an_artifact_of_the_job_that_any_host_may_make(self):
        """Each of three disks; none of the hosts sees another one's."""
        more = "results: {required: none, artifacts: [runs/model]}"
        disks = ("one", "two", "three")
        for maker in (5, 0, 2):
            self.run_apart(0, f"test $RANK != {maker} || echo $$ > runs/model",
                           more=more, disks=disks)
        done = self.run_apart(5, "true", more=more, disks=disks)
        self.assertIn("artifact runs/model of the job, which any rank may make, "
                      "is the one from before the start", done.stderr)
        for name in disks:
            (self.folder / name / "model").unlink()
        done = self.run_apart(5, "true", more=more, disks=disks)
        self.assertIn("artifact runs/model of the job, which any rank may make, "
                      "was not written", done.stderr)

    def test_an_artifact_of_the_job_that_some_hosts_share(self):
        """The last rank of all is on the host that does not."""
        more = "results: {required: none, artifacts: [runs/model]}"
        for maker in (0, 3):
            self.run_apart(
                0, f"test $RANK != {maker} || echo $$ > runs/model; "
                "test $RANK != 3 || sleep 0.3", more=more)

    def test_artifacts_are_looked_for_where_they_are(self):
        made = "echo x > runs/ck.$RANK"
        more = "results: {required: none, artifacts: ['runs/ck.%{rank}']}"
        self.run_apart(0, made, more=more)
        self.assertFalse((self.folder / "runs" / "ck.3").exists())
        done = self.run_apart(5, "test $RANK != 3 && " + made + " || true",
                              more=more)
        self.assertIn("artifact runs/ck.3 is the one from before the start",
                      done.stderr)
        for rank in range(4):
            self.write(f"runs/ck.{rank}", "the controller's")
        done = self.run_apart(5, "test $RANK -ge 2 || " + made,
                              disks=("", "empty"), more=more)
        self.assertIn("artifact runs/ck.2 was not written", done.stderr)

    def test_a_failure(self):
        done = self.run_apart(
            1, "test $RANK != 3 || { echo 'why it failed' >&2; exit 7; }; "
            "sleep 1000", disks=("one", "two"))
        self.assertIn("rank 3 exited with code 7", done.stderr)
        self.assertIn("| why it failed", done.stderr)
        self.assertIn("ranks 0-2 stopped by jobrun", done.stderr)
        shown = self.expect(self.jobrun("show", "latest"), 0)
        self.assertIn("why it failed", shown.stdout)

    def test_an_exception(self):
        self.write("train.py", "import os\ndef main():\n"
                   "    if os.environ['RANK'] == '3':\n"
                   "        raise ValueError('loss is NaN')\n"
                   "    return {'a': 1}\n")
        done = self.run_apart(
            1, "true", "-s", "entrypoint={python: {function: 'train:main'}}")
        self.assertIn("ValueError: loss is NaN", done.stderr)
        self.assertIn("train.py:4 in main", done.stderr)

    def test_secrets_in_what_comes_back(self):
        self.write("train.py", "import os\ndef main():\n"
                   "    raise ValueError(os.environ['API_KEY'])\n")
        self.run_apart(
            1, "true", "-s", "entrypoint={python: {function: 'train:main'}}",
            "-s", "env={API_KEY: s3cr3t-word}", disks=("one", "two"))
        for path in self.folder.rglob("error.json"):
            self.assertNotIn("s3cr3t-word", path.read_text(), path)

    def test_the_setup_fails(self):
        done = self.run_apart(
            7, "true", more="setup: 'test $NODE_RANK = 0 || { echo no compiler "
            ">&2; exit 3; }'", disks=("one", "two"))
        self.assertIn("no compiler", done.stderr)

    def test_results_in_the_begin_of_a_long_log(self):
        """Where they are searched, the whole log is; what comes back is its
        end."""
        self.run_apart(
            0, "echo loss $RANK; seq 30000", local=1,
            more="results: {from: stdout, pattern: 'loss (?<loss>\\d+)'}")
        self.assertEqual([rank["result"]["loss"]
                          for rank in self.results()["ranks"]], ["0", "1"])
        here, there = self.log(0).read_text(), self.log(1).read_text()
        self.assertTrue(here.startswith("loss 0\n1\n"))
        note, rest = there.split("\n", 1)
        [path] = (self.folder / "disk").glob("*/node_1/attempt_0/1/stdout.log")
        whole = path.read_text()
        self.assertEqual(note, f"[jobrun: the first {len(whole) - len(rest)} bytes "
                         f"of this log are on {ADDRESS}2 alone; `jobrun logs` "
                         "fetches them]")
        self.assertTrue(whole.endswith("\n" + rest))
        self.assertGreater(len(rest), 65000)

    def logs(self, *words, **env):
        return self.expect(harness.Case.jobrun(
            self, "logs", "latest", *words, env=self.fakes(**env)), 0)

    def test_the_rest_of_a_log_is_fetched(self):
        """By whom it is wanted, and once."""
        self.run_apart(0, "seq 30000; seq 30000 >&2", "-s",
                       "engine.ssh.options=[-J, gate]", local=1)
        whole = "".join(f"{i}\n" for i in range(1, 30001))
        log = self.log(1)
        done = self.logs("--rank", "1", "--tail", "2")
        self.assertTrue(log.read_text().startswith("[jobrun: the first "))
        refused = self.logs("--rank", "1", FAKE_REFUSAL={
            ADDRESS + "2": "ssh: connect to host n2 port 22: no route\n"})
        self.assertIn("no route", refused.stderr)
        self.assertRegex(refused.stderr, "the begin of .*/attempt_0/1/stdout.log "
                         rf"could not be fetched from {re.escape(ADDRESS)}2, where "
                         "it is /.*/node_1/attempt_0/1/stdout.log; its end follows")
        self.assertIn("[jobrun: the first ", refused.stdout)
        words = self.folder / "words"
        self.ssh_on("disk")
        done = self.logs("--rank", "1", FAKE_WORDS=str(words))
        self.assertEqual((done.stdout.count(whole), done.stderr), (2, ""))
        self.assertEqual(log.read_text(), whole)
        self.assertEqual([path.name for path in sorted(log.parent.iterdir())],
                         ["stderr.log", "stdout.log"])
        self.assertIn('"-J", "gate"', words.read_text())
        self.assertEqual(len(words.read_text().splitlines()), 2)
        self.logs("--rank", "1", FAKE_WORDS=str(words))
        self.assertEqual(len(words.read_text().splitlines()), 2)

    def test_another_log_is_not_its_rest(self):
        """A cell that runs again may have one at the same path."""
        self.run_apart(0, "seq 30000", local=1)
        self.ssh_on("disk")
        there, = (self.folder / "disk").glob("2*/node_1/attempt_0/1/stdout.log")
        whole, log = there.read_text(), self.log(1)
        before = log.read_text()
        for other in (whole.replace("29999\n", "39999\n"), whole[:-1], ""):
            there.write_text(other)
            done = self.logs("--rank", "1")
            self.assertIn(f"could not be fetched from {ADDRESS}2, where another "
                          "log is by now ", done.stderr)
            self.assertEqual(log.read_text(), before)
        there.write_text(whole + "more\n")
        self.assertEqual(self.logs("--rank", "1").stderr, "")
        self.assertEqual(log.read_text(), whole + "more\n")

    def test_a_word_of_another_user_is_not_for_ssh(self):
        if os.getuid() != 0:
            self.skipTest("only root can have another user's files")
        self.run_apart(0, "seq 30000", local=1)
        os.chown(str(self.log(1)) + ".left", 65534, 65534)
        words = self.folder / "words"
        done = self.logs("--rank", "1", FAKE_WORDS=str(words))
        self.assertIn("[jobrun: the first ", done.stdout)
        self.assertFalse(words.exists())

    def test_whole_logs(self):
        self.run_apart(0, "seq 300000", "-s", "engine.ssh.collect=[results, logs]",
                       local=1)
        self.assertEqual(self.log(1).read_text(), self.log(0).read_text())

    def test_another_attempt(self):
        done = self.run_apart(
            0, "echo try $JOBRUN_ATTEMPT; test $RANK != 3 || "
            "test $JOBRUN_ATTEMPT != 0 || { echo early >&2; seq 30000 >&2; "
            "exit 9; }", disks=("one", "two"),
            more="restart: {max: 1, on: 'stderr:/^early/'}")
        self.assertIn("attempt 0 failed: rank 3 exited with code 9", done.stderr)
        for attempt in (0, 1):
            self.assertEqual(self.log(2, attempt=attempt).read_text(),
                             f"try {attempt}\n")

    def test_evidence_of_a_hang(self):
        done = self.run_apart(
            6, "echo begun; sleep 1000", disks=("one", "two"),
            more="timeouts: {silence: 1s}")
        self.assertRegex(done.stderr, "HUNG")
        run = self.folder / "runs" / "latest"
        self.assertEqual(len(list(run.glob("attempt_0/*/hang.json"))), 4)

    def test_a_run_of_that_name_there(self):
        """What an earlier run has left is nobody else's."""
        (self.folder / "disk" / "r").mkdir(parents=True)
        self.write("disk/r/run.json", "{}")
        done = self.run_apart(7, "touch begun; sleep 1000", "--run-id", "r")
        self.assertIn(f"node 1 (n2): the run 'r' in {self.folder}/runs is not a "
                      "run of several nodes", done.stderr)
        self.assertEqual(os.listdir(self.folder / "disk" / "r"), ["run.json"])
        (self.folder / "disk" / "s" / "node_1").mkdir(parents=True)
        done = self.run_apart(7, "touch begun; sleep 1000", "--run-id", "s")
        self.assertIn("node 1 (n2): node 1 of the run 's' has already started, "
                      f"in {self.folder}/runs/s/node_1", done.stderr)
        self.assertEqual(list(self.folder.glob("*/?/.mark*")), [])

    def test_a_log_folder_that_cannot_be_made(self):
        """Its path is that of a file there."""
        self.disk("disk")
        self.write("disk/keep", "")
        done = self.run_apart(7, "sleep 1000", more="log_dir: runs/keep/logs")
        self.assertRegex(done.stderr, r"node 1 \(n2\): log_dir.*runs/keep")

    def project(self, entrypoint, more=""):
        """A repository, which only the controller has."""
        tree = self.folder / "tree"
        tree.mkdir()
        for name, text in (
                ("t.jobrun.yaml", "version: 1\nlocal_world_size: 1\n"
                 "log_dir: ../runs\nmaster_addr: 127.0.0.1\ncode: freeze\n"
                 f"entrypoint: {entrypoint}\n{more}"),
                ("train.py", "import lib.model\ndef main():\n"
                 "    return {'layers': lib.model.LAYERS}\n"),
                ("lib/model.py", "LAYERS = 2\n"),
                ("run.sh", "#!/bin/sh\necho from $PWD; ls -F\n")):
            (tree / name).parent.mkdir(exist_ok=True)
            (tree / name).write_text(text)
        (tree / "run.sh").chmod(0o755)
        os.symlink("train.py", tree / "link.py")
        for words in (("init", "-q"), ("add", "-A"), (
                "-c", "user.name=n", "-c", "user.email=n@example.org",
                "commit", "-qm", "m")):
            subprocess.run(["git", *words], cwd=tree, check=True,
                           capture_output=True)
        return tree

    def run_project(self, code, tree, *words, hosts=2, **extra):
        env = self.allocation(hosts, FAKE_PROGRAM={
            str(node): self.disk(f"disk-{node}", tree) for node in range(1, hosts)
        }, **extra)
        done = self.expect(self.jobrun("tree/t.jobrun.yaml", *words, env=env),
                           code)
        self.nobody_is_left()
        return done

    def test_the_code_comes_along(self):
        """With modes and links, to hosts where there is nothing of it."""
        tree = self.project("[./run.sh]")
        self.run_project(0, tree, hosts=3)
        for rank in range(1, 3):
            [copy] = (self.folder / f"disk-{rank}").glob(f"*/node_{rank}/code")
            there = self.folder / "runs" / copy.relative_to(
                self.folder / f"disk-{rank}")
            self.assertEqual(self.log(rank).read_text().splitlines(), [
                f"from {there}", "lib/", "link.py@", "run.sh*",
                "t.jobrun.yaml", "train.py"])
            self.assertEqual(os.readlink(copy / "link.py"), "train.py")
        self.assertIn("/code", self.log(0).read_text())
        self.assertNotIn("node_", self.log(0).read_text())
        self.assertEqual(list((self.folder / "runs").glob("*/.code.tar")), [])

    def test_modules_of_the_code(self):
        tree = self.project("{python: {function: 'train:main'}}")
        self.run_project(0, tree)
        self.assertEqual([rank["result"] for rank in self.results()["ranks"]],
                         [{"layers": 2}, {"layers": 2}])

    def test_another_attempt_has_the_same_code(self):
        tree = self.project("{shell: 'cat lib/model.py; test $RANK = 0 || "
                            "test $JOBRUN_ATTEMPT = 1'}", "restart: 1\n")
        self.run_project(0, tree)
        self.assertEqual(self.log(1, attempt=1).read_text(), "LAYERS = 2\n")

    def test_a_large_tree(self):
        """More than a pipe holds, and than a message."""
        tree = self.project("{shell: 'wc -c < large; cksum < large'}")
        (tree / "large").write_bytes(os.urandom(5_000_000))
        self.run_project(0, tree)
        self.assertTrue(self.log(1).read_text().startswith("5000000\n"))
        self.assertEqual(self.log(1).read_text(), self.log(0).read_text())

    def test_no_room_for_the_code(self):
        tree = self.project("{shell: 'sleep 1000'}")
        (tree / "large").write_bytes(os.urandom(3_000_000))
        done = self.expect(self.jobrun("tree/t.jobrun.yaml", env=self.allocation(
            2, FAKE_PROGRAM={"1": self.small_disk("2m")})), 7)
        self.assertRegex(done.stderr, r"node 1 \(n2\): tar could not unpack the "
                         "code of the run")
        self.assertIn("No space left on device", done.stderr)
        self.nobody_is_left()

    def test_a_host_that_cannot_unpack_leaves_nothing(self):
        tree = self.project("{shell: 'sleep 1000'}")
        self.write("broken/tar", "#!/bin/sh\ncat > /dev/null\nexit 3\n").chmod(0o700)
        path = f"{self.folder / 'broken'}:{os.environ['PATH']}"
        done = self.run_project(7, tree, FAKE_TASKS={"1": {"PATH": path}})
        self.assertIn("node 1 (n2): tar could not unpack the code of the run (it "
                      "ended with exit code 3)", done.stderr)
        self.assertEqual([name for name in os.listdir(self.folder / "disk-1")
                          if name != ".gitignore"], [])

    def there(self, name, *words):
        """What jobrun prints on the host that has this disk."""
        done = subprocess.run(
            [self.disk(name), *words], cwd=self.folder, text=True,
            capture_output=True, timeout=harness.LIMIT,
            env=harness.clean_environment())
        return self.expect(done, 0).stdout

    def test_a_host_shows_and_prunes_its_part(self):
        more = "results: {fields: {r: {type: integer}}}\nrestart: 1\n"
        self.run_apart(
            0, 'test $JOBRUN_ATTEMPT = 1 || exit 3; echo "rank $RANK"; '
            'echo "{\\"r\\": $RANK}" > "$JOBRUN_RESULT_FILE"', "--run-id", "r",
            more=more)
        self.run_apart(1, "exit 1", "--run-id", "s")
        rows = [line.split() for line in self.there("disk", "runs").splitlines()]
        self.assertEqual(sorted(row[-1] for row in rows[1:]), ["r", "s"])
        self.assertIn("\nrank 3\n", self.there("disk", "logs", "r"))
        shown = json.loads(self.there("disk", "show", "r", "--json"))
        self.assertEqual([(rank["rank"], rank["state"], rank["result"])
                          for rank in shown["ranks"]
                          if rank["state"] != "not_started"],
                         [(2, "succeeded", {"r": 2}), (3, "succeeded", {"r": 3})])
        self.assertEqual(self.there("disk", "prune", "--keep", "1"), "r\n")
        self.assertEqual(os.listdir(self.folder / "disk" / "s"), ["node_1"])
        self.assertEqual(self.there("disk", "prune", "--keep", "0"), "s\n")
        self.assertEqual([name for name in os.listdir(self.folder / "disk")
                          if name in "rs"], [])
        self.expect(self.jobrun("show", "r"), 0)

    def test_following_says_whose_lines_are_elsewhere(self):
        process = self.begin(
            "echo $RANK; until test -e go; do sleep 0.05; done",
            FAKE_PROGRAM={"1": self.disk("disk")})
        follow = self.start("logs", "latest", "--follow")
        self.assertIn("ranks 2-3: on hosts that do not see this run folder; what "
                      "is left there comes when the attempt is over",
                      follow.stderr.readline())
        for rank in (0, 1):
            follow.stdout.readline()
        self.write("go", "")
        self.finish(process, 0)
        out, err = follow.communicate(timeout=harness.LIMIT)
        self.assertEqual(follow.returncode, 0, err)
        self.assertEqual((sorted(out.splitlines()), err),
                         (["[2] 2", "[3] 3"], ""))

    def test_secrets_are_in_no_file_of_a_host(self):
        self.run_apart(
            5, 'echo "{\\"r\\": \\"$API_KEY\\"}" > "$JOBRUN_RESULT_FILE"',
            disks=("one", "two"), more="env: {API_KEY: s3cr3t-word}\nresults: "
            "{fields: {r: {type: integer}}}\n")
        files = [path for path in self.folder.glob("???/**/*")
                 if path.is_file() and path.name != "result.json"]
        self.assertIn("results.json", [path.name for path in files])
        for path in files:
            self.assertNotIn(b"s3cr3t-word", path.read_bytes(), path)

    def test_a_host_keeps_a_part_that_goes_on(self):
        process = self.begin(FAKE_PROGRAM={"1": self.disk("disk")})
        self.assertIn("running", self.there("disk", "runs"))
        self.assertEqual(self.there("disk", "prune", "--keep", "0"), "")
        process.terminate()
        self.finish(process, 143)
        self.assertNotEqual(self.there("disk", "prune", "--keep", "0"), "")

    def test_a_host_is_lost(self):
        process = self.begin(FAKE_PROGRAM={"1": self.disk("disk")})
        os.kill(self.agents()[1], signal.SIGKILL)
        self.finish(process, 1)
        self.assertEqual(self.results()["root_cause"]["kind"], "lost_node")

    def test_a_disk_that_is_full(self):
        done = self.expect(self.run_on(
            2, "touch begun; sleep 1000",
            FAKE_PROGRAM={"1": self.small_disk("16k")}), 7)
        self.assertRegex(done.stderr, rf"node 1 \(n2\): {self.folder}/runs/\S+"
                         "/node_1 takes no files: No space left on device")
        self.nobody_is_left()

    SPARES = "nodes: 3\nspare_nodes: 1\nrestart: {max: 1, backoff: 0}\n"

    def lose_apart(self, process, spare="n4", code=0):
        """Node 1, once all ranks have begun; that spare has its place."""
        for rank in range(3):
            self.await_event(event="rank_started", rank=rank)
        os.kill(self.agents()[1], signal.SIGKILL)
        err = self.finish(process, code)
        self.assertEqual([rank["host"] for rank in self.results()["ranks"]],
                         ["n1", spare, "n3"], err)
        return err

    def begin_apart(self, *words, **options):
        process = self.start(*words, **options)
        until = time.monotonic() + harness.LIMIT
        while not (self.folder / "runs" / "latest" / "events.jsonl").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        return process

    def test_a_spare_has_a_disk_of_its_own(self):
        """What it leaves comes back, and what was left before stays with it."""
        deliver = 'echo "{\\"r\\": $JOBRUN_ATTEMPT}" > "$JOBRUN_RESULT_FILE"'
        process = self.begin_apart(
            self.spec(f"echo $FAKE_NODE; {deliver}; "
                      "test $JOBRUN_ATTEMPT != 0 || exec sleep 1000",
                      self.SPARES + "results: {fields: {r: {type: integer}}}\n",
                      1),
            env=self.allocation(4, FAKE_PROGRAM={
                str(node): self.disk(f"disk-{node}") for node in (1, 2, 3)}))
        self.lose_apart(process)
        self.assertEqual([rank["result"]["r"]
                          for rank in self.results()["ranks"]], [1] * 3)
        self.assertEqual([self.log(rank, attempt=1).read_text()
                          for rank in range(3)], ["0\n", "3\n", "2\n"])
        for disk, node, attempts in ((1, 1, [0]), (2, 2, [0, 1]), (3, 1, [1])):
            [part] = (self.folder / f"disk-{disk}").glob(f"*/node_{node}")
            self.assertEqual(sorted(path.name for path in
                                    part.glob("attempt_*")),
                             [f"attempt_{number}" for number in attempts])

    def test_a_spare_that_shares_the_folder_of_the_lost_node(self):
        disk = self.disk("disk")
        process = self.begin_apart(
            self.spec("echo $FAKE_NODE; test $JOBRUN_ATTEMPT != 0 || "
                      "exec sleep 1000", self.SPARES, 1),
            env=self.allocation(4, FAKE_PROGRAM={
                str(node): disk for node in (1, 2, 3)}))
        self.lose_apart(process)
        self.assertEqual(self.log(1, attempt=1).read_text(), "3\n")

    def test_a_spare_gets_the_code(self):
        tree = self.project(
            "{shell: './run.sh; test $JOBRUN_ATTEMPT != 0 || exec sleep 1000'}",
            self.SPARES)
        process = self.begin_apart(
            "tree/t.jobrun.yaml", env=self.allocation(4, FAKE_PROGRAM={
                str(node): self.disk(f"disk-{node}", tree)
                for node in (1, 2, 3)}))
        self.lose_apart(process)
        for rank in range(3):
            self.assertIn("run.sh*", self.log(rank, attempt=1).read_text())

    def lose_beside_a_full_spare(self, spec, small, **expected):
        """The first spare has no room for the run; others have."""
        spares = 2 if expected["code"] == 0 else 1
        process = self.begin_apart(
            spec, "-s", f"spare_nodes={spares}", env=self.allocation(
                3 + spares, FAKE_PROGRAM={
                    "3": small, **{str(node): self.disk(
                        f"disk-{node}", self.folder / "tree"
                        if (self.folder / "tree").exists() else None)
                        for node in (1, 2, 4)[:spares + 1]}}))
        err = self.lose_apart(process, **expected)
        self.assertEqual(self.results()["attempt"], 1 - expected["code"])
        return err

    def left_out(self):
        return {entry["host"]: entry["reason"]
                for entry in self.results()["left_out"]}

    def test_a_spare_whose_disk_is_full(self):
        spec = self.spec("echo $FAKE_NODE; test $JOBRUN_ATTEMPT != 0 || "
                         "exec sleep 1000", self.SPARES, 1)
        err = self.lose_beside_a_full_spare(
            spec, self.small_disk("16k"), spare="n5", code=0)
        self.assertIn("the spare n5 takes the place of node 1 (n4): "
                      f"{self.folder}/runs/", err)
        self.assertEqual(sorted(self.left_out()), ["n2", "n4"])
        self.assertRegex(self.left_out()["n4"],
                         "^/.* takes no files: No space left on device$")
        self.assertEqual(self.log(1, attempt=1).read_text(), "4\n")

    def test_the_last_spare_s_disk_is_full(self):
        """The cause is the node that was lost."""
        spec = self.spec("exec sleep 1000", self.SPARES, 1)
        err = self.lose_beside_a_full_spare(
            spec, self.small_disk("16k"), spare="n2", code=1)
        cause = self.results()["root_cause"]
        self.assertEqual((cause["kind"], cause["host"]), ("lost_node", "n2"))
        self.assertRegex(err, r"not started again: node 1 \(n4\): .* takes no "
                         "files: No space left on device, and no spare is left "
                         "for it")
        self.assertEqual(sorted(self.left_out()), ["n2"])

    def test_a_spare_that_has_no_room_for_the_code(self):
        script = "{shell: 'test $JOBRUN_ATTEMPT != 0 || exec sleep 1000'}"
        tree = self.project(script, self.SPARES)
        (tree / "large").write_bytes(os.urandom(3_000_000))
        err = self.lose_beside_a_full_spare(
            "tree/t.jobrun.yaml", self.small_disk("2m"), spare="n5", code=0)
        self.assertIn("No space left on device", err)
        self.assertIn("tar could not unpack", self.left_out()["n4"])


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


class Spares(cases.Spares, Ssh):
    DOWN, STANDS_BY = "FAKE_REFUSAL", 1
    GONE = "ssh: connect to host x port 22: No route to host\n"

    def unname(self, host):
        return rename(host)


class Functions(cases.Functions, Ssh):
    pass


if __name__ == "__main__":
    harness.main()
