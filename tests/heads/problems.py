"""Problems of every shape and size, for property-based tests of solvers."""

from hypothesis import strategies as st

ANY = {
    "seed": st.integers(0, 10**6),
    "n": st.integers(2, 25),
    "d": st.integers(1, 30),
    "C": st.floats(-4, 4).map(lambda e: 10.0**e),
    "width": st.none() | st.floats(-1, 2).map(lambda e: 10.0**e),
}
"""Samples, features, penalty, and the width of the Huberised hinge or None for the squared one."""
