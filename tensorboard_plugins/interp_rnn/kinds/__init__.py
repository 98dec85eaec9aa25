"""What tags of each kind hold, one kind a file: how it is described, decoded, summed up and cut into slices."""
