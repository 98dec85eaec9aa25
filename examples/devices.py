"""Are the weights that several devices train together those of one device, and how much does each of them hold?

The batch is split where one device is too slow: TensorFlow's MirroredStrategy, or DataParallel on JAX. The vocabulary
is split where the matrices of an ISAN do not fit on one device: ModelParallel on JAX. Cores stand in for missing GPUs.

    python examples/devices.py                                        # TensorFlow, the batch on two devices
    KERAS_BACKEND=jax python examples/devices.py --split vocabulary   # JAX, half of the symbols on each
"""

import contextlib
import os
from typing import Any

import command_line

parser = command_line.Parser(__doc__)
parser.add_argument("--split", choices=["batch", "vocabulary"], default="batch", help="what the devices share")
parser.add_argument("--devices", type=int, default=2, help="how many")
parser.add_argument("--units", type=int, default=32, help="state size")
parser.add_argument("--symbols", type=int, default=1000, help="size of the vocabulary")
parser.add_argument("--batch", type=int, default=64, help="windows in a step, over all devices")
parser.add_argument("--steps", type=int, default=100, help="training steps")
parser.add_argument("--smoke", action="store_true", help="five steps of a small network")
args = parser.parse_args()
if args.smoke:
    args.units, args.symbols, args.batch, args.steps = 6, 12, 8, 5
for name in ("batch", "symbols"):
    if getattr(args, name) % args.devices:
        parser.error(f"--{name} must be a multiple of --devices, {args.devices}. Received: {getattr(args, name)}.")
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={args.devices}"

with command_line.quiet():
    import keras
    import numpy as np

    from keras_interp_rnn import datasets, layers

BACKEND, LENGTH = keras.backend.backend(), 20


def mirrored() -> contextlib.AbstractContextManager:  # over the GPUs, or over devices made of the CPU
    import tensorflow as tf

    kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
    if kind == "CPU":
        parts = [tf.config.LogicalDeviceConfiguration()] * args.devices
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], parts)
    return tf.distribute.MirroredStrategy([f"{kind}:{i}" for i in range(args.devices)]).scope()


def distribution() -> Any:  # keras.distribution names no base class
    devices = keras.distribution.list_devices()[: args.devices]
    if args.split == "batch":
        return keras.distribution.DataParallel(devices=devices)
    mesh = keras.distribution.DeviceMesh((1, args.devices), ["batch", "model"], devices)
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*isan.*kernel"] = ("model", None, None)
    return keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch")


def trained(scope: contextlib.AbstractContextManager) -> keras.Model:
    """A trained network, without the constraint of an ISAN: what is compared is how devices share the products."""
    keras.utils.set_random_seed(0)
    with scope:
        isan = layers.ISAN(args.units, args.symbols, return_sequences=True, recurrent_constraint=None)
        model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), isan, keras.layers.Dense(args.symbols)])
        model.compile(keras.optimizers.SGD(0.5), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    text = np.random.default_rng(0).integers(0, args.symbols, args.batch * LENGTH * args.steps + 1)
    model.fit(datasets.Windows(text, args.batch, length=LENGTH), shuffle=False, verbose=command_line.VERBOSE)
    return model


def main() -> None:
    if BACKEND != "jax" and (args.split == "vocabulary" or BACKEND != "tensorflow"):
        parser.error(f"--split {args.split} must run on JAX. Received: the backend {BACKEND}. Set KERAS_BACKEND=jax.")
    several = mirrored() if BACKEND == "tensorflow" else contextlib.nullcontext()  # before anything is computed
    alone = trained(contextlib.nullcontext())
    part = whole = 4 * int(np.prod(alone.layers[0].cell.recurrent_kernel.shape)) / 1e6
    if BACKEND == "jax":
        keras.distribution.set_distribution(distribution())
    together = trained(several)
    apart = max(abs(a - b).max() for a, b in zip(alone.get_weights(), together.get_weights(), strict=True))
    if BACKEND == "jax":
        part = together.layers[0].cell.recurrent_kernel.value.addressable_shards[0].data.nbytes / 1e6
    print(f"each device holds {part:.3g} MB of the kernel's {whole:.3g}")
    print(f"largest difference of a weight: {apart:.0e}")


if __name__ == "__main__":
    main()
