"""Random small changes of 8x8 digits: shift, rotation, scale, slant, stroke strength, noise."""

import numpy as np


def augment(rng, images):
    """A changed copy of images [N, 1, 8, 8] with values in 0..1. Each image gets its own random affine map."""
    n, _, height, width = images.shape
    angle = np.deg2rad(rng.uniform(-15, 15, n))
    scale_x, scale_y = rng.uniform(0.85, 1.2, (2, n))
    slant = rng.uniform(-0.2, 0.2, n)
    shift_x, shift_y = rng.uniform(-1.0, 1.0, (2, n))

    # Where each pixel of the result comes from, relative to the middle of the image.
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    x = x.ravel()[None] - (width - 1) / 2 - shift_x[:, None]
    y = y.ravel()[None] - (height - 1) / 2 - shift_y[:, None]
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    source_x = (cos * x - sin * y) * scale_x[:, None] + slant[:, None] * y + (width - 1) / 2
    source_y = (sin * x + cos * y) * scale_y[:, None] + (height - 1) / 2

    moved = _bilinear(images[:, 0], source_x, source_y).reshape(images.shape)
    strength = rng.uniform(0.7, 1.4, (n, 1, 1, 1))
    noise = rng.standard_normal(images.shape) * 0.04 * (moved > 0)
    return np.clip(moved * strength + noise, 0, 1).astype(np.float32)


def _bilinear(images, x, y):
    """Samples images [N, H, W] at points [N, P]; outside there is no ink."""
    n, height, width = images.shape
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    x = np.clip(x + 1, 0, width + 0.999)
    y = np.clip(y + 1, 0, height + 0.999)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right_part, bottom_part = x - left, y - top
    image = np.arange(n)[:, None]
    upper = padded[image, top, left] * (1 - right_part) + padded[image, top, left + 1] * right_part
    lower = padded[image, top + 1, left] * (1 - right_part) + padded[image, top + 1, left + 1] * right_part
    return upper * (1 - bottom_part) + lower * bottom_part
