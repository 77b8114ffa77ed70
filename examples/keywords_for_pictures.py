"""Learn the keywords of a folder of pictures, and give some to new ones. Here the pictures are drawn on the spot."""

import tempfile
from pathlib import Path

import gramless as gl
from gramless.pictures.annotation import fit_annotator
from gramless.pictures.datasets import read_annotated
from gramless.pictures.scenes import write_scenes

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    table = write_scenes(folder / "scenes", 40, seed=0)  # pictures, and a CSV file with the keywords of each
    pictures = read_annotated(folder / "scenes", table)
    learned, new = pictures[:32], pictures[32:]

    annotator = fit_annotator(learned, views=("Rgb", "Gist")).annotator  # all views take longer, and do better
    gl.save(annotator, folder / "model.gramless")
    for annotation in annotator.annotate(new.paths, new.names).annotations:
        print(annotation.name, "-", ", ".join(annotation.keywords))
