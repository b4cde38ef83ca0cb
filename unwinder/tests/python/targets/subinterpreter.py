"""Runs code in an interpreter of its own, made in the main thread; that code says what its stack is, as JSON, and
reads a byte on the same line. Prints `null` where this Python has no module for that.
"""
CODE = """
import json, os, sys
def chain(frame):
    found = []
    while frame is not None:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found
def inside():
    os.write(1, json.dumps(chain(sys._getframe())).encode() + b"\\n"); os.read(0, 1)
inside()
"""


def outside(interpreters):
    interpreters.run_string(interpreters.create(), CODE)


try:
    try:
        import _interpreters
    except ImportError:
        import _xxsubinterpreters as _interpreters
except ImportError:
    print("null", flush=True)
else:
    outside(_interpreters)
