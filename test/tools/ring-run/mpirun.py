"""A process for each rank, started by MPI, which needs no variable but its own."""
# REQUIRES: mpi
# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %t %ring_obj_root/lib/libring_vgpu_processes.so %mpirun

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
from processes import FLAGS, free_port, world
from ring_run import ATTENTION, report

folder, library, mpirun = sys.argv[1:]


def run(processes, *arguments, **variables):
    """Exit code, stdout and stderr of all processes."""
    done = subprocess.run(
        [mpirun, "-n", str(processes), "ring-run", ATTENTION, *FLAGS, *arguments],
        env=world(folder, library)
        | {
            # Open MPI asks to be told that it may do what it is to do here.
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
        }
        | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


for ranks in 2, 3, 4:
    code, stdout, stderr = run(ranks, f"--ranks={ranks}", "--check", "--json")
    assert code == 0, (stdout, stderr)
    got = json.loads(stdout)
    here = report(ATTENTION, f"--ranks={ranks}", "--random=1")
    for key in "ranks transfers bytes_per_rank balance ok".split():
        assert got[key] == here[key], (key, got, here)

# Where rank 0 is, whoever knows it better may say.
port = str(free_port())
code, stdout, stderr = run(2, "--ranks=2", MASTER_ADDR="127.0.0.1", RING_PORT=port)
assert code == 0, stderr
code, stdout, stderr = run(2, "--ranks=2", "--deadline=1", MASTER_ADDR="ring.invalid", RING_PORT=port)
assert code != 0 and f"no connection to ring.invalid:{port} within 1 s" in stderr, stderr
code, stdout, stderr = run(2, "--ranks=2", RING_PORT="0")
assert code != 0 and "rank 0 cannot listen: RING_PORT='0' names no port" in stderr, stderr

code, stdout, stderr = run(2, "--ranks=3")
assert code != 0 and "a ring of 3 ranks in a world of 2 processes" in stderr, stderr
code, stdout, stderr = run(2, "--ranks=2", RING_MPI_LIBRARY="/nowhere/libring_mpi.so")
assert code != 0 and "there is no libring_mpi.so" in stderr, stderr
# Each process for itself, with both ranks as threads.
code, stdout, stderr = run(2, "--ranks=2", RING_BOOTSTRAP="none", RING_VGPU_LIBRARY="")
assert code == 0 and stdout.count("result          ok") == 2, (stdout, stderr)
