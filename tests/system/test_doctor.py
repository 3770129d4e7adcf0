"""What doctor tells of this machine, against who else tells it; and that its
facts stand for the machine."""
import os
import re
import resource
import shutil
import subprocess
import unittest

import harness

SPEC = "version: 1\nentrypoint: [true]\n"


class Doctor(harness.Case):
    def facts(self, **how):
        done = self.jobrun("doctor", "--format", "yaml", **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def fact(self, name):
        found = re.search(rf"^ *{name}: (.*)$", self.facts(), re.MULTILINE)
        return found[1].strip('"')

    def test_cpus(self):
        self.assertEqual(int(self.fact("usable")), len(os.sched_getaffinity(0)))
        self.assertEqual(int(self.fact("online")),
                         os.sysconf("SC_NPROCESSORS_ONLN"))
        if shutil.which("lscpu") is None:
            self.skipTest("no lscpu: install util-linux")
        rows = subprocess.run(["lscpu", "-p=CPU,CORE,SOCKET"], check=True,
                              capture_output=True, text=True).stdout
        cores = {tuple(row.split(",")[1:]) for row in rows.splitlines()
                 if not row.startswith("#") and
                 int(row.split(",")[0]) in os.sched_getaffinity(0)}
        self.assertEqual(int(self.fact("cores")), len(cores))

    def test_memory(self):
        with open("/proc/meminfo", encoding="utf-8") as file:
            total = int(file.readline().split()[1]) * 1024
        self.assertLessEqual(int(self.fact("memory")), total)
        limits = [path for path in (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory.max") if os.path.exists(path)]
        if not limits:
            self.assertEqual(int(self.fact("memory")), total)

    def test_host_and_ports(self):
        self.assertEqual(self.fact("hostname"), os.uname().nodename)
        with open("/proc/sys/net/ipv4/ip_local_port_range",
                  encoding="utf-8") as file:
            self.assertEqual([self.fact("low"), self.fact("high")],
                             file.read().split())

    def test_findings_come_and_go_with_their_reasons(self):
        few = (100, 100)
        done = subprocess.run(
            [harness.JOBRUN, "doctor"], cwd=self.folder, capture_output=True,
            text=True, env=harness.clean_environment(RANK="3"),
            timeout=harness.LIMIT, check=True, preexec_fn=lambda:
            resource.setrlimit(resource.RLIMIT_NOFILE, few))
        self.assertIn("a process may open at most 100 files", done.stdout)
        self.assertIn("by no launcher that is there: RANK", done.stdout)
        told = self.jobrun("doctor").stdout
        self.assertNotIn("by no launcher", told)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.assertEqual("files at most" in told, 0 <= hard < 4096)

    def test_its_facts_resolve_as_the_machine_does(self):
        self.write("job.jobrun.yaml", SPEC)
        for env in ({}, {"OMP_NUM_THREADS": "3"},
                    {"TORCH_DISTRIBUTED_BACKEND": "mpi"},
                    {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2",
                     "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NTASKS": "4",
                     "SLURM_TASKS_PER_NODE": "2(x2)"}):
            env = harness.clean_environment(**env)
            self.write("here.yaml", self.facts(env=env))
            # In an allocation of several nodes others would be asked as well.
            one = ["--node-rank", "1"] if "SLURM_JOB_ID" in env else []
            for words in (one, ["-s", "bind=core", *one], ["--local"],
                          ["-s", "world_size=3", "--local"]):
                # Another port may be free by now.
                words = ["resolve", "job.jobrun.yaml", *words,
                         "-s", "master_port=0"]
                here = self.jobrun(*words, env=env)
                there = self.jobrun(*words, "--on", "here.yaml")
                self.assertEqual(here.returncode, there.returncode, words)
                self.assertEqual(re.sub("master_port: .*", "", here.stdout),
                                 re.sub("master_port: .*", "", there.stdout))


if __name__ == "__main__":
    unittest.main()
