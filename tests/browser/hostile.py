"""A trace with HTML wherever a file may carry a text."""

import json

from tests.engine.test_inspect import lines_of, recorded

HTML = '<img src=x onerror="window.hacked = 1">'


def hostile() -> str:
    """The trace of one lane, HTML in every string that a file may carry, no event that it may lack."""
    out = []
    for line in lines_of(recorded("broken")):
        e = json.loads(line)
        if e["lane"] not in ("", "bsp") or e["event"] in ("violation", "spans", "propose"):
            continue
        if e["event"] == "header":
            e["lanes"], e["title"] = [{"lane": HTML, "config": {"method": HTML, "faults": HTML}}], HTML
            e["prompts"] = [{**p, "text": HTML} for p in e["prompts"]]
            e["models"], e["dtype"], e["device"] = {"target": {"name": HTML}}, HTML, HTML
        elif e["lane"]:
            e["lane"] = HTML
        if e["event"] == "pieces":
            e["pieces"] = [[i, HTML, ""] for i, *_ in e["pieces"]]
        e |= {name: HTML for name in ("reason", "error", "created") if name in e}
        if e.get("verdict", "equal") != "equal":
            e["verdict"] = HTML
        out.append(json.dumps(e))
    return "\n".join(out)
