"""`gil.py THREADS`: pure Python threads that compute, and so fight for the GIL.

A thread that only computes is on a CPU, waits for one, or waits for the GIL. The scheduler counts the first two, so
the third is the rest of the wall clock: a truth that needs no look at the interpreter."""
import json
import os
import sys
import threading
import time

tids = []
running = threading.Barrier(int(sys.argv[1]) + 1)


def compute():
    tids.append(threading.get_native_id())
    running.wait()
    total = 0
    while True:
        total = (total * 31 + 7) % 1000003


def scheduler_counters(tid):
    with open(f"/proc/self/task/{tid}/schedstat") as file:
        cpu_ns, wait_ns, _ = map(int, file.read().split())
    return {"cpu_ns": cpu_ns, "wait_ns": wait_ns}


for _ in range(int(sys.argv[1])):
    threading.Thread(target=compute, daemon=True).start()
running.wait()
print("ready", flush=True)
for line in sys.stdin:
    threads = {tid: scheduler_counters(tid) for tid in tids}
    print(json.dumps({"wall_ns": time.monotonic_ns(), "threads": threads}), flush=True)
os._exit(0)
