"""Files that are made to do harm: what a saved one holds, changed, under the right digest."""

import json

import numpy as np
import pytest
from safetensors import safe_open

import gramless as gl
from gramless.storage import FORM, FORM_VERSION
from gramless.support.array_file import write_array_file


def craft(path, tree, **arrays):
    """A file with the right digest."""
    text = tree if isinstance(tree, str) else json.dumps(tree)
    write_array_file(
        path, FORM, FORM_VERSION, {name: np.asarray(array) for name, array in arrays.items()}, {"model": text}
    )
    return path


def opened(path):
    """Tree and arrays of a saved file, by the library whose format it is."""
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["model"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def refused(path, match=None, functions=None):
    with pytest.raises(gl.FileFormatError, match=match):
        gl.load(path, functions)
