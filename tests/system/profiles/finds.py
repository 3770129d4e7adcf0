"""A rank that reads its environment as a framework documents it, and stops at
the first thing that is not there or does not fit the others.

usage: finds.py torch|paddle|megengine|mpi
"""
import os
import socket
import sys
import time

# The documented variables, per framework.
FIXTURES = {
    "torch": """
        RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
        GROUP_RANK GROUP_WORLD_SIZE ROLE_NAME ROLE_RANK ROLE_WORLD_SIZE
        TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT
        TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_ERROR_FILE
        TORCH_DISTRIBUTED_BACKEND""",
    "paddle": """
        PADDLE_TRAINER_ID PADDLE_TRAINERS_NUM PADDLE_TRAINER_ENDPOINTS
        PADDLE_CURRENT_ENDPOINT PADDLE_MASTER PADDLE_GLOBAL_RANK
        PADDLE_GLOBAL_SIZE PADDLE_LOCAL_RANK PADDLE_LOCAL_SIZE PADDLE_NNODES
        PADDLE_RANK_IN_NODE PADDLE_DISTRI_BACKEND""",
    "megengine": "NCCL_LAUNCH_MODE",
    "mpi": """
        OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK
        OMPI_COMM_WORLD_LOCAL_SIZE OMPI_COMM_WORLD_NODE_RANK PMI_RANK PMI_SIZE
        MPI_LOCALRANKID MPI_LOCALNRANKS""",
}
# What ranks have without any profile.
CONTRACT = set(FIXTURES["torch"].split()[:8])
LIMIT = 60


def number(name):
    return int(os.environ[name])


def same(*names):
    values = {name: os.environ[name] for name in names}
    assert len(set(values.values())) == 1, values


def torch():
    same("RANK", "ROLE_RANK")
    same("WORLD_SIZE", "ROLE_WORLD_SIZE")
    same("TORCHELASTIC_RUN_ID", "JOBRUN_RUN_ID")
    assert 0 <= number("LOCAL_RANK") < number("LOCAL_WORLD_SIZE")
    assert 0 <= number("GROUP_RANK") < number("GROUP_WORLD_SIZE")
    assert number("TORCHELASTIC_RESTART_COUNT") <= \
        number("TORCHELASTIC_MAX_RESTARTS")
    folder = os.path.dirname(os.environ["TORCHELASTIC_ERROR_FILE"])
    assert os.path.isdir(folder), folder
    assert os.environ["TORCH_DISTRIBUTED_BACKEND"] == "gloo"


def dial(address):
    until = time.monotonic() + LIMIT
    while True:
        try:
            return socket.create_connection(address, LIMIT)
        except ConnectionRefusedError:
            assert time.monotonic() < until, address
            time.sleep(0.01)


def paddle():
    """A ring over the endpoints: each is free for its rank, and no other's."""
    same("RANK", "PADDLE_TRAINER_ID", "PADDLE_GLOBAL_RANK")
    same("WORLD_SIZE", "PADDLE_TRAINERS_NUM", "PADDLE_GLOBAL_SIZE")
    same("LOCAL_RANK", "PADDLE_LOCAL_RANK", "PADDLE_RANK_IN_NODE")
    same("LOCAL_WORLD_SIZE", "PADDLE_LOCAL_SIZE")
    same("GROUP_WORLD_SIZE", "PADDLE_NNODES")
    assert os.environ["PADDLE_MASTER"] == \
        "%s:%s" % (os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
    assert not {"http_proxy", "https_proxy"} & set(os.environ)
    ends = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")
    rank, world = number("PADDLE_TRAINER_ID"), len(ends)
    assert world == number("PADDLE_TRAINERS_NUM")
    assert len(set(ends + [os.environ["PADDLE_MASTER"]])) == world + 1, ends
    assert ends[rank] == os.environ["PADDLE_CURRENT_ENDPOINT"]
    places = [(host, int(port)) for host, port in
              (end.rsplit(":", 1) for end in ends)]
    with socket.create_server(places[rank]) as server:
        server.settimeout(LIMIT)
        with dial(places[(rank + 1) % world]) as there:
            here, _ = server.accept()
            with here:
                there.sendall(b"%d" % rank)
                there.shutdown(socket.SHUT_WR)
                before = int(here.recv(16))
    assert before == (rank - 1) % world, before


def megengine():
    assert os.environ["NCCL_LAUNCH_MODE"] == "PARALLEL"


def mpi():
    same("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
    same("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
    same("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
         "OMPI_COMM_WORLD_NODE_RANK")
    same("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


def main(framework):
    for name in FIXTURES[framework].split():
        assert os.environ.get(name), "%s is not set" % name
    for other, names in FIXTURES.items():
        aliens = set(names.split()) & set(os.environ) - CONTRACT
        assert other == framework or not aliens, (other, aliens)
    globals()[framework]()


if __name__ == "__main__":
    main(sys.argv[1])
