"""`beside.py LIBRARY`: a Python process whose library runs eight C++ threads that never touch Python."""
import ctypes
import os
import sys

ctypes.CDLL(sys.argv[1]).threads_start()
print("ready", flush=True)
for line in sys.stdin:
    print("{}", flush=True)
os._exit(0)
