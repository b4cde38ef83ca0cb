"""The planted bottlenecks: their parameters, where each one is switched on, and what a right profile of it shows."""

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Finding:
    """One thing that a right profile shows.

    The share is the weight of the matching samples over the weight of all samples of the matching threads, in the
    processes of `role` (only of `rank`, when that is given). `timers` measure the same share from inside the
    process: their summed time over span x number of matching threads. It is None where no timer can."""

    role: str  # "ps" or "trainer"
    thread: str  # regular expression on the thread's name, or "main" for the process's first thread
    frames: tuple[str, ...]  # regular expressions; each must match some frame of the stack
    state: str  # "on-cpu", "off-cpu", "gil-wait" or "any"
    minimum_share: float
    maximum_share: float
    means: str
    rank: int | None = None
    other_ranks: int | None = None  # every rank but this one
    timers: tuple[str, ...] | None = None


@dataclass(frozen=True)
class FaultKind:
    name: str
    side: str  # who is told: "server", "client" (the trainer's op), "trainer" or "environment"
    about: str
    defaults: dict = field(default_factory=dict)
    needs_prefetch: bool = False
    needs_trainers: int = 1
    needs_servers: int = 1
    needs_rocksdb: bool = False
    # The demonstration begins when this line has been printed, if not as soon as the trainers are ready.
    begins_with: str = ""

    def findings(self, parameters: dict) -> list[Finding]:
        return FINDINGS[self.name](parameters)


@dataclass(frozen=True)
class Fault:
    kind: FaultKind
    parameters: dict

    @property
    def trainers(self) -> int:
        """How many ranks it takes: the one that is named, and another."""
        rank = self.parameters.get("rank")
        return self.kind.needs_trainers if rank is None else max(2, rank + 1)

    @property
    def text(self) -> str:
        """The fault as the programs take it: name:k=v,..."""
        pairs = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.kind.name}:{pairs}" if pairs else self.kind.name

    def findings(self) -> list[dict]:
        return [{"fault": self.kind.name, **asdict(finding)} for finding in self.kind.findings(self.parameters)]


def parse_fault(text: str) -> Fault:
    """`name[:key=value,...]`. Raises ValueError with the part that is wrong."""
    name, _, rest = text.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        raise ValueError(f"unknown fault '{name}' (there are {', '.join(sorted(KINDS))})")
    parameters = dict(kind.defaults)
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or key not in kind.defaults:
            known = ", ".join(kind.defaults) or "none"
            raise ValueError(f"fault {name}: '{pair}' is not key=value with a known key ({known})")
        try:
            parameters[key] = type(kind.defaults[key])(value)
        except ValueError:
            expected = type(kind.defaults[key]).__name__
            raise ValueError(f"fault {name}: {key}={value} is not of type {expected}") from None
        if parameters[key] < 0:
            raise ValueError(f"fault {name}: {key}={value} is negative")
    return Fault(kind, parameters)


KINDS = {
    kind.name: kind
    for kind in (
        FaultKind(
            "shard-lock",
            "server",
            "one mutex for all shards, held over an off-CPU wait",
            {"hold_us": 2000},
            needs_trainers=4,
        ),
        FaultKind(
            "device-query",
            "client",
            "a slow system call under a cross-process lock before each read, on ps-io",
            {"reps": 100},
            needs_prefetch=True,
        ),
        FaultKind(
            "gil-loader", "trainer", "Python threads that parse text with the GIL held", {"threads": 4, "mult": 24}
        ),
        FaultKind("slow-rank", "trainer", "one rank sleeps in each step", {"rank": 1, "ms": 30}),
        FaultKind(
            "hang-rank",
            "trainer",
            "one rank stops for ever",
            {"rank": 2, "step": 30},
            begins_with="TRAINER hangs",
        ),
        FaultKind(
            "hang-server",
            "server",
            "handlers wait for a lock that is never released",
            {"after": 300},
            begins_with="PS hangs",
        ),
        FaultKind("blas-spin", "environment", "OpenBLAS's pool spins while it waits for work", {"threads": 2}),
        FaultKind("nested-vector", "client", "gradients copied through a vector of vectors, float by float"),
        FaultKind("hot-shard", "client", "most keys live on server 0", {"skew": 0.9}, needs_servers=2),
        FaultKind("wal-sync", "server", "RocksDB writes its log to disk in each batch", needs_rocksdb=True),
    )
}


def _shard_lock(_parameters: dict) -> list[Finding]:
    return [
        Finding(
            "ps",
            r"ps-worker-\d+",
            (r"ForShards", r"(pthread_mutex_lock|lll_lock_wait)"),
            "off-cpu",
            0.10,
            0.70,
            "workers wait for the one lock",
            timers=("Fault.ShardLock.Wait",),
        ),
        Finding(
            "ps",
            r"ps-worker-\d+",
            (r"ForShards", r"HoldWork"),
            "off-cpu",
            0.08,
            0.30,
            "the holder sleeps with the lock held",
            timers=("Fault.ShardLock.Hold",),
        ),
    ]


def _device_query(_parameters: dict) -> list[Finding]:
    return [
        Finding(
            "trainer",
            r"ps-io",
            (r"QueryDeviceProperties",),
            "any",
            0.25,
            0.98,
            "the I/O thread asks the device before each read",
            timers=("Fault.DeviceQuery.Total",),
        ),
        Finding(
            "trainer",
            "main",
            (r"Worker::Wait",),
            "off-cpu",
            0.10,
            0.95,
            "the Python thread waits for the I/O thread",
            timers=("OP.Wait",),
        ),
    ]


def _gil_loader(parameters: dict) -> list[Finding]:
    return [
        Finding(
            "trainer",
            "main",
            (r"Trainer\.train",),
            "gil-wait",
            0.40,
            1.0,
            "the main thread waits for the GIL",
        ),
        Finding(
            "trainer",
            r"loader-\d+",
            (r"parse_lines",),
            "any",
            0.90,
            1.0,
            f"{parameters['threads']} loaders parse, one at a time",
        ),
    ]


def _slow_rank(parameters: dict) -> list[Finding]:
    rank = parameters["rank"]
    return [
        Finding(
            "trainer",
            "main",
            (r"slow_step",),
            "off-cpu",
            0.40,
            0.98,
            "the odd one out sleeps",
            rank=rank,
            timers=("Fault.SlowRank.Sleep",),
        ),
        Finding(
            "trainer",
            "main",
            (r"all_reduce",),
            "off-cpu",
            0.30,
            0.98,
            "the others wait for it",
            other_ranks=rank,
            timers=("Trainer.AllReduce.Total",),
        ),
    ]


def _hang_rank(parameters: dict) -> list[Finding]:
    rank = parameters["rank"]
    return [
        Finding("trainer", "main", (r"hang_here",), "off-cpu", 0.99, 1.0, "this rank hangs", rank=rank),
        Finding("trainer", "main", (r"all_reduce",), "off-cpu", 0.99, 1.0, "the others wait", other_ranks=rank),
    ]


def _hang_server(_parameters: dict) -> list[Finding]:
    return [
        Finding(
            "ps",
            r"ps-worker-\d+",
            (r"Handlers::Common", r"(pthread_mutex_lock|lll_lock_wait)"),
            "off-cpu",
            0.24,
            1.0,
            "one worker per client is stuck",
        ),
        Finding(
            "trainer",
            "main",
            (r"emb_(read|update)|Emb(Read|Update)", r"epoll_wait"),
            "off-cpu",
            0.99,
            1.0,
            "every trainer waits for a reply",
        ),
    ]


def _blas_spin(_parameters: dict) -> list[Finding]:
    return [
        Finding(
            "trainer",
            "main",
            (r"exec_blas_async_wait|sched_yield",),
            "on-cpu",
            0.02,
            0.70,
            "the main thread spins until the pool is done",
        ),
    ]


def _nested_vector(_parameters: dict) -> list[Finding]:
    return [
        Finding(
            "trainer",
            "main",
            (r"BuildVector",),
            "any",
            0.03,
            0.60,
            "the copy shows at all",
            timers=("ClientOp.EmbUpdate.BuildVector",),
        ),
    ]


def _hot_shard(_parameters: dict) -> list[Finding]:
    return [
        Finding(
            "ps",
            r"ps-worker-\d+",
            (r"Handlers::(Get|Update)",),
            "any",
            0.01,
            0.30,
            "server 0 does the work",
            rank=0,
            timers=("PS.GetParameter.Handle", "PS.UpdateParameter.Handle"),
        ),
        Finding(
            "ps",
            r"ps-worker-\d+",
            (r"Handlers::(Get|Update)",),
            "any",
            0.0,
            0.006,
            "the others have little to do",
            other_ranks=0,
            timers=("PS.GetParameter.Handle", "PS.UpdateParameter.Handle"),
        ),
    ]


def _wal_sync(_parameters: dict) -> list[Finding]:
    return [
        Finding(
            # Any state: with a fast disk and busy CPUs, most of the call is the wait for a CPU after it.
            "ps",
            r"ps-worker-\d+",
            (r"KVPutAll", r"fdatasync"),
            "any",
            0.005,
            0.90,
            "the handler waits for the disk",
        ),
    ]


FINDINGS = {
    "shard-lock": _shard_lock,
    "device-query": _device_query,
    "gil-loader": _gil_loader,
    "slow-rank": _slow_rank,
    "hang-rank": _hang_rank,
    "hang-server": _hang_server,
    "blas-spin": _blas_spin,
    "nested-vector": _nested_vector,
    "hot-shard": _hot_shard,
    "wal-sync": _wal_sync,
}
