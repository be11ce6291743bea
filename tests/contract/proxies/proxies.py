"""What the contract tests of `proxies` know of the experiment."""

from tare.lab import catalog

loaded = catalog.load("proxies")
variants = list(loaded.variants)
fronts = [name for name in variants if loaded.variants[name].properties["proxy"]]


def protocols(variant: str) -> list[str]:
    """Those it supports."""
    return loaded.variants[variant].supports.get("protocol", ["http", "https", "h2", "h3"])
