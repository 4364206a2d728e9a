"""The header of a session's trace: what is run, on which prompts, with which models, versions and machine."""

import platform
from datetime import UTC, datetime

import torch
import transformers

from engine import trace
from engine.config import RunConfig
from engine.models import Pair


def header_of(
    lanes: dict[str, RunConfig],
    pair: Pair,
    texts: list[str],
    ids: list[list[int]],
    title: str,
    arrive: list[float],
) -> trace.Header:
    """`texts`, `ids`, `arrive`: of each prompt. Models, dtype and device are those of the first lane."""
    first = next(iter(lanes.values()))
    return trace.Header(
        title=title,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        models=pair.info,
        dtype=first.dtype,
        device=first.device,
        versions={"torch": torch.__version__, "transformers": transformers.__version__},
        machine={"cpu": platform.processor() or platform.machine(), "threads": torch.get_num_threads()},
        stop_ids=sorted(pair.stop_ids),
        pad_id=pair.pad_id,
        positions=pair.positions,
        chat=first.chat and getattr(pair, "templated", True),
        prompts=[
            {"row": n, "text": t, "ids": i, "arrive": a}
            for n, (t, i, a) in enumerate(zip(texts, ids, arrive, strict=True))
        ],
        lanes=[{"lane": name, "config": config.to_json()} for name, config in lanes.items()],
    )
