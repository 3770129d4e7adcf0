"""For tests that cut a link: this process goes on in a network namespace of its own,
where it may make links to others; without that right it is skipped."""
import os
import subprocess
import sys

INSIDE = "JOBRUN_TEST_OWN_NETWORK"


def enter():
    if INSIDE in os.environ:
        return
    tried = subprocess.run(["unshare", "-n", "sh", "-c", "ip link add near "
                            "type veth peer name far"], capture_output=True)
    if tried.returncode != 0:
        print("SKIPPED: no link between network namespaces can be made here "
              "(as root, by iproute2):", tried.stderr.decode())
        sys.exit(77)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])
