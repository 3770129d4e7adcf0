"""One rank of the digits job, with DistributedDataParallel over gloo.

usage: train_torch.py FILE [--epochs N]

or, as an entrypoint that is a function: train_torch:run, with FILE and epochs
for arguments.
"""
import argparse
import hashlib
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH, RATE, TEST_EVERY = 48, 0.3, 5


def read(path):
    with open(path) as file:
        rows = [[int(x) for x in line.split(",")] for line in file]
    table = torch.tensor(rows)
    test = torch.arange(len(rows)) % TEST_EVERY == TEST_EVERY - 1
    pixels, digits = table[:, :-1].float() / 16, table[:, -1]
    return (pixels[~test], digits[~test]), (pixels[test], digits[test])


def train(model, pixels, digits, epochs, rank, size):
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    # Every rank must take the same number of steps: DDP meets in each of them.
    whole = len(pixels) - len(pixels) % size
    steps, losses = 0, []
    for epoch in range(1, epochs + 1):
        order = torch.randperm(
            len(pixels), generator=torch.Generator().manual_seed(epoch))
        mine = order[:whole][rank::size]
        total = 0.0
        for batch in mine.split(max(1, BATCH // size)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(
                model(pixels[batch]), digits[batch])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
            steps += 1
        losses.append(total / len(mine))
        print(f"epoch {epoch} loss {losses[-1]:.3f}")
    return steps, losses


def run(file, epochs):
    """The rank's result."""
    if not dist.is_initialized():  # `init: torch` has
        dist.init_process_group(os.environ["TORCH_DISTRIBUTED_BACKEND"])
    rank, size = dist.get_rank(), dist.get_world_size()
    (pixels, digits), (test_pixels, test_digits) = read(file)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(
        nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10)))
    steps, losses = train(model, pixels, digits, epochs, rank, size)

    with torch.no_grad():
        right = (model(test_pixels).argmax(1) == test_digits).float().mean()
    weights = b"".join(
        p.detach().numpy().tobytes() for p in model.parameters())
    dist.destroy_process_group()
    return {"accuracy": right.item(), "first_loss": losses[0],
            "loss": losses[-1], "steps": steps,
            "weights_sha": hashlib.sha256(weights).hexdigest()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--epochs", type=int, default=12)
    options = parser.parse_args()
    result = run(options.file, options.epochs)
    with open(os.environ["JOBRUN_RESULT_FILE"], "w") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
