"""Child processes: start, wait for a line with a timeout, stop. Only our own children are ever signalled."""

import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

EXIT_SKIPPED = 77
STOP_GRACE_SECONDS = 3.0
TAIL_LINES = 20


class DemoError(Exception):
    """What went wrong, for the user; `help` is the next thing to try."""

    def __init__(self, message: str, help: str = ""):
        super().__init__(message)
        self.help = help


class Skip(Exception):
    """A tier is missing: not a failure. The text is the line that installs it."""


class StartupFailure(DemoError):
    """`phase` is startup-timeout or startup-crash."""

    def __init__(self, phase: str, message: str, child: "Child"):
        super().__init__(message)
        self.phase = phase
        self.child = child


def status(phase: str, text: str = "") -> None:
    print(f"ps-demo: phase={phase} {text}".rstrip(), file=sys.stderr, flush=True)


class Child:
    """A process whose output goes to a log file, line by line, and can be waited for."""

    def __init__(self, name: str, argv: list[str], log: Path, env: dict[str, str] | None = None):
        self.name = name
        self.argv = argv
        self.log = log
        self.lines: deque[str] = deque(maxlen=10000)
        self._changed = threading.Condition()
        self._ended = False
        # setpriv: the child dies with us even if we are killed.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def tail(self) -> str:
        return "\n".join(f"    {line}" for line in list(self.lines)[-TAIL_LINES:])

    def find(self, pattern: str) -> re.Match | None:
        return next((match for line in list(self.lines) if (match := re.search(pattern, line))), None)

    def count(self, pattern: str) -> int:
        return sum(1 for line in list(self.lines) if re.search(pattern, line))

    def wait_for_line(self, pattern: str, timeout: float, times: int = 1) -> re.Match:
        """The first line that matches, once `times` lines do. Raises StartupFailure if the process ends before, or
        the time is over."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                if self.count(pattern) >= times:
                    return self.find(pattern)
                if self._ended:
                    code = self.process.wait()
                    raise StartupFailure(
                        "startup-crash", f"{self.name} ended with code {code} before '{pattern}'", self
                    )
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise StartupFailure(
                        "startup-timeout", f"{self.name} did not print '{pattern}' within {timeout:g} s", self
                    )
                self._changed.wait(remaining)

    def wait(self, timeout: float | None) -> int | None:
        """The exit code, or None if the process still runs after `timeout` seconds."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        self._reader.join()
        return code

    def request_stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()

    def finish_stop(self, deadline: float) -> int:
        """Waits until `deadline` (monotonic seconds), then kills."""
        code = self.wait(max(0.0, deadline - time.monotonic()))
        if code is None:
            self.process.kill()
            code = self.wait(None)
        return code

    def _read(self) -> None:
        with open(self.log, "w") as log, self.process.stdout as output:
            for line in output:
                log.write(line)
                log.flush()
                with self._changed:
                    self.lines.append(line.rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def stop_all(children: list[Child], grace: float = STOP_GRACE_SECONDS) -> dict[str, int]:
    """Stops all children together: SIGTERM, after `grace` seconds SIGKILL. Returns the exit codes by name."""
    for child in children:
        child.request_stop()
    deadline = time.monotonic() + grace
    return {child.name: child.finish_stop(deadline) for child in children}


def guarded(run) -> int:
    """Calls `run`, and turns what it raises into a message for the user and an exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return run()
    except Skip as skip:
        print(f"skipped: {skip}", file=sys.stderr)
        return EXIT_SKIPPED
    except StartupFailure as failure:
        child = failure.child
        status(failure.phase, str(failure))
        print(f"error: {failure}\nlast lines of {child.name} ({child.log}):\n{child.tail()}", file=sys.stderr)
    except DemoError as error:
        print(f"error: {error}" + (f"\nhelp: {error.help}" if error.help else ""), file=sys.stderr)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 1
