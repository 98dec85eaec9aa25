// Code that logs how a network reads a text: what the places show while there is nothing else to show.

export const logging = `import keras
from keras_interp_rnn import callbacks, datasets, layers

model = keras.Sequential([
    keras.Input((None,), dtype="int32"),
    layers.ISAN(32, 27, return_sequences=True),
    keras.layers.Dense(27),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
text = datasets.text.python_documentation()
names = datasets.text.ALPHABET
model.fit(datasets.Windows(text, 16, length=50), shuffle=False, callbacks=[
    callbacks.Contributions("logs", ["the return val"], alphabet=names),
    callbacks.ShapleyValues("logs", ["the return val"], alphabet=names),
    callbacks.Substitutions("logs", ["the return val"], alphabet=names),
])`;
