"""Everything that the affine steps of an input-switched network make exact (Foerster et al., ICML 2017)."""
