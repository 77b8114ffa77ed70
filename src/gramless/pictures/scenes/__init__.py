"""Scenes drawn by the package, with the keywords of what is in them: pictures to try everything on."""

from gramless.pictures.scenes.scenes import draw_scene, write_scenes

__all__ = ["draw_scene", "write_scenes"]
