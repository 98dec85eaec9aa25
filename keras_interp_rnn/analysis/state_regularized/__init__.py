"""State-regularized networks (Wang, Lawrence and Niepert, 2022): their centroids, and the moves among them."""
