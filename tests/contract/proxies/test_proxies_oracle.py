"""Every variant does its job in every protocol and profile, as its own oracle sees it."""

import pytest
from proxies import fronts, loaded, protocols, variants

pytestmark = pytest.mark.contract
TUNED = [(variant, protocol) for variant in variants for protocol in protocols(variant)]
SHIPPED = [(variant, protocol) for variant, protocol in TUNED if protocol in ("http", "h2")]


@pytest.mark.parametrize(("variant", "protocol"), TUNED)
def test_tuned(start, variant, protocol):
    start(variant, protocol=protocol).ask_oracle()


@pytest.mark.parametrize(("variant", "protocol"), SHIPPED)
def test_as_shipped(start, variant, protocol):
    start(variant, protocol=protocol, profile="as-shipped").ask_oracle()


@pytest.mark.parametrize("variant", fronts)
def test_each_difference_is_named_for_both_profiles(variant):
    named = loaded.variants[variant].differences["profile"]
    assert named and all(set(each) == {"tuned", "as-shipped"} for each in named.values())
