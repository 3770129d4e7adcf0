"""Random failures whose first cause is known: the report names it, or says
"together" of a group that holds it.

    test_root_cause.py [COUNT]      so many scripts (20), by the seed SEED (1)

One rank fails at first, when all of them are there; the others wait for it to
be gone, and then do well, fail too, or go on until they are stopped.
"""
import os
import random
import sys

import harness

COUNT = int(sys.argv.pop()) if len(sys.argv) > 1 else 20
# How a rank fails, and what is told of it.
FIRST = [("exit 1", "exit", 1, None), ("exit 77", "exit", 77, None),
         ("kill -SEGV $$", "signal", None, "SIGSEGV"),
         ("kill -KILL $$", "signal", None, "SIGKILL"),
         ("exec /nonexistent/program", "exit", 127, None),
         ("kill -TERM $$", "signal", None, "SIGTERM")]
AFTER = ["exec sleep 1000", "exit 3", "kill -ABRT $$", "exit 0",
         "trap 'exit 5' TERM; sleep 1000 & wait",
         "trap '' TERM; sleep 1000"]


class Causes(harness.Case):
    def script(self, dice):
        world = dice.randint(2, 6)
        culprit = dice.randrange(world)
        first = dice.choice(FIRST)
        lines = [f"world={world}", "touch here.$RANK",
                 "while test $(ls here.* | wc -l) -lt $world; do sleep 0.01; done"]
        for rank in range(world):
            if rank == culprit:
                lines.append(f"if test $RANK = {rank}; then echo $$ > pid.new; "
                             f"mv pid.new pid; {first[0]}; fi")
                continue
            after = dice.choice(AFTER)
            # Gone is who is no more, or a zombie that is not reaped yet.
            lines.append(
                f"if test $RANK = {rank}; then "
                "until test -e pid; do :; done; read p < pid; "
                "while grep -q '^State:.[^Z]' /proc/$p/status 2>/dev/null; "
                f"do :; done; {after}; fi")
        return culprit, first, "\n".join(lines)

    def test_the_first_is_named(self):
        seed = os.environ.get("SEED", "1")
        for number in range(COUNT):
            dice = random.Random(f"{seed}/{number}")
            culprit, (text, kind, code, name), script = self.script(dice)
            work = self.folder / f"work{number}"
            work.mkdir()
            with self.subTest(number=number, culprit=culprit, text=text):
                path = self.write(f"work{number}/fail.sh", script)
                done = self.jobrun("-n", script.split("\n")[0][6:],
                                   "-s", "timeouts.stop_grace=300ms",
                                   "-s", "device=cpu",
                                   "--", "sh", path, cwd=work)
                self.expect(done, 1)
                results = self.results(logs=f"work{number}/runs")
                cause = results["root_cause"]
                self.assertIn(culprit, [cause["rank"], *cause["together"]])
                rank = results["ranks"][culprit]
                self.assertEqual(rank["state"], "failed")
                self.assertEqual((rank["exit_code"], rank["signal"]),
                                 (code, name))
                if cause["rank"] == culprit:
                    self.assertEqual(cause["kind"], kind)
                    self.assertIn(f": rank {culprit} ", done.stderr)
                self.assertEqual(results["processes_left"], 0)


if __name__ == "__main__":
    harness.main()
