#!/usr/bin/env python3
"""The chain of a line's file inside the CNN's own process: photographs in, defects out, and no daemon.

    cnn_chain.py [--yaml FILE] [--views N] [--device cuda|cpu|numpy]

With PyTorch and a GPU the class maps stay in the GPU's memory: the chain works on them there, on PyTorch's stream, and
only the defects come to the host. The network is small and its weights are set by hand, so that it finds dark spots as
"rot" and bright ones as "mould"; the photographs are generated, so that the number of spots is known: the exit status
is 1 if another number is found. Without PyTorch the same network is computed by NumPy.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

import cernita

CLASSES = ["background", "rot", "mould"]
YAML = """
classes: [{name: background}, {name: rot, level: 0.5}, {name: mould, level: 0.5}]
chain:
  - morphology: {operation: open, element: disk, size: 5}
  - contours: {border: closed}
"""
HEIGHT, WIDTH, SPOT_PX, BLUR = 95, 511, 6, 5
GAIN, MARGIN = 40.0, 0.2  # logits: of rot GAIN (0.5 - MARGIN - grey), of mould GAIN (grey - 0.5 - MARGIN)


def make_photograph(rng):
    """f32[height, width], 0 to 1, and how many spots of each class are on it."""
    photograph = rng.normal(0.5, 0.02, (HEIGHT, WIDTH)).astype("f4")
    counts = {"rot": int(rng.integers(0, 5)), "mould": int(rng.integers(0, 5))}
    greys = [0.1] * counts["rot"] + [0.9] * counts["mould"]
    columns = rng.choice(WIDTH // (6 * SPOT_PX), len(greys), replace=False)  # far enough apart
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    for grey, column in zip(greys, columns):
        center = rng.integers(2 * SPOT_PX, HEIGHT - 2 * SPOT_PX), (column + 0.5) * 6 * SPOT_PX
        photograph[np.hypot(y - center[0], x - center[1]) < SPOT_PX] = grey
    return photograph, counts


class NumpyNet:
    """Maps in host memory."""

    def __call__(self, photograph):
        smooth = cernita.convolve(photograph, np.full((BLUR, BLUR), 1 / BLUR**2, "f4"))
        logits = np.stack([np.zeros_like(smooth), GAIN * (0.5 - MARGIN - smooth), GAIN * (smooth - 0.5 - MARGIN)], axis=2)
        powers = np.exp(logits)
        return powers / powers.sum(axis=2, keepdims=True)

    def wait(self):
        pass


def make_torch_net(torch, device):
    class TorchNet(torch.nn.Module):
        """Maps in the device's memory; [height, width, class] is a view of what the network gives."""

        def __init__(self):
            super().__init__()
            self.blur = torch.nn.Conv2d(1, 1, BLUR, padding=BLUR // 2, padding_mode="replicate", bias=False)
            self.classes = torch.nn.Conv2d(1, len(CLASSES), 1)
            with torch.no_grad():
                self.blur.weight.fill_(1 / BLUR**2)
                self.classes.weight.copy_(torch.tensor([0.0, -GAIN, GAIN]).reshape(3, 1, 1, 1))
                self.classes.bias.copy_(torch.tensor([0.0, GAIN * (0.5 - MARGIN), -GAIN * (0.5 + MARGIN)]))

        @torch.no_grad()
        def forward(self, photograph):
            tensor = torch.from_numpy(photograph).to(device)[None, None]
            maps = self.classes(self.blur(tensor)).softmax(1)[0].permute(1, 2, 0)
            return maps if device == "cuda" else maps.numpy()

        def wait(self):
            """The chain needs no waiting: it is on the same stream. For fair times alone."""
            if device == "cuda":
                torch.cuda.synchronize()
    return TorchNet().to(device)


def make_net(device):
    """The network and where its maps lie: device, or the best that this machine has."""
    try:
        import torch
    except ImportError as fault:
        if device in ("cuda", "cpu"):
            sys.exit(f"cnn_chain.py: --device {device}: there is no PyTorch ({fault}): pip install torch")
        print("there is no PyTorch: the network is computed by NumPy")
        return NumpyNet(), "host memory"
    if device == "numpy":
        return NumpyNet(), "host memory"
    if device == "cuda" or (device is None and torch.cuda.is_available() and cernita.missing("cuda") is None):
        return make_torch_net(torch, "cuda"), "device memory"
    return make_torch_net(torch, "cpu"), "host memory"


def run(chain, net, views):
    """Number of views of which other defects were found than there are, and the ms of each judge()."""
    rng, wrong, times_ms = np.random.default_rng(1), 0, []
    for _ in range(views):
        photograph, counts = make_photograph(rng)
        maps = net(photograph)
        net.wait()
        start = time.perf_counter()
        defects = chain.judge(maps)
        times_ms.append(1e3 * (time.perf_counter() - start))
        found = [name for name, hole in zip(defects.class_names, defects.table["hole"]) if not hole]
        wrong += any(found.count(name) != count for name, count in counts.items())
    return wrong, times_ms


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0], allow_abbrev=False)
    parser.add_argument("--yaml", type=pathlib.Path, help=f"a line's file with the classes {', '.join(CLASSES)}")
    parser.add_argument("--views", type=int, default=50)
    parser.add_argument("--device", choices=["cuda", "cpu", "numpy"], help="of the network; without it, the best one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        yaml = options.yaml or pathlib.Path(folder, "line.yaml")
        if not options.yaml:
            yaml.write_text(YAML)
        with cernita.Chain.from_yaml(yaml) as chain:
            net, where = make_net(options.device)
            wrong, times_ms = run(chain, net, options.views)
    print(f"{options.views} views of {HEIGHT} x {WIDTH} x {len(CLASSES)}, maps in {where}: judge() takes "
          f"{statistics.median(times_ms):.3f} ms (median); {wrong} views with other defects than there are")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
