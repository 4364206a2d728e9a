"""registry: the methods, proposers and faults that there are, and what each of them can do. Names only, no code."""

METHODS = ("autoregressive", "eqspec", "exspec", "slots", "rollback", "bsp", "dsd")
PROPOSERS = ("ngram", "draft_model", "self_skip", "eagle3", "hybrid", "mtp", "draft_small")

#: Defects that a method can carry, with the published reason. Removing them all makes the method exact.
FAULTS = {
    "bsp": {
        "padding_gap": "the first generated token's position counts the pads behind the prompt (papers.md C.1, 1)",
        "rejection_gap": "positions count the dead slots of rejected drafts (C.1, 2)",
        "draft_positions": "the drafter's positions drift in the same way (C.1, 4)",
        "no_stop": "stop ids are ignored and rows run until all have max_new tokens (C.1, 5)",
    },
    "dsd": {
        "visible_pads": "no attention mask: pads are attended like words (C.2, 2)",
        "slot_positions": "position ids start at the first pad (C.2, 2); harmless under rotary positions",
        "keep_mismatch": "the first mismatching draft is kept, the target adds nothing (C.2, 3 and 4)",
        "stale_pads": "pads are added every round and never removed (C.2, 5)",
        "fastest_ends": "the run ends with its fastest row; stop ids are ignored (C.2, 7)",
    },
    "eqspec": {
        "slot_positions": "position ids count slots, so every shift of a row tears it",
        "kv_not_moved": "entries stay in their slots while the mask is rebuilt",
        "stale_mask": "entries move while the mask keeps the old pads",
        "pads_visible": "pads are attended like words",
        "mismatch_kept": "the first draft that disagrees is kept instead of the target's token",
        "draft_bonus": "the last draft is taken for the bonus token without being verified",
    },
}

#: Methods that are broken as published: they carry all their faults unless told otherwise.
PUBLISHED_BROKEN = ("bsp", "dsd")

#: The part of BSP's faults that tears position ids: what *Repair only BSP's position ids* removes.
POSITION_FAULTS = frozenset({"padding_gap", "rejection_gap", "draft_positions"})

#: Values that the trace format already knows and no method computes yet: refused by name.
NOT_BUILT = {
    "method": ("minedraft",),
}

#: What a row's draft length may follow, besides K and room (engine.lengths).
ADAPT = ("acceptance", "confidence", "cost")

#: Methods in which rejection sampling is lossless (papers.md F.5): no row's draft is cut for another's sake.
LOSSLESS = ("autoregressive", "eqspec", "exspec", "slots")

#: Methods whose published code is exact, and wasteful in ways of its own: see `engine.methods.published`.
PUBLISHED_EXACT = ("eqspec", "exspec")

#: Methods that run in static batches unless they are asked to refill; exspec always refills.
REFILLING = ("eqspec", "slots")
