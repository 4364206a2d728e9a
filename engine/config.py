"""RunConfig: everything that decides what a run computes. It checks itself."""

from dataclasses import asdict, dataclass, fields

METHODS = ("autoregressive", "eqspec", "exspec", "slots", "rollback", "bsp", "dsd")
PROPOSERS = ("ngram", "draft_model", "self_skip", "eagle3")

#: Defects that a method can carry, with the published reason. Removing them all makes the method exact.
FAULTS = {
    "bsp": {
        "padding_gap": "the first generated token's position counts the pads behind the prompt (papers.md C.1, 1)",
        "rejection_gap": "positions count the dead slots of rejected drafts (C.1, 2)",
        "draft_positions": "the drafter's positions drift in the same way (C.1, 4)",
        "no_stop": "stop ids are ignored and rows run until all have max_new tokens (C.1, 5)",
    },
}

FAULTS["dsd"] = {
    "visible_pads": "no attention mask: pads are attended like words (C.2, 2)",
    "slot_positions": "position ids start at the first pad (C.2, 2); harmless under rotary positions",
    "keep_mismatch": "the first mismatching draft is kept, the target adds nothing (C.2, 3 and 4)",
    "stale_pads": "pads are added every round and never removed (C.2, 5)",
    "fastest_ends": "the run ends with its fastest row; stop ids are ignored (C.2, 7)",
}

FAULTS["eqspec"] = {
    "slot_positions": "position ids count slots, so every shift of a row tears it",
    "kv_not_moved": "entries stay in their slots while the mask is rebuilt",
    "stale_mask": "entries move while the mask keeps the old pads",
    "pads_visible": "pads are attended like words",
    "mismatch_kept": "the first draft that disagrees is kept instead of the target's token",
    "draft_bonus": "the last draft is taken for the bonus token without being verified",
}

#: Methods that are broken as published: they carry all their faults unless told otherwise.
PUBLISHED_BROKEN = ("bsp", "dsd")

#: The part of BSP's faults that tears position ids: what *Repair only BSP's position ids* removes.
POSITION_FAULTS = frozenset({"padding_gap", "rejection_gap", "draft_positions"})

#: Values that the trace format already knows and no method computes yet: refused by name.
NOT_BUILT = {
    "method": ("minedraft",),
    "proposer": ("mtp", "hybrid"),
    "fidelity": ("paper",),
}

#: Methods in which rejection sampling is lossless (papers.md F.5): no row's draft is cut for another's sake.
LOSSLESS = ("autoregressive", "eqspec", "exspec", "slots")

MAX_K = 16
MAX_ROWS = 64  # decoded together; also prompts, where no batch size is set
MAX_PROMPTS = 1024
MAX_WINDOW = 1024
MAX_NEW = 4096


class ConfigError(ValueError):
    """A configuration that cannot run: says which field, which value, and what would work."""

    def __init__(self, field: str, value: object, works: str) -> None:
        self.field, self.value, self.works = field, value, works
        super().__init__(f"{field}={value!r} cannot be used: {works}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """One lane's configuration. Units: K, max_new, batch, window in tokens or rows.

    Raises ConfigError (a ValueError) when a value is out of range or names a part that is not built yet.
    """

    method: str = "eqspec"
    proposer: str = "ngram"
    target: str = "smollm2-135m"
    draft: str | None = None
    k: int = 4
    max_new: int = 48
    batch: int | None = None  # rows decoded together; None: all prompts
    window: int | None = None
    grouping: str = "content"  # exspec: content, paper, none (refill only)
    age: int = 16  # exspec: most rounds in which a row of the window is passed over (see engine.pool)
    budget: int | None = None  # verified tokens per round across the batch; None: no cap
    sampling: str = "greedy"
    temperature: float = 0.0
    top_k: int = 0  # 0: all tokens
    top_p: float = 1.0
    seed: int = 0
    faults: frozenset[str] | None = None  # None: those the method was published with
    fidelity: str = "exact"  # bitwise: slots with fixed shapes (see engine.bitwise)
    arrivals: tuple[float, ...] = ()
    chat: bool = True  # prompts go through the chat template
    dtype: str = "float32"
    device: str = "cpu"

    def __post_init__(self) -> None:
        self._choice("method", METHODS)
        self._choice("proposer", PROPOSERS)
        self._choice("sampling", ("greedy", "shared_noise", "rejection"))
        self._choice("fidelity", ("exact", "bitwise"))
        if self.fidelity == "bitwise" and (self.method != "slots" or self.sampling != "greedy"):
            raise ConfigError(
                "fidelity", "bitwise", "method='slots' with sampling='greedy': only there shapes are fixed"
            )
        self._choice("grouping", ("content", "paper", "none"))
        self._choice("dtype", ("float32", "float64", "bfloat16", "float16"))
        self._range("k", 1, MAX_K)
        self._range("max_new", 1, MAX_NEW)
        if self.batch is not None:
            self._range("batch", 1, MAX_ROWS)
        self._range("age", 1, 1 << 20)
        if self.window is not None:
            self._range("window", self.batch or 1, MAX_WINDOW)
            if self.method != "exspec":
                raise ConfigError("window", self.window, "only exspec has a window; leave it out")
        for field in ("budget", "arrivals"):
            if getattr(self, field) not in (None, ()):
                raise ConfigError(field, getattr(self, field), "not built yet: leave it out")
        if self.proposer == "draft_model" and not self.draft:
            raise ConfigError("draft", self.draft, "proposer draft_model needs a directory or a hub name")
        self._sampling()
        known = FAULTS.get(self.method, {})
        published = known if self.method in PUBLISHED_BROKEN else ()
        faults = frozenset(published if self.faults is None else self.faults)
        if unknown := sorted(faults - set(known)):
            works = f"{self.method} knows {sorted(known)}" if known else f"{self.method} has no faults"
            raise ConfigError("faults", unknown, works)
        object.__setattr__(self, "faults", faults)

    def _sampling(self) -> None:
        if self.sampling == "greedy":
            for field, plain in (("temperature", 0.0), ("top_k", 0), ("top_p", 1.0)):
                if getattr(self, field) != plain:
                    works = f"greedy decoding takes {plain}; choose sampling='shared_noise' to sample"
                    raise ConfigError(field, getattr(self, field), works)
            return
        if self.sampling == "rejection" and (self.method not in LOSSLESS or self.faults):
            works = f"where a row's rounds depend on that row alone: {', '.join(LOSSLESS)}, without faults"
            raise ConfigError("sampling", "rejection", works)
        if not 0.01 <= self.temperature <= 10:
            raise ConfigError("temperature", self.temperature, "choose a number from 0.01 to 10, or sampling='greedy'")
        if not 0 < self.top_p <= 1:
            raise ConfigError("top_p", self.top_p, "choose a number above 0, at most 1")
        self._range("top_k", 0, 1 << 20)

    def _choice(self, field: str, works: tuple[str, ...]) -> None:
        value = getattr(self, field)
        if value in NOT_BUILT.get(field, ()):
            raise ConfigError(field, value, f"not built yet; choose one of {', '.join(works)}")
        if value not in works:
            raise ConfigError(field, value, f"choose one of {', '.join(works)}")

    def _range(self, field: str, low: int, high: int) -> None:
        value = getattr(self, field)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ConfigError(field, value, f"choose a whole number from {low} to {high}")

    def to_json(self) -> dict:
        """The configuration as plain data, for the trace header."""
        return {**asdict(self), "faults": sorted(self.faults), "arrivals": list(self.arrivals)}

    @classmethod
    def from_json(cls, data: dict) -> "RunConfig":
        """Rebuild a configuration from a trace header; unknown fields are ignored."""
        known = {f.name for f in fields(cls)}
        values = {k: v for k, v in data.items() if k in known}
        if values.get("faults") is not None:
            values["faults"] = frozenset(values["faults"])
        values["arrivals"] = tuple(values.get("arrivals", ()))
        return cls(**values)
