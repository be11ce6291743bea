"""What the contract tests of `cache` know of the experiment."""

from tare.lab import catalog

loaded = catalog.load("cache")
variants = list(loaded.variants)
OTHERS = [name for name in variants if name not in ("threads", "aio-off")]
"""Those that do not leave nginx as it is."""
FEW = {"hot_count": 20, "cold_count": 5}
"""Objects enough for the oracle, which brings its own."""
