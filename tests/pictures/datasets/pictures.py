"""Files that pass for pictures where only their names matter."""

from pathlib import Path


def put(folder: Path, *names: str) -> Path:
    """Files of these names in the folder."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return folder


def keywords_by_name(pictures) -> dict[str, set[str]]:
    """What the label matrix says, entry by entry."""
    return {
        name: {keyword for j, keyword in enumerate(pictures.keywords) if pictures.labels[i][j] == 1}
        for i, name in enumerate(pictures.names)
    }
