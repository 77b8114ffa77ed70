"""The views of a picture by name, and the visual words that each of them needs."""

from __future__ import annotations

from collections.abc import Iterable

from gramless.errors import DataError

BANDED = "V3H1"
"""The suffix of a view that is computed in three horizontal bands (one column of three rows)."""

COLOURS = ("Rgb", "Hsv", "Lab")
LOCAL = ("DenseSift", "HarrisSift", "DenseHue", "HarrisHue")
HANDCRAFTED = ("Gist", *COLOURS, *LOCAL, *(f"{name}{BANDED}" for name in (*COLOURS, *LOCAL)))
"""The fifteen views of Guillaumin, Mensink, Verbeek, Schmid (2009): global, colour and local ones."""

DESCRIPTOR_WIDTHS = {"DenseSift": 128, "HarrisSift": 128, "DenseHue": 36, "HarrisHue": 36}
"""Numbers of a local descriptor, and so of a visual word, by view."""

EFFICIENTNETS = {"EfficientNet-Lite0": 224, "EfficientNet-Lite0@320": 320}
"""Views of the trained network that comes with gramless[pictures], and the pixels of a side that they look at."""

LEARNED = ("EfficientNet-Lite0@320",)
"""Of those, the one that is worth its time (benchmarks/features.py)."""

STANDARD = (*LEARNED, "Lab")
"""What pictures are described by unless one says otherwise: colours say what a network is taught to overlook, and take
little beside its time (benchmarks/features.py)."""

LIBRARIES = ("torchvision", "timm")
"""Libraries of trained networks: `torchvision:resnet152` is a view where the library is installed."""


def is_learned(name: str) -> bool:
    return name in EFFICIENTNETS or name.partition(":")[0] in LIBRARIES


def words_of(name: str) -> str | None:
    """The view whose visual words a view counts, or None where it counts none."""
    base = name.removesuffix(BANDED)
    return base if base in LOCAL else None


def vocabularies_of(names: Iterable[str]) -> tuple[str, ...]:
    """Every view whose visual words are needed, once."""
    return tuple(dict.fromkeys(base for base in map(words_of, names) if base is not None))


def check_names(names: tuple[str, ...]) -> None:
    """An error for names that are unknown or come twice, or for none at all."""
    unknown = [name for name in names if name not in HANDCRAFTED and not is_learned(name)]
    if unknown:
        known = ", ".join((*HANDCRAFTED, *EFFICIENTNETS))
        raise DataError(
            f"no view of a picture is called {', '.join(unknown)}. There are {known}; "
            "and any network of torchvision or timm, as torchvision:resnet152."
        )
    if not names or len(set(names)) < len(names):
        raise DataError(f"pictures are described by at least one view, each named once, got {list(names)}.")
