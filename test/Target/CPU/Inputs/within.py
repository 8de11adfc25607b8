"""Runs a command; fails if it fails or takes longer than so many seconds.

usage: within.py SECONDS COMMAND...
"""

import subprocess
import sys
import time

begin = time.monotonic()
code = subprocess.call(sys.argv[2:])
seconds = time.monotonic() - begin
print(f"{seconds:.2f} s, limit {sys.argv[1]} s")
sys.exit(code or seconds > float(sys.argv[1]))
