"""Row: one prompt being decoded. Knows token ids, limits and its stop rule; nothing of padding, batches or slots."""

from dataclasses import dataclass


@dataclass(slots=True)
class Row:
    """Content ids of one row and the limits that end it. `max_new`, `context` in tokens, `arrive` in steps.

    `stop_ids` is a set and is looked for only among generated tokens, never in the prompt (papers.md A.9).
    """

    row: int
    ids: list[int]
    prompt: int
    max_new: int
    context: int
    stop_ids: frozenset[int]
    endless: bool = False  # no budget: BSP's missing stop rule
    arrive: float = 0.0  # the step from which on it can be decoded
    done: str = ""

    @property
    def generated(self) -> int:
        return len(self.ids) - self.prompt

    @property
    def room(self) -> int:
        """Tokens that this row may still emit."""
        budget = self.context if self.endless else self.max_new - self.generated
        return max(0, min(budget, self.context - len(self.ids)))

    @property
    def output(self) -> list[int]:
        """Generated ids, cut at max_new (a row whose stop rule is broken may have run past it)."""
        return self.ids[self.prompt : self.prompt + self.max_new]

    def commit(self, tokens: list[int]) -> tuple[list[int], str]:
        """Append what the limits allow of `tokens`; returns (kept, why the rest was dropped or "").

        A stop id inside an accepted span is kept, what follows it is dropped:
        row with stop id 2 and room 5, tokens [7, 2, 9] -> ([7, 2], "stop") and the row is done.
        """
        kept, cut = tokens[: self.room], ""
        if len(kept) < len(tokens):
            cut = "context" if self.context - len(self.ids) < len(tokens) else "budget"
        for n, token in enumerate(kept, 1):
            if token in self.stop_ids:
                cut = "stop" if n < len(tokens) else ""
                kept = kept[:n]
                self.done = "stop"
                break
        self.ids.extend(kept)
        if not self.done and self.room == 0:
            self.done = "context" if len(self.ids) >= self.context else "budget"
        return kept, cut
