"""Whole sequences at once: loops, masks, and trajectories with adjoints of their own, one file each."""
