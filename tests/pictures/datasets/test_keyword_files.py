"""Keyword files against what a person reads in them."""

import codecs
import csv
import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramless.errors import DataError
from gramless.pictures.datasets.keyword_files import read_keyword_file

TABLE = {"a.jpg": ("cat", "dog"), "b.jpg": ("cat",)}


@pytest.fixture
def read(tmp_path):
    def read(text, suffix=".csv", encoding="utf-8"):
        path = tmp_path / f"keywords{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return read_keyword_file(path)

    return read


@pytest.mark.parametrize(
    "text",
    [
        "a.jpg,cat,dog\nb.jpg,cat\n",
        "a.jpg,cat,dog\r\nb.jpg,cat,\r\n",
        "a.jpg;cat;dog\nb.jpg;cat\n",
        "a.jpg\tcat\tdog\nb.jpg\tcat",
        "a.jpg,cat;dog\nb.jpg,cat\n",
        "a.jpg\tcat; dog\nb.jpg\tcat\n",
        "file,keyword\na.jpg,cat\nb.jpg,cat\na.jpg,dog\n",
        "File name;Keyword 1;Keyword 2\na.jpg;cat;dog\nb.jpg;cat;\n",
        "picture,tags,score\na.jpg,cat;dog,0.9\nb.jpg,cat,0.7\n",
        "image,rating,keywords\na.jpg,5,cat;dog\nb.jpg,4,cat\n",
        "name,first,second\na.jpg,cat,dog\nb.jpg,cat,\n",
        '"file","keywords","scores"\n"a.jpg"," cat; dog","0.9; 0.2"\n"b.jpg","cat","0.8"\n',
        "\n a.jpg , cat ,  dog \n\n,stray\nb.jpg,cat,cat\n",
    ],
)
def test_every_way_to_write_a_table_says_the_same(read, text):
    assert read(text) == TABLE


@pytest.mark.parametrize(
    "content",
    [
        {"a.jpg": ["cat", "dog"], "b.jpg": ["cat"]},
        {"a.jpg": "cat;dog", "b.jpg": "cat"},
        [{"file": "a.jpg", "keywords": ["cat", "dog"]}, {"name": "b.jpg", "keywords": ["cat"]}],
        [
            {"picture": "a.jpg", "keywords": ["cat"]},
            {"file": "b.jpg", "keywords": ["cat"]},
            {"file": "a.jpg", "keywords": ["dog", "cat"]},
        ],
        [
            {"file": "a.jpg", "keywords": [{"keyword": "cat", "score": 0.9}, {"keyword": "dog", "score": 0.1}]},
            {"file": "b.jpg", "keywords": [{"keyword": "cat", "score": 0.9}]},
        ],
    ],
)
def test_every_way_to_write_json_says_the_same(read, content):
    assert read(json.dumps(content), ".json") == TABLE


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_a_byte_order_mark_is_no_part_of_the_first_name(read, mark):
    assert read(mark + "été.jpg,mer\n".encode()) == {"été.jpg": ("mer",)}


def test_keywords_are_composed_and_have_single_blanks_inside(read):
    decomposed = "cafe\u0301"
    assert read(f"a.jpg,  {decomposed} \u00a0 au  lait ,   \n") == {"a.jpg": ("café au lait",)}


def test_case_makes_keywords_different(read):
    assert read("a.jpg,Cat,cat\n") == {"a.jpg": ("Cat", "cat")}


def test_keywords_in_json_lists_are_not_split(read):
    assert read('{"a.jpg": ["black; white", "a|b"]}', ".json") == {"a.jpg": ("black; white", "a|b")}


def test_a_picture_without_keywords_is_kept_for_the_reader_to_judge(read):
    assert read('[{"file": "a.jpg", "error": "is cut off"}, {"file": "b.jpg", "keywords": []}]', ".json") == {
        "a.jpg": (),
        "b.jpg": (),
    }


word = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=";|"), min_size=1)


@given(st.dictionaries(word, st.lists(word, min_size=1, max_size=3), min_size=1), st.sampled_from(",;\t"))
def test_whatever_a_csv_writer_quotes_comes_back(tmp_path_factory, table, delimiter):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["file", "keywords"])
    writer.writerows([name, ";".join(keywords)] for name, keywords in table.items())
    path = tmp_path_factory.mktemp("table") / "keywords.csv"
    path.write_bytes(text.getvalue().encode())
    expected = {
        name: tuple(dict.fromkeys(unicodedata.normalize("NFC", keyword) for keyword in keywords))
        for name, keywords in table.items()
    }
    assert read_keyword_file(path) == expected


@pytest.mark.parametrize(
    ("text", "suffix", "message"),
    [
        ("", ".csv", "is empty"),
        (" \n\n", ".csv", "is empty"),
        ("", ".json", "is empty"),
        ("a.jpg,é\nb.jpg,ü\n".encode("latin-1"), ".csv", "not UTF-8 text: byte 0xe9 in line 1"),
        (b"a.jpg,cat\nb.jpg,\xe9\n", ".csv", "byte 0xe9 in line 2"),
        ("a.jpg,cat\n".encode("utf-16"), ".csv", "not UTF-8 text"),
        ('"a.jpg,cat\nb.jpg,dog\n', ".csv", "not a correct CSV file"),
        ('{"a.jpg": ["cat",\n  "dog"', ".json", "line 2, column 8"),
        ('{"a.jpg": ["cat"], "a.jpg": ["dog"]}', ".json", "names 'a.jpg' twice"),
        ("[" * 100_000, ".json", "nested too deeply"),
        ("3", ".json", "holds int"),
        ('[{"keywords": ["cat"]}]', ".json", "entry 1 does not name its picture"),
        ('[{"file": 3, "keywords": ["cat"]}]', ".json", "entry 1 does not name its picture"),
        ('["a.jpg"]', ".json", "entry 1 does not name its picture"),
        ('{"a.jpg": [1, 2]}', ".json", "keywords of 'a.jpg' are not a list of texts"),
        ('{"a.jpg": 7}', ".json", "keywords of 'a.jpg' are not a list of texts"),
        ('{"a.jpg": null}', ".json", "keywords of 'a.jpg' are not a list of texts"),
    ],
)
def test_what_cannot_be_read_is_explained(read, text, suffix, message):
    with pytest.raises(DataError, match=message):
        read(text, suffix)


def test_a_folder_and_a_missing_file_are_explained(tmp_path):
    with pytest.raises(DataError, match="is a folder, but a file is needed"):
        read_keyword_file(tmp_path)
    with pytest.raises(DataError, match="there is no file"):
        read_keyword_file(tmp_path / "absent.csv")


def test_a_file_without_permission_is_explained(tmp_path, monkeypatch):
    path = tmp_path / "keywords.csv"
    path.write_text("a.jpg,cat\n")

    def refuse(self, mode):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.open", refuse)  # the real thing cannot be shown to an administrator
    with pytest.raises(DataError, match="no permission"):
        read_keyword_file(path)


def test_a_path_is_one_keyword_and_its_steps_are_cleaned(read):
    assert read("a.jpg,animal | cat;sea\nb.jpg,|sky|\nc.jpg,| |") == {
        "a.jpg": ("animal|cat", "sea"),
        "b.jpg": ("sky",),
        "c.jpg": (),
    }
