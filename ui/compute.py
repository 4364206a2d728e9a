"""One run through the engine: its lines into the run's log, with what only the page knows told in the header."""

import json
import logging

from engine.lines import dump_line, from_json
from engine.worker import Engine, EngineError
from ui.run import Run

_LOG = logging.getLogger(__name__)


def compute(run: Run, engine: Engine) -> None:
    """Let the engine do the run's job, and write what it says. The run is over afterwards, whatever happens."""
    try:
        for line in engine.submit(run.job):
            data = json.loads(line)
            if data["event"] == "end" and not data["lane"]:
                run.finish(data["status"], data.get("error", ""), data)
                continue
            if data["event"] == "header" and (about := run.job.get("about")):
                line = introduced(data, about)
            run.log.append(line, data["seq"])
            if run.asked:  # also when the stop came before the engine had begun
                engine.stop()
        if not run.over:
            raise EngineError("the engine ended without an end event")
    except EngineError as error:
        status, why = run.why if run.asked else ("failed", str(error))
        run.finish(status, why or str(error))
    except OSError as error:
        run.finish("failed", f"the run's file could not be written ({error.strerror})")
    except Exception:
        _LOG.exception("run failed")
        run.finish("failed", "the run stopped on an internal error; the server's log has the details")


def introduced(header: dict, about: dict) -> str:
    """A header's line with what the page knows of a run and the engine does not.

    `about`: {"texts": the prompts' texts where the engine was given ids, other fields as they are}.
    """
    texts, fields = about["texts"], {name: value for name, value in about.items() if name != "texts"}
    prompts = [{**p, "text": text} for p, text in zip(header["prompts"], texts, strict=True)]
    return dump_line(from_json({**header, "prompts": prompts, **fields}))
