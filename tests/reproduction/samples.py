"""A small collection whose keywords show in its views, and files in the layouts of COREL5k and ImageCLEF."""

import numpy as np
from PIL import Image
from scipy.io import savemat

import gramless as gl
from reproduction.collection import Collection


def small_collection(n=90, n_train=60, n_keywords=7, seed=0, views=("a", "b"), n_unlabelled=0):
    """Histograms in which every keyword raises a bin of its own."""
    rng = np.random.default_rng(seed)
    total = n + n_unlabelled
    labels = (rng.random((total, n_keywords)) < 0.3).astype(np.int8)
    labels[np.arange(total), np.arange(total) % n_keywords] = 1
    blocks = {}
    for view in views:
        block = rng.gamma(0.5, size=(total, n_keywords + 3))
        block[:, :n_keywords] += 2 * labels
        blocks[view] = (block / block.sum(1, keepdims=True)).astype(np.float32)
    names = tuple(f"{i // 10}/{i}.jpeg" for i in range(total))
    return Collection(gl.Views(blocks), labels[:n], n_train, tuple(f"word{j}" for j in range(n_keywords)), names)


def write_corel5k(folder, n_train=24, n_test=8):
    """Drawn pictures of three colours, named as COREL5k's are."""
    rng = np.random.default_rng(0)
    colours = {"red": (200, 40, 40), "green": (40, 180, 60), "blue": (40, 60, 200)}
    (folder / "corel5k_words.txt").write_text("\n".join((*colours, "light")) + "\n")
    number = 0
    for part, count, variable in (("train", n_train, "annot1"), ("test", n_test, "annot2")):
        names, labels = [], []
        for _ in range(count):
            kind, light = number % 3, (number // 3) % 2
            pixels = np.full((48, 64, 3), list(colours.values())[kind], dtype=float) * (1.0 if light else 0.5)
            pixels[8:30, 10:40] = rng.uniform(0, 255, size=3)
            pixels += rng.normal(0, 12, size=pixels.shape)
            path = folder / "images" / "1000" / f"{number}.jpeg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path)
            names.append(f"1000/{number}")
            labels.append([*(int(kind == j) for j in range(3)), light])
            number += 1
        (folder / f"corel5k_{part}_list.txt").write_text("\n".join(names) + "\n")
        savemat(folder / f"corel5k_{part}_annot.mat", {variable: np.array(labels, np.uint16)})
    return folder


def write_imageclef(folder, n=40, n_web=0):
    """A development set of two descriptors and four concepts, and web pictures without concepts."""
    pictures = small_collection(n, n, 4, n_unlabelled=n_web)
    identifiers = [f"id{i}" for i in range(n)]
    (folder / "devel_iids.txt").write_text("\n".join(identifiers) + "\n")
    (folder / "devel_concepts.txt").write_text("\n".join(pictures.keywords) + "\n")
    lines = [
        " ".join([identifier, *(k for k, has in zip(pictures.keywords, row, strict=True) if has)])
        for identifier, row in zip(identifiers, pictures.labels, strict=True)
    ]
    (folder / "devel_gnd.txt").write_text("\n".join(lines) + "\n")
    for part, rows in (("devel", slice(0, n)), ("train", slice(n, None))):
        for view in pictures.views.names if part == "devel" or n_web else ():
            block = pictures.views[view][rows]
            vectors = [" ".join([str(len(row)), *(f"{i} {x}" for i, x in enumerate(row))]) for row in block]
            text = "\n".join([f"{len(block)} {block.shape[1]}", *vectors])
            (folder / f"webupv13_{part}_visual_{view}.feat").write_text(text + "\n")
    return pictures
