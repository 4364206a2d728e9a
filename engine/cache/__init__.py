"""KV caches with per-row rollback: `padded` (realigned rectangles) and `slots` (written in place)."""
