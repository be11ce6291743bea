"""What the contract tests of `cache` know of the experiment."""

from tare.lab.project import catalog, requirements

loaded = catalog.load("cache")
PEERS = [name for name in loaded.variants if "queue" not in loaded.variants[name].properties]
"""Those that are not nginx."""
variants = [
    name
    for name in loaded.variants
    if name not in PEERS
    and not any(item.pci for item in requirements.missing(requirements.of(loaded, name)))
]
"""Those of nginx that this machine can have: hardware is there or not."""
OTHERS = [name for name in variants if name not in ("threads", "aio-off")]
"""Those that do not leave nginx as it is."""
QUEUES = [name for name in OTHERS if loaded.variants[name].properties["queue"] == name]
"""Those that are a queue of the pool, and nothing else."""
FEW = {"hot_count": 20, "cold_count": 5}
"""Objects enough for the oracle, which brings its own."""
