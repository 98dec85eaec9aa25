"""Trained networks as code that runs without Keras, such as on a microcontroller.

- `to_c`: a small recurrent network as one file of C99.

`instructions` has networks as lists of instructions, for pages that read what somebody types (`views`).
"""

from keras_interp_rnn.deploy.network import to_c

__all__ = ["to_c"]
