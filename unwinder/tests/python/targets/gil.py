"""Threads that fight for the interpreter lock, or (argument `quiet`) that wait for everything but that.

Prints `ready`, as JSON, when all of them run or are about to wait.
"""
import json
import os
import queue
import sys
import threading
import time


def spin():
    while True:
        pass


def wait_lock(lock=threading.Lock()):
    lock.acquire()
    lock.acquire()


def wait_condition(condition=threading.Condition()):
    with condition:
        condition.wait()


def wait_queue():
    queue.Queue().get()


def wait_event():
    threading.Event().wait(1000)


def sleep():
    time.sleep(1000)


jobs = [spin] * 3 if sys.argv[1:] == ["fight"] else [wait_lock, wait_condition, wait_queue, wait_event, sleep]
started = threading.Semaphore(0)
for job in jobs:
    threading.Thread(target=lambda job=job: (started.release(), job()), daemon=True).start()
for _ in jobs:
    started.acquire()
print(json.dumps("ready"), flush=True)
os.read(0, 1)
