"""Trains the network of the `digits` example and writes its weights and test data.

    python3 -m venv target/venv
    target/venv/bin/pip install -r examples/digits/train/requirements.txt
    target/venv/bin/python examples/digits/train/train.py

Data: "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak, 1998, UCI repository), the 1,797 images that
ship inside scikit-learn: 8x8 pixels, values 0..16, 16 is full ink. A fifth, the same share of every digit, is held out:
it is never trained on, never used to choose anything, and is what the example measures itself against.
"""

import os

# One thread: the order of additions, and with it every bit of the result, does not depend on the number of cores.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import struct
import time
import zlib
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from augment import augment
from network import Adam, Network

SEED = 1
BATCH = 64
RATE = 2e-3
DECAY = 1e-2
SMOOTHING = 0.05
# The written weights are a running average over about this many steps, which generalises better than the last step.
AVERAGE_STEPS = 200

EXAMPLE = Path(__file__).resolve().parent.parent


def main():
    arguments = argparse.ArgumentParser(description="Trains the digits example; writes weights and test data.")
    arguments.add_argument("--epochs", type=int, default=150)
    arguments.add_argument("--output", type=Path, default=EXAMPLE, help="folder that gets weights/ and data/")
    options = arguments.parse_args()

    digits = load_digits()
    images = digits.images.astype(np.uint8)
    labels = digits.target.astype(np.uint8)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, labels, test_size=0.2, stratify=labels, random_state=SEED
    )
    network = train(train_images, train_labels, options.epochs)

    print(f"train:    {describe(predict(network, train_images), train_labels)}")
    predicted = predict(network, test_images)
    print(f"held out: {describe(predicted, test_labels)}")
    print(confusion_table(predicted, test_labels))

    (options.output / "weights").mkdir(parents=True, exist_ok=True)
    (options.output / "data").mkdir(parents=True, exist_ok=True)
    parameters = {name: np.ascontiguousarray(value) for name, value in network.parameters().items()}
    save_file(parameters, options.output / "weights" / "digits.safetensors")
    print(f"parameters: {sum(value.size for value in parameters.values())}")
    write_idx(options.output / "data" / "test-images.idx3-ubyte", test_images)
    write_idx(options.output / "data" / "test-labels.idx1-ubyte", test_labels)
    write_samples(options.output / "data", test_images, test_labels)


def train(images, labels, epochs):
    """Trains on augmented copies and returns the network with averaged weights."""
    rng = np.random.default_rng(SEED)
    network = Network(rng)
    optimizer = Adam(network.parameters(), DECAY)
    average = {name: value.copy() for name, value in network.parameters().items()}
    inputs = normalise(images)
    targets = np.full((len(labels), 10), SMOOTHING / 10, np.float32)
    targets[np.arange(len(labels)), labels] += 1 - SMOOTHING

    steps_per_epoch = len(inputs) // BATCH
    step, started = 0, time.monotonic()
    for epoch in range(epochs):
        order = rng.permutation(len(inputs))
        loss = 0.0
        for batch in np.split(order[: steps_per_epoch * BATCH], steps_per_epoch):
            loss += network.train_step(augment(rng, inputs[batch]), targets[batch]) / steps_per_epoch
            progress = step / (epochs * steps_per_epoch)
            optimizer.update(network.gradients(), RATE * 0.5 * (1 + np.cos(np.pi * progress)))
            step += 1
            # Early on the average follows quickly, so that the random start is forgotten.
            keep = np.float32(min(1 - 1 / AVERAGE_STEPS, step / (step + 9)))
            for name, value in network.parameters().items():
                average[name] = keep * average[name] + (1 - keep) * value
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1:3}: loss {loss:.4f}, {time.monotonic() - started:.0f} s", flush=True)
    for name, value in network.parameters().items():
        value[...] = average[name]
    return network


def normalise(images):
    """[N, 8, 8] of 0..16 -> [N, 1, 8, 8] of 0..1: what the program feeds the model."""
    return (images[:, None] / 16).astype(np.float32)


def predict(network, images):
    return network.logits(normalise(images)).argmax(axis=1)


def describe(predicted, labels):
    right = int((predicted == labels).sum())
    return f"{right} of {len(labels)} right, {100 * right / len(labels):.2f} %"


def confusion_table(predicted, labels):
    table = np.zeros((10, 10), int)
    np.add.at(table, (labels, predicted), 1)
    lines = ["rows: true digit, columns: predicted digit", "   " + "".join(f"{digit:4}" for digit in range(10))]
    lines += [f"{digit:3}" + "".join(f"{count or '.':>4}" for count in row) for digit, row in enumerate(table)]
    return "\n".join(lines)


def write_idx(path, array):
    """The IDX format of MNIST: two zero bytes, 8 (unsigned byte), rank, sizes as big-endian u32, the bytes."""
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.tobytes())


def write_samples(folder, images, labels):
    """Two held-out digits as picture files: one in the data set's own form, one as a large dark-on-white drawing."""
    three = images[labels == 3][0]
    rows = "\n".join(" ".join(f"{value:2}" for value in row) for row in three)
    (folder / "three.pgm").write_text(f"P2\n# a held-out image, unchanged\n8 8\n16\n{rows}\n")

    seven = images[labels == 7][0]
    enlarged = np.kron(seven, np.ones((20, 20)))
    paper = 240 - enlarged / 16 * 210
    framed = np.pad(paper, ((30, 70), (60, 40)), constant_values=240).round().astype(np.uint8)
    write_grey_png(folder / "seven.png", framed)


def write_grey_png(path, pixels):
    """An 8-bit grey PNG."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    )


if __name__ == "__main__":
    main()
