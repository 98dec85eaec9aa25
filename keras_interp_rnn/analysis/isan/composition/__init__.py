"""Reading whole words by one affine map each (Foerster et al., ICML 2017, section 5.1).

`table` holds the maps and is what users call; `segmentation` cuts a text into words, `reader` moves
states from word to word, `scorer` scores every symbol within the words.
"""
