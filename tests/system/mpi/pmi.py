"""A rank of an MPI program, as far as its process manager sees it: a client of
PMI-1, written against MPICH's description of the protocol. What it does is
words of the command line, in order."""
import json
import os
import signal
import socket
import sys
import time

RANK = int(os.environ["RANK"])


class Client:
    def __init__(self):
        self.stream = socket.socket(fileno=os.dup(int(os.environ["PMI_FD"])))
        self.file = self.stream.makefile("rw")

    def write(self, line):
        self.file.write(line + "\n")
        self.file.flush()

    def ask(self, line):
        """The reply as a dictionary."""
        self.write(line)
        reply = self.file.readline().split()
        if not reply:
            sys.exit("the process manager is gone")
        return dict(word.split("=", 1) for word in reply)

    def init(self):
        assert os.environ["PMI_RANK"] == os.environ["RANK"]
        assert os.environ["PMI_SIZE"] == os.environ["WORLD_SIZE"]
        reply = self.ask("cmd=init pmi_version=1 pmi_subversion=1")
        assert reply["cmd"] == "response_to_init" and reply["rc"] == "0", reply
        self.name = self.ask("cmd=get_my_kvsname")["kvsname"]

    def put(self, key, value):
        return self.ask(f"cmd=put kvsname={self.name} key={key} value={value}")

    def get(self, key):
        return self.ask(f"cmd=get kvsname={self.name} key={key}")["value"]

    def barrier(self):
        assert self.ask("cmd=barrier_in")["cmd"] == "barrier_out"

    def exchange(self):
        """What the ranks of a program do in MPI_Init."""
        size = int(os.environ["PMI_SIZE"])
        self.barrier()
        assert self.put(f"P{RANK}", f"address-of-{RANK}")["rc"] == "0"
        self.barrier()
        values = [self.get(f"P{rank}") for rank in range(size)]
        assert values == [f"address-of-{rank}" for rank in range(size)]
        print(f"pmi {RANK} of {size},", self.get("PMI_process_mapping"),
              flush=True)

    def finalize(self):
        self.barrier()
        assert self.ask("cmd=finalize")["cmd"] == "finalize_ack"


def flood(client):
    """Values until there are too many, and then again the first one."""
    count = 0
    while client.put(f"k{RANK}.{count}", "v" * 1000)["rc"] == "0":
        count += 1
    print(f"flooded, {'bounded' if count < 1100 else 'endless'}")
    assert client.get(f"k{RANK}.0") == "v" * 1000


def volume(client):
    """100 values of 1000 bytes from each rank, which all others get."""
    size, more = int(os.environ["PMI_SIZE"]), os.environ["PMI_RANK"]
    for number in range(100):
        assert client.put(f"v{more}.{number}", f"{RANK:03}" + "v" * 997)["rc"] \
            == "0"
    client.barrier()
    values = [client.get(f"v{rank}.{number}") for rank in range(size)
              for number in range(100)]
    assert [int(value[:3]) for value in values] == [
        rank for rank in range(size) for _ in range(100)]
    print("volume", len(values), sum(map(len, values)), flush=True)
    client.barrier()


def await_other_node(client):
    """Until the ranks of node 1 have ended; its jobrun may say so later."""
    events = os.path.join(os.environ["JOBRUN_RUN_DIR"], "events.jsonl")
    while sum("rank_ended" in line for line in open(events)) < 2:
        time.sleep(0.01)


def await_rank_1(client):
    """Until it has ended, as jobrun has seen."""
    path = os.path.join(os.environ["JOBRUN_RUN_DIR"], "events.jsonl")
    ended = False
    while not ended:
        time.sleep(0.01)
        with open(path) as file:
            events = [json.loads(line) for line in file if line.endswith("\n")]
        ended = any(event["event"] == "rank_ended" and event["rank"] == 1
                    for event in events)


def await_term(client):
    """Until the rank is told to stop, which does not end it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    print("listens", flush=True)
    signal.sigwait({signal.SIGTERM})


def child(client):
    """Something else that the rank starts, and that has its stream."""
    pid = os.fork()
    if pid == 0:
        os.write(int(os.environ["PMI_FD"]), b"garbage\ncmd=abort exitcode=9\n")
        os._exit(0)
    os.waitpid(pid, 0)


ACTS = {
    "init": Client.init,
    "exchange": Client.exchange,
    "barrier": Client.barrier,
    "finalize": Client.finalize,
    "flood": flood,
    "child": child,
    "volume": volume,
    "node-1-done": await_other_node,
    "rank-1-ended": await_rank_1,
    "await-term": await_term,
    "garbage": lambda client: client.write("garbage"),
    "endless": lambda client: client.write("x" * 100000),
    "noise": lambda client: client.write("cmd=puts\n\n=\nnoise"),
    "twice": lambda client: client.write("cmd=init pmi_version=1"),
    "pmi2": lambda client: sys.exit(
        client.ask("cmd=init pmi_version=2 pmi_subversion=0")["rc"] == "0"),
    "spawn": lambda client: print("spawn", client.ask(
        "mcmd=spawn\nnprocs=2\nexecname=./a\ntotspawns=1\nspawnssofar=1\n"
        "argcnt=0\nendcmd")["rc"], flush=True),
    "hang": lambda client: signal.pause(),
    "kill": lambda client: os.kill(os.getpid(), signal.SIGKILL),
    "later": lambda client: time.sleep(0.3),
}


def main():
    """`ACT`, or `0,2:ACT` for some ranks; `exit=3` ends the rank."""
    client = Client()
    for word in sys.argv[1:]:
        ranks, mark, act = word.rpartition(":")
        if mark and str(RANK) not in ranks.split(","):
            continue
        name, _, number = act.partition("=")
        if name == "exit":
            os._exit(int(number))
        if name == "abort":  # as MPICH does, wait to be ended
            client.write(f"cmd=abort exitcode={number}")
            signal.pause()
        ACTS[name](client)


main()
