"""What the contract tests of `proxies` know of the experiment."""

from benches import why_not

from tare.lab.project import catalog

loaded = catalog.load("proxies")
variants = list(loaded.variants)
fronts = [name for name in variants if loaded.variants[name].properties["proxy"]]
FEW = {"connections": 4}
"""Clients enough to see that connections are kept: the oracle asks ten times over each."""


def protocols(variant: str) -> list[str]:
    """Those it supports."""
    every = loaded.study.factors["protocol"].levels
    return [name for name in every if why_not("proxies/requests", variant, protocol=name) is None]
