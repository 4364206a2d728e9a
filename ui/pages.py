"""The page: a head that plays a recorded run before Gradio has started, a mount point, and the form behind it."""

import json
import re
from pathlib import Path

import gradio as gr

from ui import controls, lanes
from ui.request import Offer
from ui.runs import RunStore
from ui.static import Folder, trace_list

TITLE = "Ragged: batch speculative decoding, exact and broken"
_PLOTLY = "plotly-cartesian-"
_README = Path(__file__).parents[1] / "README.md"
_FORM_LINK = Path(__file__).with_name("form_link.js")  # not a module: Gradio calls it when it starts
_EARLY_TRACE = Path(__file__).with_name("early_trace.js")
_CODE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"""^(?:import|export)\b[^'"()]*?['"]\./([\w.-]+)['"]""", re.MULTILINE)

#: Only what Gradio draws around the stage: full width, no footer, no waiting (the stage plays already), a hidden form.
_CSS = """
.gradio-container .main.fillable, .html-container:has(#ragged-mount) { padding: 0 !important; }
gradio-app footer { display: none !important; }
.gradio-container > .main > [data-testid=status-tracker]:has(> .loading) { display: none; }
#your-prompts:not(.open) { display: none; }
#your-prompts fieldset :checked { background-color: var(--checkbox-background-color-selected); } /* also hovered */
#your-prompts { max-width: 960px; margin: 0 auto; padding: 16px; }
#your-prompts h2 { margin: 0; font-size: 18px; }
#ticket .html-container > * { display: flex; flex-wrap: wrap; gap: 12px; align-items: center; min-height: 48px; }
#your-prompts .example { min-height: 44px; }
#your-prompts .ticket { margin: 0; }
#your-prompts .said { margin: 0; font-size: 14px; line-height: 1.5; }
#your-prompts .said dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 2px 14px; margin: 4px 0 0; }
@media (max-width: 640px) { #your-prompts .said dl { display: block; } #your-prompts .said dt { margin-top: 6px; } }
#your-prompts .said dt { font-weight: 600; }
#your-prompts .said dd { margin: 0; }
#your-prompts .said summary { cursor: pointer; min-height: 28px; }
#too-long { margin: 0; font-size: 14px; }
#your-prompts .stop { min-height: 44px; padding: 0 16px; border: 1px solid currentColor; border-radius: 8px; }
#your-prompts .stop[hidden] { display: none; }
#your-prompts .ticket[data-status=failed], #your-prompts .ticket[data-status=refused] { font-weight: 600; }
"""


def theme() -> gr.themes.Base:
    """System fonts only: a page that asks Google for fonts is neither quiet nor usable offline."""
    base = gr.themes.Base(
        font=("system-ui", "Segoe UI", "Roboto", "Noto Sans", "sans-serif"),
        font_mono=("ui-monospace", "DejaVu Sans Mono", "Noto Sans CJK JP", "monospace"),
    )
    # Gradio's own greys are too pale to read on a projector.
    return base.set(
        body_background_fill="#ffffff",  # as the stage's
        body_background_fill_dark="#12161b",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        block_label_text_color="*neutral_700",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_200",
    )


def head(viewer: Folder, vendor: Folder, traces: Folder, space: str | None = None) -> str:
    """Everything that must work before Gradio does: styles, the viewer's modules, the hero trace, the page's facts."""
    base = f"viewer/{viewer.hash}/"
    plotly = next((f"vendor/{name}" for name in vendor.names(".js") if name.startswith(_PLOTLY)), None)
    page = {"viewer": base, "plotly": plotly, "traces": trace_list(traces), "space": space}
    page["writer"] = writer(_README.read_text(encoding="utf-8")) if _README.exists() else ""
    page["faults"] = lanes.explained()
    hero = traces.files.get("hero.jsonl")
    parts = [f"<script>{_EARLY_TRACE.read_text(encoding='utf-8')}</script>"]
    parts += [f"<style>{_CSS}</style>", f"<script>{_FORM_LINK.read_text(encoding='utf-8')}</script>"]
    parts += [f'<link rel="stylesheet" href="{base}{name}">' for name in viewer.names(".css")]
    # Only what the first paint needs: the other modules would take its connections.
    parts += [f'<link rel="modulepreload" href="{base}{name}">' for name in imports(viewer, "main.js")]
    if hero:
        parts.append(f'<script type="application/x-ndjson" id="ragged-hero">{_inert(hero.body.decode())}</script>')
    parts.append(f'<script type="application/json" id="ragged-page">{_inert(json.dumps(page))}</script>')
    parts.append(f'<script type="module" src="{base}main.js"></script>')
    return "\n".join(parts)


def writer(readme: str) -> str:
    """The code with which another engine writes a trace, as the README shows it; "" where it does not.

    >>> writer("# Ragged\\n## Your own engine\\nLike this:\\n```python\\nprint(1)\\n```\\n## Map\\n```\\nx\\n```")
    'print(1)\\n'
    >>> writer("# Ragged\\n## Your own engine\\nNot yet.\\n## Map\\n```\\nx\\n```")
    ''
    """
    section = readme.partition("\n## Your own engine\n")[2].partition("\n## ")[0]
    found = _CODE.search(section)
    return found[1] if found else ""


def imports(viewer: Folder, name: str) -> list[str]:
    """The modules that must have come before module `name` runs, itself first: its static imports, and theirs."""
    found = [name] if name in viewer.files else []
    for module in found:  # grows meanwhile
        text = viewer.files[module].body.decode()
        found += dict.fromkeys(n for n in _IMPORT.findall(text) if n in viewer.files and n not in found)
    return found


def blocks(store: RunStore, offer: Offer) -> gr.Blocks:
    """The Gradio side of the page. The viewer moves its stage into the mount point."""
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as demo:
        gr.HTML(html_template='<div id="ragged-mount"></div>', js_on_load=None, apply_default_css=False)
        controls.build(demo, store, offer)
    return demo


def _inert(text: str) -> str:
    """JSON that cannot end its script element: `<` occurs in JSON only inside strings, where this is its escape."""
    return text.replace("<", "\\u003c")
