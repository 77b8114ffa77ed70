"""`gramless serve`: a page of our own to which people drop pictures, and which shows the model's keywords for them."""

from gramless.pictures.page.server import ServeError, serve

__all__ = ["ServeError", "serve"]
