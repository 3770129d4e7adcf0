"""Run a command in a network of its own, as root: all ports are free there, nobody
else is heard, and nothing but this machine can be reached.

usage: own_network.py COMMAND [WORD...]

Some launchers look their machine up by its host name, so that the address that this
one has is one of the loopback's there.
"""
import ctypes
import fcntl
import os
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, SIOCSIFADDR = 0x8914, 0x8916
UP = 1


def set_up(name, request, value):
    """Ask something of an interface (netdevice(7))."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, request,
                    struct.pack("16s16s8x", name, value))


def own_address():
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def main():
    address = own_address()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        sys.exit("no network of its own: " + os.strerror(ctypes.get_errno()))
    set_up(b"lo", SIOCSIFFLAGS, struct.pack("H", UP))
    if not address.startswith("127."):
        set_up(b"lo:1", SIOCSIFADDR, struct.pack(
            "HH4s", socket.AF_INET, 0, socket.inet_aton(address)))
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
