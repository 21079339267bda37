"""Which system calls a command may make: a program for the kernel's filter.

Namespaces, permissions and limits bound what a command reaches. The filter closes what they leave open: memory that is
no process's (shared segments, queues, memory files, keys), sockets of families that a network namespace does not cover,
new namespaces with rights of their own, settings of the first process, and calls that only administer a machine.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_REFUSED = {  # x86_64, aarch64
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89),
    "quotactl": (179, 60), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "ioprio_set": (251, 30), "syslog": (103, 116), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "vhangup": (153, 58),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "pidfd_getfd": (438, 438),
}  # fmt: skip
_ABSENT = {  # answered as by a kernel without them, so that programs use something else
    "clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
}  # fmt: skip
_ON_ITSELF = {  # with a first argument of 0 alone: the first process has the same user, and hands its settings on
    "prlimit64": (302, 261), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274),
}  # fmt: skip
_SOCKET, _CLONE, _PRIORITY = (41, 198), (56, 220), (141, 140)
_FAMILIES = (1, 2, 10)  # unix, IPv4, IPv6
_NEW_NAMESPACES = 0x7E020000
_X32 = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_OF_A_USER = 2


def supported() -> bool:
    """Whether the numbers of this machine's system calls are known."""
    return os.uname().machine in _ARCHITECTURES


def program() -> bytes:
    """The filter for this machine.

    Raises:
        OSError: It has a processor whose system calls are not known.
    """
    machine = os.uname().machine
    if not supported():
        raise OSError(errno.ENOSYS, f"the system calls of {machine} are not known")
    column = list(_ARCHITECTURES).index(machine)
    return b"".join(struct.pack("=HBBI", *step) for step in _steps(machine, column))


def _steps(machine: str, column: int) -> Iterator[tuple[int, int, int, int]]:
    refuse, absent = (_ERROR | errno.EPERM), (_ERROR | errno.ENOSYS)
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _EQUAL, 1, 0, _ARCHITECTURES[machine]
    yield _RETURN, 0, 0, absent
    yield _LOAD, 0, 0, _NUMBER
    yield _AT_LEAST, 0, 1, _X32
    yield _RETURN, 0, 0, absent
    for calls, answer in ((_REFUSED, refuse), (_ABSENT, absent)):
        for numbers in calls.values():
            if (number := numbers[column]) is not None:
                yield _EQUAL, 0, 1, number
                yield _RETURN, 0, 0, answer
    for numbers in _ON_ITSELF.values():
        yield _EQUAL, 0, 4, numbers[column]
        yield _LOAD, 0, 0, _FIRST_ARGUMENT
        yield _EQUAL, 0, 1, 0
        yield _RETURN, 0, 0, _ALLOW
        yield _RETURN, 0, 0, refuse
    yield _EQUAL, 0, 6, _PRIORITY[column]
    yield _LOAD, 0, 0, _FIRST_ARGUMENT
    yield _EQUAL, 3, 0, _OF_A_USER
    yield _LOAD, 0, 0, _SECOND_ARGUMENT
    yield _EQUAL, 0, 1, 0
    yield _RETURN, 0, 0, _ALLOW
    yield _RETURN, 0, 0, refuse
    yield _EQUAL, 0, len(_FAMILIES) + 3, _SOCKET[column]
    yield _LOAD, 0, 0, _FIRST_ARGUMENT
    for at, family in enumerate(_FAMILIES):
        yield _EQUAL, len(_FAMILIES) - at, 0, family
    yield _RETURN, 0, 0, _ERROR | errno.EAFNOSUPPORT
    yield _RETURN, 0, 0, _ALLOW
    yield _EQUAL, 0, 3, _CLONE[column]
    yield _LOAD, 0, 0, _FIRST_ARGUMENT
    yield _ANY_BIT, 0, 1, _NEW_NAMESPACES
    yield _RETURN, 0, 0, refuse
    yield _RETURN, 0, 0, _ALLOW
