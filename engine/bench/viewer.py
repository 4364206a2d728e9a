"""How fast the page is with large traces: scrubbing 60 rounds of 8 rows, opening 32 rows of 512 slots.

The traces come from a small random model: the page's time does not depend on what the weights say.
"""

import time
from collections.abc import Iterator

import torch
from playwright.sync_api import Browser, Page
from transformers import AutoModelForCausalLM, LlamaConfig

from engine.config import RunConfig
from engine.lines import dump_line
from engine.models import Pair, pair_of
from engine.stream import session

VOCAB, SLOTS = 8192, 512
#: Milliseconds of each round by the scrubber: the next one only once this one is on the screen.
SCRUB = """async () => {
  const range = document.querySelector('.r-scrub input');
  const board = document.querySelector('.r-rows');
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const began = performance.now();
  let n = 0;
  for (let step = 0; step <= Number(range.max); step += 1) {
    range.value = step;
    range.dispatchEvent(new Event('input'));
    do await frame(); while (board.dataset.step !== String(step));
    n += 1;
  }
  return [n, performance.now() - began];
}"""


def report(browser: Browser, url: str) -> Iterator[str]:
    """The lines of the report."""
    pair = random_pair()
    rounds, many = trace(pair, rows=8, prompt=48, max_new=64), trace(pair, rows=32, prompt=SLOTS - 24, max_new=16)
    page, _ = opened(browser, url, rounds)
    page.evaluate(SCRUB)  # warm
    n, ms = page.evaluate(SCRUB)
    page.context.close()
    yield f"scrub        {1000 * n / ms:.0f} rounds a second ({n} rounds, 8 rows, tensor view below)"
    times = []
    for _ in range(3):
        page, seconds = opened(browser, url, many)
        times.append(seconds)
        page.context.close()
    yield f"open         {sorted(times)[1]:.2f} s (32 rows, {SLOTS} slots, {len(many) / 1e6:.1f} MB; median of 3)"


def random_pair() -> Pair:
    """A random model whose texts do not repeat soon, so that rounds accept little."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4 * SLOTS,
        eos_token_id=0,
        pad_token_id=0,
        bos_token_id=None,
    )
    return pair_of(AutoModelForCausalLM.from_config(config).eval())


def trace(pair: Pair, rows: int, prompt: int, max_new: int) -> str:
    """EQSPEC beside BSP on prompts of different length, as a file."""
    torch.manual_seed(1)
    prompts = [torch.randint(1, VOCAB, (prompt - 3 * (n % 8),)).tolist() for n in range(rows)]
    lanes = {name: RunConfig(method=name, max_new=max_new, chat=False) for name in ("eqspec", "bsp")}
    return "".join(dump_line(event) + "\n" for event in session(lanes, prompts, pair=pair))


def opened(browser: Browser, url: str, text: str) -> tuple[Page, float]:
    """The page with a trace open, and the seconds from navigation to its last row."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.route("**/traces/large.jsonl", lambda route: route.fulfill(body=text, content_type="application/x-ndjson"))
    began = time.monotonic()
    page.goto(f"{url}?t=large&r=3", wait_until="commit")
    page.wait_for_function("window.__ragged?.store.get().source.name === 'large' && document.querySelector('.r-word')")
    return page, time.monotonic() - began
