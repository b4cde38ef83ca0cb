"""Nests Python functions in every way there is, in several threads, and says what is on each thread's stack.

Prints one line of JSON, {tid: [[name, file, line], ...]}, innermost frame first, as Python itself sees it; then
every thread is in, or about to enter, a read from a pipe on the very line that it named.
"""
import ctypes
import functools
import json
import os
import sys
import threading

gettid = lambda: ctypes.CDLL(None).syscall(186)
chains = {}
ready = threading.Semaphore(0)


def chain(frame):
    found = []
    while frame is not None:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def tell():
    chains[gettid()] = chain(sys._getframe(1))
    ready.release()


def block(pipe):
    tell(); os.read(pipe, 1)


class Outer:
    class Inner:
        def method(self, pipe, deeper):
            return (
                sorted(
                    [3, 1],
                    key=lambda item: item if item == 1 else self.compute(
                        pipe,
                        deeper))
            )

        def compute(self, pipe, deeper):
            def grüße(a, item):
                return deeper(pipe) if item == 2 else a
            return functools.reduce(grüße, [1, 2])


class Built:
    def __init__(self, pipe):
        self.pipe = pipe
        self.value

    @property
    def value(self):
        with Manager(self.pipe) as manager:
            return manager


class Manager:
    def __init__(self, pipe):
        self.pipe = pipe

    def __enter__(self):
        return Table()[self.pipe]

    def __exit__(self, *_):
        pass


class Table(dict):
    def __missing__(self, pipe):
        return list(delegating(pipe))


def delegating(pipe):
    yield 1
    yield from 函数(pipe)


def 函数(pipe):
    for pipe in (pipe,):
        yield run(outer_coroutine(pipe))


def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


async def outer_coroutine(pipe):
    return await inner_coroutine(pipe)


async def inner_coroutine(pipe):
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(in_callback)
    return callback(pipe)


def in_callback(pipe):
    namespace = {"block": block, "pipe": pipe}
    exec(compile("\n\ndef made():\n    block(\n        pipe)\nmade()\n", "<made>", "exec"), namespace)
    return 0


def recurse(pipe, depth):
    if depth == 0:
        return block(pipe)
    return recurse(pipe, depth - 1)


def main():
    never, _writer = os.pipe()
    depth = int(sys.argv[1])
    sys.setrecursionlimit(depth + 1000)
    threading.stack_size(256 << 20)
    jobs = [
        lambda: Outer.Inner().method(never, Built),
        lambda: block(never),
        lambda: recurse(never, depth),
        lambda: list(map(lambda pipe: recurse(pipe, 3), [never])),
    ]
    for job in jobs:
        threading.Thread(target=job, daemon=True).start()
    for _ in jobs:
        ready.acquire()
    chains[gettid()] = chain(sys._getframe()); print(json.dumps(chains), flush=True); os.read(0, 1)


main()
