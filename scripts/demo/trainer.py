"""The workload of scripts/demo.sh: `trainer.py LIBRARY`.

A training loop in the shape of a recommendation model: a loader thread makes batches in pure Python, the main thread
has embeddings looked up by the C++ library's threads, multiplies matrices with numpy, and logs now and then."""
import ctypes
import queue
import random
import sys
import threading
import time

import numpy

library = ctypes.CDLL(sys.argv[1])
library.trainer_embed.restype = ctypes.c_double
weights = numpy.random.default_rng(1).standard_normal((192, 192))
batches = queue.Queue(maxsize=4)


def load_batches():
    while True:
        clicks = sorted(random.randrange(1 << 20) for _ in range(2000))
        batches.put(clicks)


def embed(batch):
    return library.trainer_embed(batch[0], 4)


def forward_backward(scale):
    activations = numpy.tanh(weights @ weights * (scale % 1.0))
    return numpy.linalg.norm(activations @ weights.T)


def log_loss(step, loss):
    time.sleep(0.02)  # stands for a slow metrics server
    print(f"step {step}: loss {loss:.1f}", file=sys.stderr)


def train():
    step = 0
    while True:
        loss = forward_backward(embed(batches.get()))
        step += 1
        if step % 50 == 0:
            log_loss(step, loss)


if __name__ == "__main__":
    library.trainer_start()
    threading.Thread(target=load_batches, name="loader", daemon=True).start()
    print("ready", flush=True)
    train()
