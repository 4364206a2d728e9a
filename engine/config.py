"""RunConfig: everything that decides what a run computes. It checks itself."""

from dataclasses import asdict, dataclass, fields
from math import isfinite

from engine import costs
from engine.registry import (
    ADAPT,
    FAULTS,
    LOSSLESS,
    METHODS,
    NOT_BUILT,
    PROPOSERS,
    PUBLISHED_BROKEN,
    PUBLISHED_EXACT,
    REFILLING,
)

FLOOR = 0.2  # chance below which a draft is left out
POISSON = "poisson:"  # arrivals at random, so many per step

MAX_K = 16
MAX_MATCH = 3  # tokens: the longest suffix that n-gram looks up
MAX_ROWS = 64  # decoded together; also prompts, where no batch size is set
MAX_PROMPTS = 1024
MAX_WINDOW = 1024
MAX_NEW = 4096
MAX_STEP = 10**6


def is_step(value: object) -> bool:
    """Whether an arrival is a moment on the clock of the steps."""
    return isinstance(value, int | float) and isfinite(value) and 0 <= value <= MAX_STEP


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
    match: int = 2  # hybrid: tokens that must repeat before n-gram drafts instead of the EAGLE-3 head
    max_new: int = 48
    batch: int | None = None  # rows decoded together; None: all prompts
    refill: bool = False  # eqspec, slots: a waiting row takes the place of one that has ended
    window: int | None = None
    grouping: str = "content"  # exspec: content, paper, none (refill only)
    age: int = 16  # exspec: most rounds in which a row of the window is passed over (see engine.pool)
    budget: int | None = None  # drafts verified per round across the batch, the likeliest first; None: no cap
    adapt: frozenset[str] = frozenset()  # draft lengths follow these; empty: K as far as there is room
    floor: float = FLOOR  # acceptance and confidence: drafts less likely than this to be all accepted are left out
    costs: tuple[tuple[int, int, float], ...] = ()  # cost: (rows, drafts per row, ms of such a round), measured
    sampling: str = "greedy"
    temperature: float = 0.0
    top_k: int = 0  # 0: all tokens
    top_p: float = 1.0
    seed: int = 0
    faults: frozenset[str] | None = None  # None: those the method was published with
    fidelity: str = "exact"  # paper: as the published code does it; bitwise: slots with fixed shapes (engine.bitwise)
    arrivals: tuple[float, ...] | str = ()  # a step for each prompt, or "poisson:RATE" (see engine.arrivals)
    processors: str = "refuse"  # a model that asks for penalties is refused; "none": decode without them, on all sides
    chat: bool = True  # prompts go through the chat template
    dtype: str = "float32"
    device: str = "cpu"

    def __post_init__(self) -> None:
        self._choice("method", METHODS)
        self._choice("proposer", PROPOSERS)
        self._choice("sampling", ("greedy", "shared_noise", "rejection"))
        self._choice("fidelity", ("exact", "paper", "bitwise"))
        self._choice("processors", ("refuse", "none"))
        self._choice("grouping", ("content", "paper", "none"))
        self._choice("dtype", ("float32", "float64", "bfloat16", "float16"))
        self._range("k", 1, MAX_K)
        self._range("match", 1, MAX_MATCH)
        self._range("max_new", 1, MAX_NEW)
        if self.batch is not None:
            self._range("batch", 1, MAX_ROWS)
        self._range("age", 1, 1 << 20)
        if self.window is not None:
            self._range("window", self.batch or 1, MAX_WINDOW)
            if self.method != "exspec":
                raise ConfigError("window", self.window, "only exspec has a window; leave it out")
        self._lengths()
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
        self._fidelity()
        self._requests()

    def places(self, count: int) -> int:
        """How many of `count` rows hold KV at a time: the window, the batch that is refilled, or the static batch."""
        size = self.batch or count
        return min(count, (self.window or 4 * size) if self.method == "exspec" else size)

    def _requests(self) -> None:
        """Rows that join a running batch: refill and arrivals."""
        if self.refill is not False:
            plain = not self.faults and self.fidelity == "exact"
            if self.refill is not True or self.method not in REFILLING or not plain:
                works = f"{' and '.join(REFILLING)} take refill=True, without faults and with fidelity='exact'"
                raise ConfigError("refill", self.refill, works)
        if self.arrivals == ():
            return
        if self.method != "exspec" and not self.refill:
            works = f"rows join a running batch in exspec, and in {' and '.join(REFILLING)} with refill=True"
            raise ConfigError("arrivals", self.arrivals, works)
        if isinstance(self.arrivals, str):
            try:
                rate = float(self.arrivals.removeprefix(POISSON)) if self.arrivals.startswith(POISSON) else 0.0
            except ValueError:
                rate = 0.0
            if not 1e-3 <= rate <= 1e3:
                raise ConfigError("arrivals", self.arrivals, f"write {POISSON}RATE with a rate from 0.001 to 1000")
        elif not isinstance(self.arrivals, tuple) or not all(map(is_step, self.arrivals)):
            raise ConfigError("arrivals", self.arrivals, f"give steps from 0 to {MAX_STEP}, one for each prompt")

    def _fidelity(self) -> None:
        if self.fidelity == "bitwise" and (self.method != "slots" or self.sampling != "greedy"):
            works = "method='slots' with sampling='greedy': only there shapes are fixed"
            raise ConfigError("fidelity", self.fidelity, works)
        if self.fidelity != "paper":
            return
        if self.method not in PUBLISHED_EXACT:
            works = (
                f"{' and '.join(PUBLISHED_EXACT)} have a published code that is exact; for {self.method} leave it out"
            )
            raise ConfigError("fidelity", self.fidelity, works)
        if self.faults:
            raise ConfigError("faults", sorted(self.faults), "fidelity='paper' is exact: take one of the two")
        for field, value in (("adapt", sorted(self.adapt)), ("budget", self.budget)):
            if value:
                works = "fidelity='paper' shares one draft length over the batch: take one of the two"
                raise ConfigError(field, value, works)
        if self.sampling == "rejection":
            works = "fidelity='paper' shares one draft length over the batch: choose shared_noise or greedy"
            raise ConfigError("sampling", self.sampling, works)

    def _lengths(self) -> None:
        if self.budget is not None:
            self._range("budget", 1, MAX_ROWS * MAX_K)
        object.__setattr__(self, "adapt", frozenset(self.adapt))
        if unknown := sorted(self.adapt - set(ADAPT)):
            raise ConfigError("adapt", unknown, f"choose of {', '.join(ADAPT)}")
        if not 0 < self.floor < 1:
            raise ConfigError("floor", self.floor, "choose a number above 0 and below 1")
        if bool(self.costs) != ("cost" in self.adapt):
            works = "adapt={'cost'} and a table go together; `bench --costs FILE` measures one"
            raise ConfigError("costs", self.costs, works)
        if wrong := costs.problem(self.costs, self.k):
            raise ConfigError("costs", self.costs, wrong)
        object.__setattr__(self, "costs", tuple(map(tuple, self.costs)))

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
        if self.sampling == "rejection" and (biased := self.adapt - {"acceptance"} or self.budget):
            works = "rejection sampling is biased where a draft's length depends on its own tokens, and a row would "
            field = "adapt" if self.adapt - {"acceptance"} else "budget"
            raise ConfigError(field, biased, f"{works}depend on the others; adapt={{'acceptance'}} does neither")
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
        arrivals = self.arrivals if isinstance(self.arrivals, str) else list(self.arrivals)
        plain = {"arrivals": arrivals, "costs": [list(cell) for cell in self.costs]}
        return {**asdict(self), "faults": sorted(self.faults), "adapt": sorted(self.adapt), **plain}

    @classmethod
    def from_json(cls, data: dict) -> "RunConfig":
        """Rebuild a configuration from a trace header; unknown fields are ignored."""
        known = {f.name for f in fields(cls)}
        values = {k: v for k, v in data.items() if k in known}
        if values.get("faults") is not None:
            values["faults"] = frozenset(values["faults"])
        for field, kind in (("adapt", frozenset), ("costs", tuple)):
            values[field] = kind(values.get(field, ()))
        arrivals = values.get("arrivals") or ()
        values["arrivals"] = arrivals if isinstance(arrivals, str) else tuple(arrivals)
        return cls(**values)
