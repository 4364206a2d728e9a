"""The page's form for one's own prompts: opened, filled in, its run started and waited for."""

from collections.abc import Callable

MINUTE = 60_000
#: Rows of different length whose text can be copied: n-grams draft well, and BSP breaks within a few words.
PROMPTS = (
    "Please repeat: The small brown dog chased the red ball across the green field.\n"
    "Copy the text: Maria planted three rows of carrots, two rows of beans and one row of pumpkins behind the house."
)
#: Keeps the seq of every message that an EventSource delivers, and each time one opens.
TAP = """
window.tap = {seqs: [], opens: 0};
const Real = window.EventSource;
window.EventSource = class extends Real {
  constructor(url, options) {
    super(url, options);
    if (!String(url).includes('/runs/')) return;
    this.addEventListener('open', () => window.tap.opens++);
    this.addEventListener('message', (e) => window.tap.seqs.push(Number(e.lastEventId.split(':').at(-1))));
  }
};
"""


def visit(open_page: Callable, url: str, **options: object) -> object:
    """The page with its form open and an EventSource that is listened to."""
    page = open_page(**options)
    page.add_init_script(TAP)
    page.goto(url)
    page.wait_for_selector("#ragged-mount #ragged-stage")
    page.get_by_role("button", name="Your prompts").click()
    page.wait_for_selector("#your-prompts.open")
    return page


def start(page: object, prompts: str = PROMPTS, new: int = 12, k: int = 4) -> None:
    page.fill("#prompts textarea", prompts)
    page.fill("#k input", str(k))
    page.fill("#max-new input", str(new))
    page.evaluate("document.querySelector('#ticket .ticket').dataset.status = ''")
    page.click("#run")
    page.wait_for_function("document.querySelector('#ticket .ticket').dataset.status")


def ended(page: object) -> str:
    """Wait for the end of the run, as the form tells it."""
    page.wait_for_function(
        "['done', 'stopped', 'failed'].includes(document.querySelector('#ticket .ticket').dataset.status)",
        timeout=4 * MINUTE,
    )
    return page.inner_text("#ticket .ticket")


def folded(page: object, what: str) -> object:
    """A piece of the state that the page has folded: `f` is the fold, `s` the whole state."""
    state = "const s = window.__ragged.store.get(); const f = s.fold;"
    return page.evaluate(f"(() => {{ {state} return {what} }})()")


def choose(page: object, side: str, label: str) -> None:
    page.click(f"#{side} input")
    page.locator(f"#{side}").get_by_role("option", name=label).click()
