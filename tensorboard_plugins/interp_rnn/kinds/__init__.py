"""The kinds of tags, one a file: how each is described, decoded, summed up and divided into slices."""
