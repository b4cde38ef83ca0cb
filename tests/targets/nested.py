"""`nested.py LIBRARY BOTTOM`: Python -> sorted -> Python -> reduce -> Python -> C++ -> Python, in one stack of the
thread `nested`, which stays at the bottom for good. BOTTOM: `sleep` and `spin` in Python, `native-wait` and
`native-spin` in C++ again."""
import ctypes
import functools
import os
import sys
import threading
import time

library, where = ctypes.CDLL(sys.argv[1]), sys.argv[2]
at_the_bottom = threading.Event()


def bottom():
    at_the_bottom.set()
    if where == "sleep":
        time.sleep(1e6)
    elif where == "native-wait":
        library.nested_wait()
    elif where == "native-spin":
        library.nested_spin()
    while True:
        pass


@ctypes.CFUNCTYPE(None)
def called_back():
    bottom()


def reduce_step(total, item):
    return library.nested_entry(called_back)


def sort_key(item):
    return functools.reduce(reduce_step, [0, item])


def outermost():
    sorted([1], key=sort_key)


threading.Thread(target=outermost, name="nested", daemon=True).start()
at_the_bottom.wait()
print("ready", flush=True)
for line in sys.stdin:
    print("{}", flush=True)
os._exit(0)
