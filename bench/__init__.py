"""Measurements; each module prints one table. Run with `./manage`'s Python: `python -m bench.NAME`."""
