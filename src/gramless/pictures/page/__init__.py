"""`gramless serve`: a page of our own to which people drop pictures, and which shows the model's keywords for them."""

from gramless.pictures.page.limits import LIMITS, Limits
from gramless.pictures.page.model import PageModel
from gramless.pictures.page.server import ServeError, serve

__all__ = ["LIMITS", "Limits", "PageModel", "ServeError", "serve"]
