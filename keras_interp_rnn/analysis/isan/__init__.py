"""Exact analysis of input-switched affine networks (Foerster et al., ICML 2017)."""
