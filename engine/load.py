"""load: one model or tokenizer from the shelf, a local folder or the hub. Nothing hangs, nothing is guessed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from engine import shelf
from engine.support import UnsupportedModel

#: What a model needs of a hub repository; weights in other formats are left there.
FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")
PROBE_S = 5.0


class ModelError(ValueError):
    """A model that cannot be loaded or paired: says which one, why, and what would work."""


def find(name: str, cache: Path, progress: shelf.Progress | None = None) -> Path:
    """The local folder of a model given by shelf name, folder or hub name ("owner/model"). Raises ModelError."""
    if name == shelf.NAME:
        return shelf.path(cache, progress)
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ModelError(f"{folder} is no model folder: it has no config.json")
        return folder
    works = f"{shelf.NAME!r}, a folder with config.json, or a hub name such as 'HuggingFaceTB/SmolLM2-360M-Instruct'"
    if name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise ModelError(f"there is no model {name!r}; what works: {works}")
    return _from_hub(name, progress)


def _from_hub(name: str, progress: shelf.Progress | None) -> Path:
    """The hub's files of `name`: those already here, else downloaded, once one short request was answered."""
    try:
        local = Path(snapshot_download(name, allow_patterns=FILES, local_files_only=True))
        if (local / "config.json").is_file() and any(local.glob("*.safetensors")):
            return local
    except (LocalEntryNotFoundError, OSError, ValueError):
        pass
    without = f"without the hub, choose {shelf.NAME!r} or a local folder"
    try:
        HfApi().model_info(name, timeout=PROBE_S)
    except RepositoryNotFoundError as error:
        raise ModelError(f"the hub has no public model {name!r}; check the name, or {without}") from error
    except Exception as error:  # refused, unresolved, timed out, offline mode: each has its own class
        found = f"{name!r} is not in the local cache and the hub cannot be reached ({_first(error)})"
        raise ModelError(f"{found}; {without}") from error
    if progress:
        progress("download", 0.0)
    try:
        return Path(snapshot_download(name, allow_patterns=FILES, etag_timeout=PROBE_S))
    except (HfHubHTTPError, OSError) as error:
        raise ModelError(f"{name!r} could not be downloaded ({error}); {without}") from error


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The folder's tokenizer. Raises ModelError when there is none."""
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, TypeError, KeyError, ImportError) as error:
        works = "save the tokenizer there too (a drafter uses a copy of its target's)"
        raise ModelError(f"{folder} has no tokenizer that can be read ({_first(error)}); {works}") from error


def load_model(folder: Path, dtype: str, device: str) -> PreTrainedModel:
    """The folder's model on `device` in `dtype`, with sdpa attention, frozen. Raises ModelError, UnsupportedModel."""
    where = _device(device)
    place = {"device_map": {"": where}} if where.type != "cpu" else {}
    try:
        with _silent():
            model, loading = AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=getattr(torch, dtype),
                attn_implementation="sdpa",
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
                **place,
            )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        if "scaled_dot_product_attention" in str(error):
            raise UnsupportedModel(str(error).split()[0], "the class has no sdpa attention") from error
        raise ModelError(f"the model in {folder} cannot be loaded: {_first(error)}") from error
    if missing := sorted(loading["missing_keys"]):
        # transformers would go on with random weights
        raise ModelError(f"the weights in {folder} lack {len(missing)} tensors of the model, first {missing[0]}")
    return model.eval().requires_grad_(False)


@contextmanager
def _silent() -> Iterator[None]:
    """No progress bar on stderr: progress goes through the callback."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()  # "meta" makes tensors, too, but without values
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"device {name!r} cannot be used here ({_first(error)}); 'cpu' works") from error
    return device


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
