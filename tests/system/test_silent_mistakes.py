"""Mistakes that would start something else than what was meant."""
import harness

HEAD = "version: 1\nentrypoint: [echo, hello]\ndevice: cpu\n"


class Mistakes(harness.Case):
    def told(self, text, verb="validate", code=3):
        self.write("job.jobrun.yaml", HEAD + text)
        done = self.expect(self.jobrun(verb, "job.jobrun.yaml"), code)
        self.assertFalse((self.folder / "runs").exists())
        return done.stdout + done.stderr

    def test_addresses(self):
        for verb in "validate", "run":
            told = self.told("master_addr: 300.1.2.3\n", verb)
            self.assertIn("4:14: error[JR0211]: 'master_addr' wants a host "
                          "name or an address, not '300.1.2.3'", told)
            told = self.told("hosts: [gpu01, gpu02, gpu01]\n", verb)
            self.assertIn("4:23: error[JR0331]: 'hosts' lists 'gpu01' twice",
                          told)

    def test_options_of_sbatch(self):
        told = self.told("engine: {slurm: {partion: gpu, time: 1h}}\n")
        self.assertIn("4:18: error[JR0332]: sbatch has no option 'partion'",
                      told)
        self.assertIn("did you mean 'partition'?", told)
        self.assertIn("4:38: error[JR0333]: '--time' of sbatch wants", told)
        self.assertIn('did you mean "1:00:00"?', told)
        self.expect(self.jobrun("validate", "--fix", "job.jobrun.yaml"), 0)
        self.assertIn('{partition: gpu, time: "1:00:00"}',
                      (self.folder / "job.jobrun.yaml").read_text())
        self.assertIn("warning[JR0332]", self.told(
            "engine: {slurm: {container-image: a.sqsh}}\n", code=0))

    def test_shell_syntax(self):
        self.write("job.jobrun.yaml", HEAD.replace(
            "hello]", "$HOME, ~/data, '*.csv', '&&', '%{rank}']")
            + "world_size: 1\nenv: {PATH: $HOME/bin}\n")
        done = self.expect(self.jobrun("validate", "job.jobrun.yaml"), 0)
        self.assertEqual(done.stdout.count("warning[JR0334]"), 5, done.stdout)
        self.expect(self.jobrun("validate", "--strict", "job.jobrun.yaml"), 3)
        # It is what the rank gets.
        done = self.expect(self.jobrun("job.jobrun.yaml", "-s", "env={}"), 0)
        self.assertEqual(done.stdout, "[0] $HOME ~/data *.csv && 0\n")
        self.assertEqual(done.stderr.count("warning[JR0334]"), 4)

    def test_the_shell_of_the_caller_has_read_the_command(self):
        done = self.expect(self.jobrun("-n", "1", "--", "echo", "$HOME", "~",
                                       "*.csv", "&&"), 0)
        self.assertEqual(done.stdout, "[0] $HOME ~ *.csv &&\n")
        self.assertNotIn("warning", done.stderr)

    def test_a_variable_over_the_chosen_devices(self):
        """The ranks would see one device, and the plan gives them four."""
        spec = HEAD.replace("device: cpu\n", "world_size: 4\n")
        variable = 'env: {CUDA_VISIBLE_DEVICES: "0"}\n'
        for text, found in ((variable, True), ("devices: [0, 1, 2, 3]\n", False),
                            (variable + "device_visibility: inherit\n", False),
                            ("per_rank: {3: {env: {CUDA_VISIBLE_DEVICES: 0}}}\n",
                             True)):
            self.write("job.jobrun.yaml", spec + text)
            done = self.expect(self.jobrun("plan", "--on", "1x4:H100",
                                           "job.jobrun.yaml"), 0)
            told = done.stderr
            self.assertEqual(told.count("warning[JR0517]: 'CUDA_VISIBLE_DEVICES' "
                                        "replaces what jobrun sets"), found, told)
            if found:
                self.assertIn("state the devices as `devices: [0, 1]`", told)
        self.assertIn("job.jobrun.yaml:4:", told)

    def test_values_for_kubernetes(self):
        told = self.told("engine: {kubernetes: {image: Train, memory: 64m}}\n")
        self.assertIn("'engine.kubernetes.image' wants an image", told)
        self.assertIn("'engine.kubernetes.memory' wants bytes", told)

    def test_numbers_out_of_range(self):
        """A suggestion is one that can be taken."""
        told = self.told("nodes: -0\n")
        self.assertNotIn("did you mean", told)
        told = self.told("master_port: 6_5536\n")
        self.assertIn("at most 65535", told)
        self.assertNotIn("did you mean", told)
        self.assertIn("did you mean 29500?", self.told("master_port: 29_500\n"))


if __name__ == "__main__":
    harness.main()
