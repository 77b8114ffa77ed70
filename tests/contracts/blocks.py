"""What every source of blocks does, however it holds the samples."""

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import zarr

import gramless as gl


def memory_maps(views, labels, folder, rows):
    arrays = {}
    for name, view in (*views.items(), ("labels", labels)):
        np.save(folder / f"{name}.npy", view)
        arrays[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return gl.in_blocks({name: arrays[name] for name in views}, arrays["labels"], rows=rows)


def in_memory(views, labels, folder, rows):
    return gl.in_blocks(views, labels.tolist(), rows=rows)


def one_array(views, labels, folder, rows):
    widths = [view.shape[1] for view in views.values()]
    columns = {"left": slice(0, widths[0]), "right": list(range(widths[0], sum(widths)))}
    return gl.in_blocks(np.hstack(list(views.values())), labels[:, None], views=columns, rows=rows)


def hdf5(views, labels, folder, rows):
    file = h5py.File(folder / "samples.h5", "w")
    for name, view in views.items():
        file.create_dataset(name, data=view, chunks=(min(16, len(view)), view.shape[1]))
    return gl.in_blocks({name: file[name] for name in views}, file.create_dataset("labels", data=labels), rows=rows)


def zarr_arrays(views, labels, folder, rows):
    stored = {
        name: zarr.create_array(folder / f"{name}.zarr", data=view, chunks=(16, 3)) for name, view in views.items()
    }
    return gl.in_blocks(stored, labels, rows=rows)


def parquet_columns(views, labels, folder, rows):
    """Two files, a column for every feature."""
    columns = {f"{name}{i}": view[:, i] for name, view in views.items() for i in range(view.shape[1])}
    table = pa.table({**columns, "label": labels})
    half = len(labels) // 2
    (folder / "table").mkdir()
    pyarrow.parquet.write_table(table[:half], folder / "table" / "part0.parquet", row_group_size=50)
    pyarrow.parquet.write_table(table[half:], folder / "table" / "part1.parquet")
    chosen = {name: [column for column in columns if column.startswith(name)] for name in views}
    return gl.in_blocks(folder / "table", "label", views=chosen, rows=rows)


def parquet_lists(views, labels, folder, rows):
    """One file, a column of lists for every view: of a fixed length, and of any."""
    left = pa.FixedSizeListArray.from_arrays(pa.array(views["left"].ravel()), views["left"].shape[1])
    table = pa.table({"left": left, "right": pa.array(list(views["right"])), "label": labels})
    pyarrow.parquet.write_table(table, folder / "lists.parquet")
    return gl.in_blocks(str(folder / "lists.parquet"), labels, views={"left": "left", "right": "right"}, rows=rows)


def iterator_function(views, labels, folder, rows):
    def start():
        for first in range(0, len(labels), rows):
            part = slice(first, first + rows)
            yield {name: view[part] for name, view in views.items()}, labels[part]

    return gl.in_blocks(start, True)


def dask_arrays(views, labels, folder, rows):
    import dask.array

    arrays = {name: dask.array.from_array(view, chunks=(rows, 3)) for name, view in views.items()}
    return gl.in_blocks(arrays, dask.array.from_array(labels, chunks=rows))


LOCAL = (
    memory_maps,
    in_memory,
    one_array,
    hdf5,
    zarr_arrays,
    parquet_columns,
    parquet_lists,
    iterator_function,
)
SOURCES = (*LOCAL, dask_arrays)
"""Each makes blocks of about that many rows from views by name and labels, in a folder of its own."""
