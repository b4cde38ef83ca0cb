"""`family.py PROGRAM ARGS...`: a Python that starts PROGRAM (fork and exec) and two multiprocessing workers
(fork alone), all of which compute until their input or their parent ends. Its truth: their pids."""
import json
import multiprocessing
import os
import subprocess
import sys


def worker_computes(ready):
    ready.set()
    total = 0
    parent = os.getppid()
    while os.getppid() == parent:
        for i in range(100000):
            total += i


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    workers = []
    for _ in range(2):
        ready = context.Event()
        worker = context.Process(target=worker_computes, args=(ready,), daemon=True)
        worker.start()
        ready.wait()
        workers.append(worker)
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdout.readline()
    print("ready", flush=True)
    for line in sys.stdin:
        pids = {"program": program.pid, "workers": [worker.pid for worker in workers]}
        print(json.dumps(pids), flush=True)
    for worker in workers:
        worker.terminate()
    program.stdin.close()
    program.wait()
