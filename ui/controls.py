"""Your prompts: the form that starts runs. The Gradio event is short: it checks, queues the run, gives a ticket."""

import asyncio
import json
import logging
from html import escape
from pathlib import Path

import gradio as gr

from engine.config import FLOOR, MAX_K
from ui.lanes import SHORTCUT, methods_said, on_offer
from ui.request import LENGTHS, MAX_NEW, MAX_PROMPTS, PROPOSERS, BadRequest, Offer, job
from ui.runs import RunStore, StoreFull
from ui.status import ticket

_LOG = logging.getLogger(__name__)

EXAMPLES = {
    "Copy and edit": (
        "Repeat this sentence three times: The quick brown fox jumps over the lazy dog.\n"
        "Write the numbers from one to twelve in words, then write them again.\n"
        "Copy this list and change red to blue: red apple, red car, red house, red hat, red door, red kite."
    ),
    "Short questions": "What is the capital of France?\nWhy is the sky blue?\nName three uses of a hammer.",
    "Several lines": (
        "Fix the spelling and return the text:\nTeh cat sat on teh mat.\nTeh dog sat on teh log.\n"
        "---\nSay hello in five languages."
    ),
}

#: The template never changes, so nothing is re-rendered: the script puts the value into it.
_TICKET = (
    '<p class="ticket" role="status" aria-live="polite"></p>'
    '<button type="button" class="stop" id="stop" hidden>Stop this run</button>'
)


_TOO_LONG = (
    '<p id="too-long" role="status" hidden>These prompts are too long for a link: it carries the other settings.</p>'
)


def build(page: gr.Blocks, store: RunStore, offer: Offer) -> None:
    """Add the form to the Blocks that is being built."""
    open_to = {text: name for name, text in PROPOSERS.items() if name not in offer.unavailable()}
    with gr.Column(elem_id="your-prompts"):
        gr.HTML('<h2 id="your-prompts-title">Your prompts</h2>', js_on_load=None)
        prompts = gr.Textbox(
            EXAMPLES["Copy and edit"],
            label=f"Prompts, one per line, at most {MAX_PROMPTS}",
            info="For prompts of several lines, put a line with only --- between them. Different lengths show most.",
            lines=5,
            max_lines=16,
            elem_id="prompts",
        )
        with gr.Row(elem_classes="examples"):
            for name, text in EXAMPLES.items():
                gr.Button(name, size="sm", elem_classes="example").click(
                    None, outputs=prompts, js=f"() => {_js(text)}", api_visibility="private"
                )
        with gr.Row():
            k = gr.Number(4, label=f"Drafts per round (K), 1 to {MAX_K}", elem_id="k")
            budget = gr.Number(48, label=f"New tokens per row, 1 to {MAX_NEW}", elem_id="max-new")
        proposer = gr.Radio(
            [(text, name) for text, name in open_to.items()],
            value="ngram",
            label="Where drafts come from",
            info=offer.closed() or None,
            elem_id="proposer",
        )
        with gr.Row():
            choices = [(text, choice) for choice, text in on_offer().items()]
            left = gr.Dropdown(
                choices,
                value="eqspec",
                label="Upper lane",
                min_width=300,
                info="Both are compared, row by row, with each row run alone.",
                elem_id="left",
            )
            right = gr.Dropdown(
                choices,
                value=SHORTCUT,
                label="Lower lane",
                min_width=300,
                info="Break it yourself: choose one fault and bet what it breaks.",
                elem_id="right",
            )
        gr.HTML(_methods(), js_on_load=None, apply_default_css=False)
        lengths = _lengths()
        chat = gr.Checkbox(True, label="Wrap prompts in the model's chat template", elem_id="chat")
        run = gr.Button("Run", variant="primary", elem_id="run")
        script = Path(__file__).with_name("ticket.js").read_text(encoding="utf-8")
        gr.HTML(_TOO_LONG, js_on_load=None, apply_default_css=False)
        held = gr.HTML({}, html_template=_TICKET, js_on_load=script, apply_default_css=False, elem_id="ticket")

    settings = [prompts, k, budget, proposer, left, right, *lengths, chat]
    fields = json.dumps([_field(setting) for setting in settings])
    gr.on(
        [setting.change for setting in settings],
        None,
        settings,
        js=f"(...values) => {{ raggedForm.write({fields}, values); }}",
        api_visibility="private",
    )
    page.load(
        None, settings, settings, js=f"(...values) => raggedForm.read({fields}, values)", api_visibility="private"
    )

    async def start(*values: object) -> dict:
        return await asyncio.to_thread(begin, store, offer, *values)

    run.click(
        start,
        [prompts, proposer, k, budget, chat, left, right, *lengths, held],
        held,
        api_name="run",
        concurrency_limit=8,
        show_progress="hidden",
    )


def _field(setting: gr.components.Component) -> dict:
    """What the address needs to know of a setting."""
    choices = getattr(setting, "choices", None)
    return {
        "name": setting.elem_id,
        "initial": setting.value,
        "choices": choices and [value for _, value in choices],
    }


def _methods() -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>" for name, said in methods_said() if said)
    return f'<details class="said" open><summary>What each method does</summary><dl>{items}</dl></details>'


def _lengths() -> list[gr.components.Component]:
    """Draft lengths that adapt: what they follow, the least chance, the batch's budget. Untouched, they do not."""
    with gr.Accordion("Advanced: fewer drafts where they pay less", open=False, elem_id="advanced"):
        adapt = gr.CheckboxGroup(
            [(text, name) for name, text in LENGTHS.items()],
            label="A row's drafts follow",
            info="Nothing chosen: K drafts wherever there is room. On the command line also measured costs.",
            elem_id="adapt",
        )
        with gr.Row():
            floor = gr.Number(
                FLOOR,
                label="Least chance of a draft, above 0 and below 1",
                step=0.05,
                elem_id="floor",
            )
            verified = gr.Number(
                0,
                label=f"Most drafts a round in the whole batch (TETRIS), to {MAX_PROMPTS * MAX_K}; 0: all",
                elem_id="verified",
            )
    return [adapt, floor, verified]


def begin(store: RunStore, offer: Offer, *values: object) -> dict:
    """Queue a run and give its ticket {run, status, message}; bad input and a full queue are refused in words.

    The last value is the visitor's ticket so far: a run of theirs that still goes on is replaced, not waited for.
    """
    *values, held = values
    try:
        return ticket(store, store.create(job(offer, *values), held=str((held or {}).get("run", ""))))
    except (BadRequest, StoreFull) as refusal:
        return {"run": "", "status": "refused", "message": str(refusal)}
    except OSError as error:
        _LOG.exception("no run file")
        return {"run": "", "status": "refused", "message": f"The run's file cannot be made ({error.strerror})."}


def _js(text: str) -> str:
    return "`" + text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${") + "`"
