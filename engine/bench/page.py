"""The page in a real Chromium: first paint, interactive, scrubbing, opening, and a probe that breaks what can break."""

import json
import os
import shutil
import signal
import statistics
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from engine.bench import viewer
from engine.bench.readers import Reader
from engine.bench.server import ServerProcess
from engine.bench.weight import weigh

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
READERS = 50

#: Noted inside the page, at the first frame in which it holds.
WATCH = """
window.__marks = {};
const painted = () => {
  const stage = document.getElementById('ragged-stage');
  return stage && stage.querySelector('h1')?.textContent.includes('EQSPEC')
    && stage.querySelectorAll('svg.r-ribbon').length >= 2
    && stage.querySelectorAll('.r-words .r-word').length >= 2 && stage.querySelector('.r-transport button');
};
const interactive = () => document.querySelector('#ragged-mount #ragged-stage') && document.querySelector('#run');
const look = () => {
  for (const [name, test] of [['painted', painted], ['interactive', interactive]]) {
    if (!window.__marks[name] && test()) window.__marks[name] = performance.now();
  }
  if (!window.__marks.interactive) requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


def main(minutes: float) -> int:
    """Print the figures; exit code 1 when the probe lost something that was acknowledged or the server went down."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with ServerProcess() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGS)
        paints = [paint(browser, server.url) for _ in range(5)]
        for name in ("painted", "interactive"):
            values = [p[name] / 1000 for p in paints]
            spread = f"{min(values):.2f}-{max(values):.2f}"
            print(f"{name:<12} {statistics.median(values):.2f} s (median of 5 cold loads, {spread})", flush=True)
        for line in viewer.report(browser, server.url):
            print(line, flush=True)
        lost = probe(browser, server, minutes)
        browser.close()
    for what in lost:
        print(f"LOST: {what}")
    print("probe: nothing acknowledged was lost, the server is up" if not lost else "probe: FAILED")
    return int(bool(lost))


def paint(browser: Browser, url: str) -> dict[str, float]:
    """Milliseconds from navigation to painted and interactive, with a cold cache."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.add_init_script(WATCH)
    page.goto(url, wait_until="commit")
    page.wait_for_function("window.__marks.painted && window.__marks.interactive", timeout=60_000)
    marks = page.evaluate("window.__marks")
    page.context.close()
    return marks


def probe(browser: Browser, server: ServerProcess, minutes: float) -> list[str]:
    """A run with readers and an offline cycle, one whose engine is killed, one more; then replays until time is up."""
    lost, until = [], time.monotonic() + 60 * minutes
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(server.url)
    whole = start(page, PROMPTS_8, 32)
    readers = [Reader(server.url, whole) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    page.wait_for_function("window.__ragged.store.get().fold?.last_seq > 60", timeout=300_000)
    page.context.set_offline(True)
    time.sleep(4)
    page.context.set_offline(False)
    lost += settle(server, whole, readers, page, "done")
    for line in weigh(server.url, whole):
        print(line, flush=True)

    killed = start(page, PROMPTS_8[:3], 48)
    readers = [Reader(server.url, killed) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    page.wait_for_function("window.__ragged.store.get().fold?.last_seq > 60", timeout=300_000)
    for pid in server.engines():
        os.kill(pid, signal.SIGKILL)
    lost += settle(server, killed, readers, page, "failed")
    after = start(page, PROMPTS_8[:2], 8)
    lost += settle(server, after, [], page, "done")
    rounds = 0
    while time.monotonic() < until:
        readers = [Reader(server.url, whole) for _ in range(READERS)]
        for reader in readers:
            reader.start()
        lost += settle(server, whole, readers, None, "done")
        rounds += 1
        time.sleep(2)
    print(
        f"probe: {minutes:g} minutes, {READERS} readers, one kill -9, one offline cycle, {rounds} replays", flush=True
    )
    return lost


PROMPTS_8 = (
    "Repeat this sentence: The train leaves the station at nine and arrives in the city before noon.",
    "Fix the spelling: The cat sat on teh mat and looked at the birds in the garden.",
    "Please repeat: The small brown dog chased the red ball across the green field.",
    "Why is the sky blue?",
    "Name three uses of a hammer.",
    "What is the capital of France?",
    "Change the name Peter to Paul: Peter went to the market and bought apples, bread and cheese.",
    "Write one sentence about the sea.",
)


def start(page: Page, prompts: tuple[str, ...], budget: int) -> str:
    """Start a run from the page's own form; returns its id."""
    page.wait_for_selector("#run", state="attached", timeout=60_000)
    before = page.evaluate("window.__ragged.store.get().source.name")
    page.evaluate("document.getElementById('your-prompts').classList.add('open')")
    page.fill("#prompts textarea", "\n".join(prompts))
    page.fill("#max-new input", str(budget))
    page.click("#run")
    js = "b => { const s = window.__ragged.store.get().source; return s.kind === 'live' && s.name !== b }"
    page.wait_for_function(js, arg=before, timeout=120_000)
    return page.evaluate("window.__ragged.store.get().source.name").removeprefix("run:")


def settle(server: ServerProcess, run: str, readers: list[Reader], page: Page | None, status: str) -> list[str]:
    """Wait for the run's end; what readers, page or file lack of it."""
    if page:
        page.wait_for_function("window.__ragged.store.get().fold?.status !== 'running'", timeout=600_000)
    for reader in readers:
        reader.join(300)
    events, lost = trace_of(server, run), []
    last = events[-1]["seq"]
    if [e["seq"] for e in events] != list(range(last + 1)):
        lost.append(f"{run}: the file has gaps")
    if events[-1]["status"] != status:
        lost.append(f"{run}: ended {events[-1]['status']} ({events[-1].get('error', '')}) instead of {status}")
    bad = sum(not r.complete(last) for r in readers)
    if bad:
        lost.append(f"{run}: {bad} of {len(readers)} readers missed or repeated an event")
    if page and page.evaluate("window.__ragged.store.get().fold.last_seq") != last:
        lost.append(f"{run}: the page missed the end")
    if not server.alive():
        lost.append("the server does not answer")
    return lost


def trace_of(server: ServerProcess, run: str) -> list[dict]:
    text = (Path(server.data.name) / f"{run}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
