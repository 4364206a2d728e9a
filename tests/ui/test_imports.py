"""The two halves stay apart: the engine knows no web code, the page no model code."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = {"gradio", "fastapi", "starlette", "sse_starlette", "uvicorn", "plotly"}
MODELS = {"torch", "transformers", "safetensors", "accelerate"}


def imported(path: Path) -> set[str]:
    """Every module named by an import anywhere in a file, relative ones as `.name`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


@pytest.mark.parametrize(("folder", "banned"), [("engine", WEB | {"ui", "app"}), ("ui", MODELS)])
def test_no_file_imports_the_other_half(folder: str, banned: set[str]) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    wrong = {str(f.relative_to(ROOT)): bad for f in files if (bad := {n.split(".")[0] for n in imported(f)} & banned)}
    assert wrong == {}


def test_the_page_is_built_and_the_worker_imported_without_a_model_library() -> None:
    code = "import sys, ui.pages, ui.stream, engine.worker, engine.fold; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "gradio" in loaded
    assert loaded & MODELS == set()


def test_the_engine_s_process_does_not_load_the_page() -> None:
    assert {n.split(".")[0] for n in imported_at_top(ROOT / "app.py")} & (WEB | {"ui", "engine"}) == set()


def test_only_the_app_reads_the_environment() -> None:
    wrong = [f.name for f in (ROOT / "ui").rglob("*.py") if "environ" in f.read_text(encoding="utf-8")]
    assert wrong == []


def imported_at_top(path: Path) -> set[str]:
    body = [n for n in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {alias.name for n in body if isinstance(n, ast.Import) for alias in n.names}
    return names | {n.module or "" for n in body if isinstance(n, ast.ImportFrom)}
