"""Calls out of code whose line tables are not straightforward, without ever resting.

First says where calls come from, as `sys._getframe` sees it, and which functions have instructions without a line:
JSON {"calls": [[callee, caller, line of the call], ...], "without_line": [function, ...],
"lines_before_start": [line of a generator that has not started, from its first line on, ...]}.
"""
import functools
import json
import sys

calls = set()
without_line = set()


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def note(frame):
    while frame is not None:
        code, back = frame.f_code, frame.f_back
        if back is not None:
            calls.add((name_of(code), name_of(back.f_code), back.f_lineno))
        if hasattr(code, "co_lines") and any(line is None for _, _, line in code.co_lines()):
            without_line.add(name_of(code))
        frame = back


def leaf(item=0):
    if noting: note(sys._getframe())
    for _ in range(20):
        pass
    return item


class Guard:
    def __enter__(self):
        return leaf(self)

    def __exit__(self, *_):
        leaf()
        return True


def handles(depth):
    try:
        raise KeyError(leaf(depth))
    except KeyError as error:
        leaf(error)
    except (ValueError, TypeError) as error:
        leaf(error)
    leaf(
        depth
    )
    try:
        leaf(depth)
    finally:
        leaf(
            1,
        )
    return (leaf(2),
            leaf(3))


def guards(depth):
    with Guard() as guard, \
            Guard():
        leaf(guard)
        raise ValueError(
            leaf(4))
    while depth:
        depth -= 1
        if depth % 2:
            continue
        leaf()
    else:
        leaf(5)
    leaf(6)


def generates():
    for item in range(2):
        try:
            yield leaf(item)
        finally:
            leaf()


def comprehends():
    return [
        leaf(item)
        for item in generates()
        if leaf(item) is not None
    ], {leaf(item) for item in
        [1, 2]}


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(
            *args
        )
    return wrapper


@decorated
def chained(item):
    return leaf(item) + \
        leaf(item) + sum(
            leaf(number)
            for number in (1, 2))


async def awaits():
    async with Async():
        await Async().value()
    leaf()


class Async:
    async def __aenter__(self):
        leaf()

    async def __aexit__(self, *_):
        leaf()

    async def value(self):
        return leaf()


def drives():
    coroutine = awaits()
    try:
        coroutine.send(None)
    except StopIteration as stop:
        leaf(stop)
    leaf()


def defines():
    class Local:
        attribute = leaf(
            1)

        def method(self): return leaf(
            self.attribute)
    Local().method()
    (lambda:
        leaf())()


def once():
    handles(3); guards(3); comprehends(); chained(1)
    drives()
    defines()


noting = True
while True:
    once()
    if noting:
        noting = False
        print(json.dumps({
            "calls": sorted(calls), "without_line": sorted(without_line),
            "lines_before_start": [generator.gi_frame.f_lineno - generator.gi_code.co_firstlineno
                                   for generator in (generates(), (item for item in ()))],
        }), flush=True)
