"""Runs a program without what Linux 6.5 and 6.13 added: SO_PEERPIDFD and PIDFD_GET_INFO."""

import ctypes
import os
import platform
import struct
import sys

IOCTL, GETSOCKOPT = {"x86_64": (16, 55), "aarch64": (29, 209)}[platform.machine()]
ENOTTY, ENOPROTOOPT = 25, 92
PIDFD_GET_INFO, SO_PEERPIDFD = 0xC040FF0B, 77
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
CALL, SECOND, THIRD = 0, 24, 32
filters = [
    (LOAD, 0, 0, CALL),
    (EQUAL, 0, 3, IOCTL),
    (LOAD, 0, 0, SECOND),
    (EQUAL, 4, 0, PIDFD_GET_INFO),
    (RETURN, 0, 0, ALLOW),
    (EQUAL, 0, 4, GETSOCKOPT),
    (LOAD, 0, 0, THIRD),
    (EQUAL, 1, 2, SO_PEERPIDFD),
    (RETURN, 0, 0, ERRNO | ENOTTY),
    (RETURN, 0, 0, ERRNO | ENOPROTOOPT),
    (RETURN, 0, 0, ALLOW),
]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in filters))


class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_void_p)]


program = Program(len(filters), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2
zero = ctypes.c_ulong(0)
assert libc.prctl(NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) == 0
assert libc.prctl(SECCOMP, ctypes.c_ulong(FILTER), ctypes.byref(program), zero, zero) == 0
os.execv(sys.argv[1], sys.argv[1:])
