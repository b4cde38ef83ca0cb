"""`tree.py WORK`: the thread `tree` runs through a binary tree of calls under a deep prefix, without end and without
ever resting; at its leaves it counts to WORK. Tells all its calls: {"calls": [[caller, line, callee], ...]}."""
import json
import os
import sys
import threading

PREFIX, DEPTH = 20, 8
lines, calls = [], []


def function(name, first, second):
    lines.extend([f"def {name}():", f"    {first}()", f"    {second}()"])
    calls.extend([name, len(lines) - 1 + at, callee] for at, callee in enumerate((first, second)))


for side in "lr":
    lines.extend([f"def {side}0():", f"    for _ in range({int(sys.argv[1])}): pass"])
    for level in range(1, DEPTH + 1):
        function(f"{side}{level}", f"l{level - 1}", f"r{level - 1}")
for level in range(PREFIX):
    below = (f"prefix{level - 1}",) * 2 if level else (f"l{DEPTH}", f"r{DEPTH}")
    function(f"prefix{level}", *below)
exec(compile("\n".join(lines), "tree", "exec"))


def forever(top=globals()[f"prefix{PREFIX - 1}"]):
    while True:
        top()


threading.Thread(target=forever, name="tree", daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps({"calls": calls}), flush=True)
os._exit(0)
