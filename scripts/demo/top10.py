"""The ten functions with most time in a speedscope file: `top10.py FILE`."""
import collections
import json
import sys


def main(path):
    with open(path) as file:
        profile = json.load(file)
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    own, whole, waiting = (collections.Counter() for _ in range(3))
    for thread in profile["profiles"]:
        for stack, weight_ns in zip(thread["samples"], thread["weights"]):
            functions = [names[frame] for frame in stack]
            # The last frame of a thread that is not running is its state, as `[blocked: futex]`.
            state = functions.pop() if functions and functions[-1].startswith("[") else None
            if not functions:
                continue
            own[functions[-1]] += weight_ns
            if state:
                waiting[functions[-1], state] += weight_ns
            # A recursive function's time counts once.
            whole.update(dict.fromkeys(functions, weight_ns))
    shown_ns = sum(own.values())
    print(f"{'own time':>10}{'':>7}{'with callees':>14}  function, and what it waited for")
    for function, own_ns in own.most_common(10):
        states = ((waiting[function, state], state) for other, state in waiting if other == function)
        most_ns, state = max(states, default=(0, ""))
        note = f"  {state} {most_ns / own_ns:.0%}" if most_ns > own_ns / 10 else ""
        print(f"{own_ns / 1e9:>8.2f} s{own_ns / shown_ns:>7.1%}{whole[function] / 1e9:>12.2f} s  {function}{note}")


if __name__ == "__main__":
    main(sys.argv[1])
