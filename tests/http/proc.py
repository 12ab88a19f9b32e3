"""What the kernel says of the daemon's process: memory and descriptors.

It reads /proc and judges nothing."""

import os

MIB = 1 << 20


def memory(pid, name):
    """Bytes of a field of /proc/PID/status, such as VmRSS or VmHWM (its peak)."""
    with open(f"/proc/{pid}/status") as status:
        for line in status:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise ValueError(f"no {name}")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def is_sanitized(pid):
    """A sanitizer keeps freed memory and shadows the rest, so that sizes say nothing."""
    with open(f"/proc/{pid}/maps") as maps:
        return any("libasan" in line or "libtsan" in line for line in maps)
