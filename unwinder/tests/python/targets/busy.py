"""Runs, without ever resting, functions of which it says who calls whom: JSON [[caller, callee], ...]."""
import functools
import json
import sys

EDGES = [
    ["<module>", "main"], ["main", "tree"], ["tree", "tree"], ["tree", "leaf"], ["tree", "by_sorting"],
    ["by_sorting", "key"], ["key", "leaf"], ["tree", "by_reducing"], ["by_reducing", "add"], ["add", "Made.__init__"],
    ["Made.__init__", "leaf"], ["tree", "by_generating"], ["by_generating", "generate"], ["generate", "generate"],
    ["generate", "leaf"],
]


def leaf(times=3):
    for _ in range(times):
        pass
    return times


def key(item):
    return leaf(item)


def by_sorting():
    return sorted([3, 1, 2], key=key)


class Made:
    def __init__(self, item):
        self.item = leaf(item)


def add(a, item):
    return a + Made(item).item


def by_reducing():
    return functools.reduce(add, [1, 2, 3])


def generate(depth):
    if depth:
        yield from generate(depth - 1)
    yield leaf()


def by_generating():
    return sum(generate(3)) + len(list(generate(2)))


def tree(depth):
    if depth == 0:
        leaf()
        by_sorting()
        by_reducing()
        by_generating()
        return
    tree(depth - 1)
    tree(depth - 1)


def main():
    while True:
        tree(12)


if sys.version_info < (3, 11):
    EDGES = [[caller.split(".")[-1], callee.split(".")[-1]] for caller, callee in EDGES]
print(json.dumps(EDGES), flush=True)
main()
