"""Native whole-sequence kernels, one module per backend, each earned by a row in benchmarks/README.md."""
