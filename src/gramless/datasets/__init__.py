"""Data that comes with views: the embedded digits."""

from gramless.datasets.digits import DigitsViews, describe_pictures, load_digits_views

__all__ = ["DigitsViews", "describe_pictures", "load_digits_views"]
