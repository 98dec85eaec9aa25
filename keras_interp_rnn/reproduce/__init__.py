"""Records of experiments, and the report that is generated from them."""
