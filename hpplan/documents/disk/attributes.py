"""What a file has beside its content: owner, group, mode, access control lists and extended attributes."""

from __future__ import annotations

import os
import stat
import struct
from contextlib import suppress

_ACL = "system.posix_acl_access"
_OWNING_GROUP, _OTHERS = 0x04, 0x20
"""Tags of its entries, as the kernel has them: a version, then tag, permissions and id of each."""


def keep_attributes(descriptor: int, path: str, status: os.stat_result) -> None:
    """Give a new file what the file at `path` has, which it is to replace.

    Owner and group are kept as far as this process may. Raises OSError where
    an access control list or an attribute of the user's is lost.
    """
    mode = stat.S_IMODE(status.st_mode)
    fresh = os.fstat(descriptor)
    if fresh.st_gid != status.st_gid:
        try:
            os.fchown(descriptor, -1, status.st_gid)
        except OSError:
            # To another group the file is open no further than to everyone.
            mode = mode & ~(stat.S_ISGID | stat.S_IRWXG) | (mode & stat.S_IRWXO) << 3
    if fresh.st_uid != status.st_uid:
        try:
            os.fchown(descriptor, status.st_uid, -1)
        except OSError:
            mode &= ~stat.S_ISUID
    kept = _extended(path)
    if _ACL in kept and os.fstat(descriptor).st_gid != status.st_gid:
        kept[_ACL] = _of_another_group(kept[_ACL])
    if _ACL not in kept and _ACL in _extended(descriptor):
        # The folder gives it to new files.
        os.removexattr(descriptor, _ACL)
    os.fchmod(descriptor, mode)
    for name, value in kept.items():
        try:
            os.setxattr(descriptor, name, value)
        except OSError:  # noqa: PERF203 - of a few
            # Others are the system's own: labels, striping, checksums.
            if name == _ACL or name.startswith("user."):
                raise


def _of_another_group(acl: bytes) -> bytes:
    """Leave the owning group of a list no more than everyone else has."""
    entries = [struct.unpack_from("<HHI", acl, at) for at in range(4, len(acl), 8)]
    most = next(allowed for tag, allowed, _ in entries if tag == _OTHERS)
    return acl[:4] + b"".join(
        struct.pack("<HHI", tag, allowed & most if tag == _OWNING_GROUP else allowed, who)
        for tag, allowed, who in entries
    )


def _extended(file: str | int) -> dict[str, bytes]:
    attributes: dict[str, bytes] = {}
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(file):
                with suppress(OSError):
                    attributes[name] = os.getxattr(file, name)
    return attributes
