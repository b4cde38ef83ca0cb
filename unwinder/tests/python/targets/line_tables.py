"""Prints the line tables of all code objects of many modules of the standard library, one JSON object per line:
{"first": co_firstlineno, "table": hex, "size": bytes of bytecode, "lines": [[start, end, line or null], ...]}
"""
import dis
import json
import os
import sys
import types

MODULES = """argparse ast asyncio/base_events asyncio/tasks bdb calendar cgitb codecs collections/__init__ copy csv
    dataclasses datetime decimal difflib dis doctest email/message enum fractions ftplib functools gettext gzip
    heapq html/parser http/client http/server imaplib inspect ipaddress json/decoder locale logging/__init__ mailbox
    multiprocessing/pool nntplib optparse os pathlib pdb pickle pickletools platform plistlib pprint random re
    sched selectors shutil smtplib socket sqlite3/__init__ ssl statistics string subprocess tarfile tempfile
    textwrap threading tokenize traceback turtle typing unittest/mock urllib/request uuid warnings weakref
    xml/dom/minidom xmlrpc/client zipfile""".split()

# Long lines apart, backward steps, and many entries that do not fit into one byte.
HARD = "def far():\n    x = (1,\n" + "\n" * 700 + "      far(), f(a,\n   " + "\n" * 300 + " b))\n    return x\n" + (
    "def wide():\n    return [\n" + "".join("      f(%d,\n   g(%d)),\n" % (n, n) for n in range(500)) + "    ]\n")


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for inner in codes(constant):
                yield inner


def lines(code):
    if hasattr(code, "co_lines"):
        return list(code.co_lines())
    starts = list(dis.findlinestarts(code))
    ends = [start for start, _ in starts[1:]] + [len(code.co_code)]
    return [(start, end, line) for (start, line), end in zip(starts, ends)]


library = os.path.dirname(os.__file__)
sources = [HARD]
for name in MODULES:
    path = os.path.join(library, name + ".py")
    if os.path.exists(path):
        sources.append(open(path, encoding="utf-8").read())
for source in sources:
    for code in codes(compile(source, "<source>", "exec")):
        table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
        print(json.dumps({
            "first": code.co_firstlineno, "table": table.hex(), "size": len(code.co_code), "lines": lines(code),
        }))
