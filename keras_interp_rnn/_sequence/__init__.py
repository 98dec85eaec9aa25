"""Whole sequences at once: loops, masks, and trajectories with their adjoints, one file each."""
