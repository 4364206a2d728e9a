"""Which number format a device multiplies fastest: some CPUs have bfloat16 instructions, others emulate them."""

import time

import torch


def fastest(device: str, rows: int = 128, width: int = 1024) -> str:
    """bfloat16 if a product of this size takes less time in it than in float32, else float32."""
    if device.startswith("cuda"):
        return "bfloat16"
    seconds = {name: _seconds(getattr(torch, name), device, rows, width) for name in ("float32", "bfloat16")}
    return min(seconds, key=seconds.get)


def _seconds(dtype: torch.dtype, device: str, rows: int, width: int) -> float:
    a, w = torch.ones(rows, width, dtype=dtype, device=device), torch.ones(width, width, dtype=dtype, device=device)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        torch.nn.functional.linear(a, w)
        times.append(time.perf_counter() - start)
    return min(times)
