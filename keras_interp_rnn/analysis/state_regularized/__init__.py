"""Of a state-regularized network (Wang, Lawrence and Niepert, 2022): its centroids, and how it moves among them."""
