"""A run's state in one line, for the visitor who waits for it."""

from ui.request import plain
from ui.run import Run
from ui.runs import RunStore

#: What the engine's stages of getting a model ready are called; anything else it says in words of its own.
STAGES = {
    "wait": "waiting for another process that fetches it",
    "download": "downloading",
    "check": "checking the download",
    "convert": "converting",
    "load": "loading the weights",
}


def ticket(store: RunStore, run: Run) -> dict:
    """{run, status, message}: what the form and the stage are told of a run."""
    return {"run": run.id, "status": run.status, "message": message(store, run)}


def message(store: RunStore, run: Run) -> str:
    """Where in the queue, how far the model is loaded, or how it ended."""
    if run.over:
        why = f": {plain(run.error).rstrip('.')}." if run.error else "."
        return {"done": "Finished", "stopped": "Stopped", "deadline": "Stopped"}.get(run.status, "Failed") + why
    if run.asked:
        return "Stopping at the next step."
    if ahead := store.position(run):
        return f"Waiting: {ahead} {'run' if ahead == 1 else 'runs'} before yours."
    if run.log.last >= 0:
        return "Running."
    state = store.engine.state
    if state.phase == "loading":
        share = f", {state.fraction:.0%}" if state.fraction else ""
        return f"The model is getting ready: {STAGES.get(state.text, state.text.rstrip('.'))}{share}."
    return "Starting."
