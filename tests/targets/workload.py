"""The reference workload: `workload.py LIBRARY BUSY IDLE`, a Python main thread that takes training-like steps beside
BUSY working and IDLE waiting C++ threads.

Follows the protocol of README.md in this folder; its truth is its throughput so far: steps of the Python thread,
lookups of the C++ threads, CPU time. What a profiler takes from these rates is the harm it does."""
import ctypes
import json
import os
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1])
library.workload_lookup.restype = ctypes.c_double
library.workload_lookups.restype = ctypes.c_long
steps = 0


def forward(layer):
    if layer == 0:
        library.workload_lookup(20000)
        return sum(i * i for i in range(500))
    return forward(layer - 1)


def train():
    global steps
    while True:
        forward(25)
        steps += 1


def answer():
    print("ready", flush=True)
    for _ in sys.stdin:
        cpu = os.times()
        truth = {"wall_ns": time.monotonic_ns(), "steps": steps, "lookups": library.workload_lookups(),
                 "cpu_s": cpu.user + cpu.system}
        print(json.dumps(truth), flush=True)
    os._exit(0)


if __name__ == "__main__":
    library.workload_start(int(sys.argv[2]), int(sys.argv[3]))
    threading.Thread(target=answer, daemon=True).start()
    train()
