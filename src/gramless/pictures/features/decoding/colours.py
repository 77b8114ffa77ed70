"""The colours of a picture's embedded profile, as those of sRGB."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from PIL import Image as PillowImage


MODES = {"RGB ": "RGB", "GRAY": "L", "CMYK": "CMYK"}
"""Pillow's modes by the colour spaces of profiles."""
SAME = 2  # levels of 255 that profiles of sRGB differ by, in how they round


class Conversion(NamedTuple):
    """From the colours of a profile to sRGB, for 8-bit pictures of one mode."""

    mode: str
    transform: Any

    def __call__(self, image: PillowImage.Image) -> PillowImage.Image:
        from PIL import ImageCms

        converted = ImageCms.applyTransform(image, self.transform)
        assert converted is not None, "it was not to be done in place"
        return converted


def conversion_of(image: PillowImage.Image) -> Conversion | None:
    """Of a picture's embedded profile; None without one, with a damaged one, and with one of sRGB."""
    profile = image.info.get("icc_profile")
    return _conversion(profile) if isinstance(profile, bytes) and profile else None


@lru_cache(maxsize=16)  # the pictures of one camera have one profile
def _conversion(profile: bytes) -> Conversion | None:
    from PIL import Image

    try:
        from PIL import ImageCms

        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        mode = MODES[source.profile.xcolor_space]
        found = Conversion(
            mode,
            ImageCms.buildTransform(
                source,
                ImageCms.createProfile("sRGB"),
                mode,
                "RGB",
                ImageCms.Intent.RELATIVE_COLORIMETRIC,
                ImageCms.Flags.BLACKPOINTCOMPENSATION,
            ),
        )
        if mode != "RGB":
            return found
        colours = np.stack(np.meshgrid(*3 * [np.arange(0, 256, 51, dtype=np.uint8)]), axis=-1).reshape(1, -1, 3)
        seen = np.asarray(found(Image.fromarray(colours)))
        return None if np.abs(seen.astype(int) - colours).max() <= SAME else found
    except Exception:  # Pillow and Little CMS raise all sorts of things on damaged profiles, which are passed over
        return None
