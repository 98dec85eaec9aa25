"""Of an input-switched affine network (Foerster et al., ICML 2017): everything that its affine steps make exact."""
