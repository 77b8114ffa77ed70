"""`gramless demo`: deep kernels and their maps on scikit-learn's digits, every number measured on the spot."""
