// Code that logs how a network reads a text: what the views of texts show while there is nothing else to show.

/** Of the callback of a view, which takes texts and an alphabet. */
export const logging = (callback) => `import keras
from keras_interp_rnn import callbacks, datasets, layers

model = keras.Sequential([
    keras.Input((None,), dtype="int32"),
    layers.ISAN(32, 27, return_sequences=True),
    keras.layers.Dense(27),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
text = datasets.text.python_documentation()
watched = [datasets.text.encode("the return value")]
model.fit(datasets.Windows(text, 16, length=50), shuffle=False, callbacks=[
    callbacks.${callback}("logs", watched, alphabet=datasets.text.ALPHABET),
])`;
