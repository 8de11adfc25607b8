"""Running `ring-run` as a process for each rank, on virtual GPUs whose NCCL
reaches across processes."""

import json
import os
import socket
import subprocess
import tempfile

from ring_run import CRASH

FLAGS = ["--device=vgpu", "--transport=nccl", "--random=1"]


def world(folder, library):
    """What all processes of a world need in the environment."""
    return {
        **os.environ,
        "RING_VGPU_LIBRARY": library,
        "RING_PROCESS_NCCL": tempfile.mkdtemp(dir=folder),
    }


def free_port():
    with socket.socket() as listener:
        listener.bind(("", 0))
        return listener.getsockname()[1]


def ranks_run(ranks, *arguments, folder, library, code=0, present=None):
    """stdout and stderr of each rank, started as torchrun would; fails unless
    all end with `code`. `present`: the ranks that are started."""
    common = world(folder, library) | {
        "WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "127.0.0.1",
        "RING_PORT": str(free_port()),
    }
    line = ["ring-run", *FLAGS, *arguments]
    running = [
        subprocess.Popen(
            line,
            env=common | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (range(ranks) if present is None else present)
    ]
    said = [process.communicate(timeout=120) for process in running]
    for process, (stdout, stderr) in zip(running, said):
        text = f"{' '.join(line)}\nexit {process.returncode}\n{stdout}{stderr}"
        assert process.returncode == code, f"expected exit {code}: {text}"
        assert not CRASH.search(stderr), text
    return said


def only_report(said):
    """The --json of rank 0, the only one that prints."""
    assert all(stdout == "" for stdout, _ in said[1:]), said
    return json.loads(said[0][0])
