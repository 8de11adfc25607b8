"""Runs a command with a stack of so many KiB.

usage: with_stack.py KIB COMMAND...
"""

import os
import resource
import sys

size = int(sys.argv[1]) * 1024
resource.setrlimit(resource.RLIMIT_STACK, (size, size))
os.execvp(sys.argv[2], sys.argv[2:])
