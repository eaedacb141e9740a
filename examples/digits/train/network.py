"""A small convolutional network in plain numpy: layers with forward and backward, and Adam.

Shapes and parameter layouts are PyTorch's: activations [N, C, H, W], convolution weights [O, I, 3, 3], linear weights
[O, I]. Nothing here is clever; it exists so that training needs no framework and gives the same bits every time.
"""

import numpy as np


class Conv3x3:
    """3x3 convolution with stride 1 and padding 1, as one matrix product over unfolded 3x3 patches."""

    def __init__(self, rng, inputs, outputs):
        scale = np.sqrt(2.0 / (inputs * 9))
        self.parameters = {
            "weight": (rng.standard_normal((outputs, inputs, 3, 3)) * scale).astype(np.float32),
            "bias": np.zeros(outputs, np.float32),
        }

    def forward(self, x):
        n, c, h, w = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        # Patches as [N, C * 9, H * W], in the order of the weight's trailing dimensions.
        patches = [padded[:, :, i : i + h, j : j + w] for i in range(3) for j in range(3)]
        self.patches = np.stack(patches, axis=2).reshape(n, c * 9, h * w)
        self.shape = x.shape
        weight = self.parameters["weight"]
        y = weight.reshape(len(weight), -1) @ self.patches + self.parameters["bias"][:, None]
        return y.reshape(n, -1, h, w)

    def backward(self, dy):
        n, c, h, w = self.shape
        dy = dy.reshape(n, -1, h * w)
        weight = self.parameters["weight"]
        dweight = np.tensordot(dy, self.patches, axes=([0, 2], [0, 2])).reshape(weight.shape)
        self.gradients = {"weight": dweight, "bias": dy.sum(axis=(0, 2))}
        dpatches = (weight.reshape(len(weight), -1).T @ dy).reshape(n, c, 3, 3, h, w)
        dpadded = np.zeros((n, c, h + 2, w + 2), np.float32)
        for i in range(3):
            for j in range(3):
                dpadded[:, :, i : i + h, j : j + w] += dpatches[:, :, i, j]
        return dpadded[:, :, 1:-1, 1:-1]


class Linear:
    """Fully connected layer."""

    def __init__(self, rng, inputs, outputs):
        scale = np.sqrt(2.0 / inputs)
        self.parameters = {
            "weight": (rng.standard_normal((outputs, inputs)) * scale).astype(np.float32),
            "bias": np.zeros(outputs, np.float32),
        }

    def forward(self, x):
        self.x = x
        return x @ self.parameters["weight"].T + self.parameters["bias"]

    def backward(self, dy):
        self.gradients = {"weight": dy.T @ self.x, "bias": dy.sum(axis=0)}
        return dy @ self.parameters["weight"]


class Relu:
    """max(x, 0)."""

    parameters = {}

    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, dy):
        return dy * self.mask


class MaxPool2:
    """Maximum over 2x2 windows with stride 2."""

    parameters = {}

    def forward(self, x):
        n, c, h, w = x.shape
        windows = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        self.shape = x.shape
        self.winner = windows.argmax(axis=-1)[..., None]
        return np.take_along_axis(windows, self.winner, axis=-1)[..., 0]

    def backward(self, dy):
        n, c, h, w = self.shape
        dwindows = np.zeros((n, c, h // 2, w // 2, 4), np.float32)
        np.put_along_axis(dwindows, self.winner, dy[..., None], axis=-1)
        return dwindows.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h, w)


class Flatten:
    """[N, C, H, W] -> [N, C * H * W]."""

    parameters = {}

    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)


class Network:
    """Layers in order; the names in the weight file are those of the layers that have parameters."""

    def __init__(self, rng):
        self.layers = {
            "conv1": Conv3x3(rng, 1, 16),
            "relu1": Relu(),
            "conv2": Conv3x3(rng, 16, 32),
            "relu2": Relu(),
            "pool1": MaxPool2(),
            "conv3": Conv3x3(rng, 32, 64),
            "relu3": Relu(),
            "pool2": MaxPool2(),
            "flatten": Flatten(),
            "fc1": Linear(rng, 64 * 2 * 2, 128),
            "relu4": Relu(),
            "fc2": Linear(rng, 128, 10),
        }

    def parameters(self):
        """Name -> array, for example `conv1.weight`. The arrays are the network's own: writing to them changes it."""
        return {f"{name}.{key}": value for name, layer in self.layers.items() for key, value in layer.parameters.items()}

    def gradients(self):
        """Name -> gradient of the last backward pass."""
        return {f"{name}.{key}": layer.gradients[key] for name, layer in self.layers.items() for key in layer.parameters}

    def logits(self, x):
        for layer in self.layers.values():
            x = layer.forward(x)
        return x

    def train_step(self, x, targets):
        """Mean cross-entropy of a batch against `targets` (one distribution a row); leaves the gradients behind."""
        logits = self.logits(x)
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        dy = (np.exp(log_probabilities) - targets) / np.float32(len(x))
        for layer in reversed(self.layers.values()):
            dy = layer.backward(dy)
        return float(-(targets * log_probabilities).sum() / len(x))


class Adam:
    """Adam with decoupled weight decay, on all parameters of a network."""

    def __init__(self, parameters, decay):
        self.parameters = parameters
        self.decay = decay
        self.mean = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.square = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.step = 0

    def update(self, gradients, rate, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.step += 1
        for name, value in self.parameters.items():
            g = gradients[name]
            self.mean[name] = beta1 * self.mean[name] + (1 - beta1) * g
            self.square[name] = beta2 * self.square[name] + (1 - beta2) * g * g
            mean = self.mean[name] / (1 - beta1**self.step)
            square = self.square[name] / (1 - beta2**self.step)
            if name.endswith(".weight"):
                value *= 1 - rate * self.decay
            value -= (rate * mean / (np.sqrt(square) + epsilon)).astype(np.float32)
