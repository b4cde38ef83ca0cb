"""One rank of the trainer: reads embeddings from the servers, trains the dense model, sends the gradients back.

Started by `python3 -m ps_demo run`, once per rank. Prints `TRAINER ready` after the first steps, and one line
`TRAINER done ...` at the end. A step is one call of `Trainer.train_step`, which is how a profiler finds it."""

import argparse
import os
import signal
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import torch.distributed as dist

import torch

from . import clicks, marks
from .faults import parse_fault
from .loader import BatchLoader, TextParsers
from .marks import mark
from .model import Dlrm

READY_AFTER_STEPS = 5
WRITE_CHUNK_ROWS = 16384


class SharedRead:
    """One read on ps-io for several batches (--fuse-k): waited for by the first of them, kept for the others."""

    def __init__(self, keys: torch.Tensor):
        self.ticket: int | None = torch.ops.psdemo.emb_read_async(keys)
        self.rows = torch.empty(0)

    def wait(self) -> torch.Tensor:
        if self.ticket is not None:
            self.rows = torch.ops.psdemo.wait(self.ticket)
            self.ticket = None
        return self.rows


@dataclass
class Prepared:
    """A batch with what is known about its embeddings."""

    batch: clicks.Batch
    keys: torch.Tensor  # each key once
    inverse: torch.Tensor  # which of `keys` each feature uses
    read: SharedRead | None = None
    rows_of_read: torch.Tensor | None = None  # which of the read's rows belong to `keys`


class Trainer:
    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.step = 0
        self.stop_requested = False
        self.faults = {fault.kind.name: fault.parameters for fault in map(parse_fault, args.fault)}
        torch.manual_seed(1)  # every rank starts from the same dense model
        self.model = Dlrm(args.tables, args.dim)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.learning_rate)
        self.loss_function = torch.nn.BCEWithLogitsLoss()
        data = clicks.generate(args.dataset_size, args.tables, args.rows, seed=100 + args.rank)
        if args.random_dataset:
            data.labels = torch.randint(0, 2, (len(data),)).float()
        self.loader = BatchLoader(data, args.batch_size, seed=200 + args.rank)
        self.pending: deque[Prepared] = deque()  # submitted to ps-io, oldest first
        self.losses: list[float] = []
        if "gil-loader" in self.faults:
            TextParsers(data.batch(slice(0, args.batch_size)), **self.faults["gil-loader"])

    def write_initial_rows(self) -> None:
        generator = torch.Generator().manual_seed(7)
        for keys in clicks.table_keys(self.args.tables, self.args.rows).reshape(-1).split(WRITE_CHUNK_ROWS):
            rows = torch.randn(len(keys), self.args.dim, generator=generator) * 0.05
            torch.ops.psdemo.emb_write(keys, rows)

    def prepare(self) -> Prepared:
        batch = self.loader.next()
        keys, inverse = torch.unique(batch.keys.reshape(-1), return_inverse=True)
        return Prepared(batch, keys, inverse)

    def next_with_rows(self) -> tuple[Prepared, torch.Tensor]:
        """The next batch and its embedding rows. With --prefetch, reads run ahead on ps-io."""
        if not self.args.prefetch:
            prepared = self.prepare()
            return prepared, torch.ops.psdemo.emb_read(prepared.keys)
        while len(self.pending) <= (self.args.prefetch_depth - 1) * self.args.fuse_k:
            self.submit_reads()
        prepared = self.pending.popleft()
        return prepared, prepared.read.wait()[prepared.rows_of_read]

    def submit_reads(self) -> None:
        """Reads the rows of the next `fuse_k` batches with one request."""
        group = [self.prepare() for _ in range(self.args.fuse_k)]
        keys, positions = torch.unique(torch.cat([prepared.keys for prepared in group]), return_inverse=True)
        read = SharedRead(keys)
        for prepared, rows in zip(group, positions.split([len(prepared.keys) for prepared in group]), strict=True):
            prepared.read, prepared.rows_of_read = read, rows
            self.pending.append(prepared)

    def send_gradients(self, keys: torch.Tensor, gradients: torch.Tensor) -> None:
        if self.args.prefetch:
            ticket = torch.ops.psdemo.emb_update_async(keys, gradients, self.args.embedding_learning_rate)
            torch.ops.psdemo.wait(ticket)
        else:
            torch.ops.psdemo.emb_update(keys, gradients, self.args.embedding_learning_rate)

    def all_reduce(self, stop: bool) -> bool:
        """Averages the dense gradients over all ranks. The same message carries whether any rank wants to stop, so
        that all of them stop after the same step."""
        parameters = list(self.model.parameters())
        flat = torch.cat([parameter.grad.reshape(-1) for parameter in parameters] + [torch.tensor([float(stop)])])
        with mark("Trainer.AllReduce.Total"):
            dist.all_reduce(flat)
        offset = 0
        for parameter in parameters:
            count = parameter.numel()
            parameter.grad.copy_(flat[offset : offset + count].view_as(parameter))
            parameter.grad.div_(self.args.world_size)
            offset += count
        return bool(flat[-1] > 0)

    def train_step(self, stop: bool) -> bool:
        """One step; returns whether it was the last."""
        with mark("Trainer.NextRows.Total"):
            prepared, rows = self.next_with_rows()
        rows.requires_grad_()
        embeddings = rows[prepared.inverse].view(-1, self.args.tables, self.args.dim)
        self.optimizer.zero_grad()
        loss = self.loss_function(self.model(prepared.batch.dense, embeddings), prepared.batch.labels)
        with mark("Trainer.Backward.Total"):
            loss.backward()
        self.misbehave()
        if self.args.world_size > 1:
            stop = self.all_reduce(stop)
        self.optimizer.step()
        with mark("Trainer.SendGradients.Total"):
            self.send_gradients(prepared.keys, rows.grad)
        self.losses.append(loss.item())
        return stop

    def misbehave(self) -> None:
        slow = self.faults.get("slow-rank")
        if slow is not None and slow["rank"] == self.args.rank:
            slow_step(slow["ms"])
        hang = self.faults.get("hang-rank")
        if hang is not None and hang["rank"] == self.args.rank and self.step >= hang["step"]:
            print(f"TRAINER hangs rank={self.args.rank}", flush=True)
            hang_here()

    def train(self) -> float:
        """Steps until the given number, the given time or a SIGTERM; returns the seconds it took."""
        start = time.monotonic()
        last = False
        while not last:
            self.step += 1
            elapsed = time.monotonic() - start
            stop = self.stop_requested or self.step == self.args.steps or 0 < self.args.duration <= elapsed
            with mark("Trainer.Step.Total"):
                last = self.train_step(stop)
            if self.step == READY_AFTER_STEPS:
                print("TRAINER ready", f"rank={self.args.rank}", f"pid={os.getpid()}", flush=True)
            if self.step % 100 == 0:
                print(f"step={self.step} loss={mean(self.losses[-100:]):.4f}", flush=True)
        return time.monotonic() - start


def slow_step(milliseconds: int) -> None:
    with mark("Fault.SlowRank.Sleep"):
        time.sleep(milliseconds / 1000)


def hang_here() -> None:
    threading.Event().wait()


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m ps_demo trainer", description=__doc__)
    parser.add_argument("--op-library", required=True, help="libpsdemo_op.so")
    parser.add_argument("--servers", required=True, help="host:port,host:port,...")
    parser.add_argument("--transport", default="grpc", choices=["grpc", "ofi"])
    parser.add_argument("--ofi-rendezvous", default="")
    parser.add_argument("--ofi-namespace", default="")
    parser.add_argument("--ofi-provider", default="shm")
    parser.add_argument("--ofi-put", default="read", choices=["read", "push"])
    parser.add_argument("--rpc-timeout-ms", type=int, default=60000)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world-size", type=int, default=1)
    parser.add_argument("--group-file", default="", help="where the ranks find each other; new for each run")
    parser.add_argument("--steps", type=int, default=0, help="0: no limit")
    parser.add_argument("--duration", type=float, default=0, help="seconds; 0: no limit")
    parser.add_argument("--tables", type=int, default=26)
    parser.add_argument("--rows", type=int, default=5000, help="rows of each table")
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--dataset-size", type=int, default=32768, help="samples of each rank")
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--embedding-learning-rate", type=float, default=4.0)
    parser.add_argument("--prefetch", action="store_true", help="RPCs on the thread ps-io")
    parser.add_argument("--prefetch-depth", type=int, default=2, help="reads in flight")
    parser.add_argument("--fuse-k", type=int, default=1, help="batches whose reads share one request")
    parser.add_argument("--random-dataset", action="store_true", help="labels are coin flips: nothing can be learnt")
    parser.add_argument("--trace-file", type=Path, help="write the steps as a trace (Trace Event Format)")
    parser.add_argument("--fault", action="append", default=[], help="a fault of the trainer, name[:k=v,...]")
    parser.add_argument("--op-fault", action="append", default=[], help="a fault of the op, name[:k=v,...]")
    args = parser.parse_args(arguments)
    if args.prefetch_depth < 1 or args.fuse_k < 1:
        parser.error("--prefetch-depth and --fuse-k must be at least 1")
    if args.trace_file and not os.access(args.trace_file.resolve().parent, os.W_OK):
        parser.error(f"--trace-file: cannot write to {args.trace_file.resolve().parent}")
    return args


def connect(args: argparse.Namespace) -> None:
    torch.ops.load_library(args.op_library)
    marks.load(args.op_library)
    torch.ops.psdemo.init(
        args.transport,
        args.servers.split(","),
        args.dim,
        args.rpc_timeout_ms,
        args.op_fault,
        args.ofi_rendezvous,
        args.ofi_namespace,
        args.ofi_provider,
        args.ofi_put,
    )
    if args.world_size > 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group(
            "gloo", init_method=f"file://{args.group_file}", rank=args.rank, world_size=args.world_size
        )


def main(arguments: list[str]) -> int:
    args = parse_arguments(arguments)
    torch.set_num_threads(1)
    try:
        connect(args)
        trainer = Trainer(args)
        signal.signal(signal.SIGTERM, lambda *_: setattr(trainer, "stop_requested", True))
        if args.rank == 0:
            trainer.write_initial_rows()
        if args.world_size > 1:
            dist.barrier()
        if args.trace_file:
            marks.start_trace()
        seconds = trainer.train()
        if args.trace_file:
            marks.write_trace(args.trace_file)
    except (RuntimeError, ValueError, OSError) as error:
        print(f"error: trainer rank {args.rank}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
        return 1
    finally:
        if hasattr(torch.ops.psdemo, "fini"):
            torch.ops.psdemo.fini()
    losses = trainer.losses
    tenth = max(1, len(losses) // 10)
    print(
        f"TRAINER done rank={args.rank} steps={trainer.step} seconds={seconds:.2f} "
        f"steps_per_s={trainer.step / seconds:.1f} first_loss={mean(losses[:tenth]):.4f} "
        f"last_loss={mean(losses[-tenth:]):.4f}",
        flush=True,
    )
    return 0


def run(arguments: list[str]) -> None:
    code = main(arguments)
    # Not sys.exit: the loaders may be inside torch while the interpreter would be taken down around them.
    sys.stdout.flush()
    os._exit(code)
