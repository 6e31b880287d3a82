# SPDX-License-Identifier: Apache-2.0
"""TAP interfaces of Linux: what the kernel sends into one is read here, and what is written here arrives there."""

from __future__ import annotations

import contextlib
import errno
import getpass
import os
import re
import socket
import struct
import sys
from pathlib import Path
from types import TracebackType

from spinet._core import UsageError

DEVICE = "/dev/net/tun"

# source: linux/if_tun.h, linux/if.h, linux/sockios.h
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 0x1
_REQUEST = struct.Struct("16sH22x")  # struct ifreq with its flags
_MOST_BYTES = 65536 + 18  # largest frame: largest MTU of an interface, Ethernet header and VLAN tag
_LONGEST_NAME = 15  # IFNAMSIZ without the zero

# Errors if the privilege is missing, the device cannot be written, or the interface belongs to another user.
_REFUSED = (errno.EPERM, errno.EACCES)
# The interface is down; its queue is full; the frame is shorter than an Ethernet header.
_LOST = (errno.EIO, errno.EAGAIN, errno.ENOBUFS, errno.EINVAL, errno.ENOMEM)


class Tap:
    """An open TAP interface, which exists already or is created here and vanishes at the end.

    Parameters
    ----------
    name
        Its name.

    Raises
    ------
    UsageError
        If it cannot be opened; the hint says what to run.
    """

    def __init__(self, name: str) -> None:
        _check_name(name)
        self.name = name
        existed = _exists(name)
        try:
            self._fd = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _no_device(error, name) from None
        try:
            _ioctl(self._fd, _TUNSETIFF, name, _IFF_TAP | _IFF_NO_PI)
        except OSError as error:
            os.close(self._fd)
            raise _not_attached(error, name, existed=existed) from None
        self.is_up = _set_up(name)

    def fileno(self) -> int:
        """The file descriptor, for `select`."""
        return self._fd

    def read(self) -> bytes | None:
        """The next frame that the kernel has sent; None if there is none."""
        try:
            return os.read(self._fd, _MOST_BYTES)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in (errno.EBADFD, errno.EIO):
                raise UsageError(f"{self.name}: the interface is gone", hint=_hint(self.name)) from None
            raise

    def write(self, frame: bytes) -> bool:
        """Let a frame arrive at the kernel. Returns false if the interface is down or takes no more frames."""
        try:
            os.write(self._fd, frame)
        except OSError as error:
            if error.errno == errno.EBADFD:
                raise UsageError(f"{self.name}: the interface is gone", hint=_hint(self.name)) from None
            if error.errno not in _LOST:
                raise
            return False
        return True

    def close(self) -> None:
        """Detach from it."""
        os.close(self._fd)

    def __enter__(self) -> Tap:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_name(name: str) -> None:
    if not sys.platform.startswith("linux"):
        raise UsageError(f"{name}: {sys.platform} has no TAP interfaces", hint="spinet attach needs Linux")
    if len(name.encode()) > _LONGEST_NAME:
        raise UsageError(f"the interface name {name} has {len(name.encode())} bytes, must have at most {_LONGEST_NAME}")
    if name in ("", ".", "..") or re.search(r"[\s/:%]", name):
        raise UsageError(f"{name!r} is not the name of an interface", hint="choose one such as spin0")


def _exists(name: str) -> bool:
    return any(name == known for _number, known in socket.if_nameindex())


def _no_device(error: OSError, name: str) -> UsageError:
    if error.errno in _REFUSED:
        return UsageError(f"{name}: no permission to open {DEVICE}", hint=f"sudo chmod 666 {DEVICE}, and {_hint(name)}")
    if error.errno in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return UsageError(
            f"{name}: there is no {DEVICE}", hint=f"sudo modprobe tun; in a container, start it with --device {DEVICE}"
        )
    return UsageError(f"{name}: {DEVICE}: {error.strerror}")


def _not_attached(error: OSError, name: str, *, existed: bool) -> UsageError:
    if error.errno in _REFUSED:
        what = "the interface belongs to another user" if existed else "no permission to create the interface"
        remove = f"sudo ip link delete {name}; " if existed else ""
        return UsageError(f"{name}: {what}", hint=remove + _hint(name))
    if error.errno == errno.EBUSY:
        return UsageError(f"{name}: another program is attached to the interface", hint="end it, or name another")
    if error.errno == errno.EINVAL and existed:
        return UsageError(f"{name} is an interface of another kind, must be a TAP", hint="name one that does not exist")
    return UsageError(f"{name}: {error.strerror}", hint=_hint(name))


def _hint(name: str) -> str:
    """The command that makes an interface for this user."""
    with contextlib.suppress(KeyError, OSError):  # a user without a name
        return f"sudo ip tuntap add {name} mode tap user {getpass.getuser()} && sudo ip link set {name} up"
    return f"sudo ip tuntap add {name} mode tap user {os.getuid()} && sudo ip link set {name} up"


def _set_up(name: str) -> bool:
    """Set the interface up. Returns false if it is down and this user lacks the privilege."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = _ioctl(control.fileno(), _SIOCGIFFLAGS, name, 0)
        if flags & _IFF_UP:
            return True
        try:
            _ioctl(control.fileno(), _SIOCSIFFLAGS, name, flags | _IFF_UP)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            return False
    return True


def _ioctl(fd: int, request: int, name: str, flags: int) -> int:
    """A request about an interface; its flags afterwards."""
    import fcntl  # exists only on Unix

    answer = fcntl.ioctl(fd, request, _REQUEST.pack(name.encode(), flags))
    found: int = _REQUEST.unpack(answer)[1]
    return found


def queue_drops(name: str) -> int | None:
    """Frames that the kernel dropped because nobody read them in time; None if the interface has moved to another name
    space.
    """
    for line in Path("/proc/net/dev").read_text().splitlines():
        interface, colon, counts = line.partition(":")
        if colon and interface.strip() == name:
            return int(counts.split()[11])
    return None
