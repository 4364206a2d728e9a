"""registry: the methods, proposers and faults that there are, and what each of them can do. Words only, no code."""

METHODS = ("autoregressive", "eqspec", "exspec", "slots", "rollback", "bsp", "dsd")
PROPOSERS = ("ngram", "draft_model", "self_skip", "eagle3", "hybrid", "mtp", "draft_small")

#: Each method in a sentence, for the form. One without a sentence is offered by its name alone.
METHOD_SAYS = {
    "autoregressive": "writes one token per pass, without drafts; run alone, it is the reference of every other method",
    "eqspec": "takes rejected drafts out of memory and shifts rows every round, so that the batch stays a rectangle",
    "exspec": "decodes rows of equal length together: such a group shifts nothing while its rows accept alike",
    "slots": "gives every row its own place in memory and never moves an entry",
    "rollback": "lets every row keep only as many drafts as the slowest row: exact, and wasteful",
    "bsp": "masks rejected drafts and pads but counts them in the position ids, so that its rows hear gaps",
    "dsd": "keeps nothing in memory and feeds whole rows again every round; as published, the model sees the pads",
}

#: Each proposer by name and in a sentence, in the form's order.
PROPOSER_SAYS = {
    "ngram": ("n-gram", "copies what followed the same tokens earlier in the row's own text; no second model"),
    "eagle3": ("EAGLE-3", "one small layer on the model's own inner states, trained here"),
    "hybrid": ("hybrid", "n-gram where two or more tokens repeat, else EAGLE-3"),
    "mtp": ("MTP", "one layer on the model's last states, fed its own output again, trained here"),
    "draft_small": ("small draft model", "a few layers, trained here to agree with the model"),
    "self_skip": ("self-skip", "the model itself with some of its layers left out"),
    "draft_model": ("draft model", "a smaller model with the same vocabulary"),
}

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
