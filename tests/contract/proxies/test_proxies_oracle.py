"""Every variant does its job in every protocol and profile, as its own oracle sees it."""

import pytest
from proxies import FEW, fronts, loaded, protocols, variants

pytestmark = pytest.mark.contract
# In http other tests ask it, of both profiles: whatever they try, they begin with a sound site.
SECURE = [
    (variant, protocol)
    for variant in variants
    for protocol in protocols(variant)
    if protocol != "http"
]


@pytest.mark.parametrize(("variant", "protocol"), SECURE)
def test_tuned(start, variant, protocol):
    start(variant, FEW, protocol=protocol).run_oracle()


@pytest.mark.parametrize("variant", fronts)
def test_as_shipped(start, variant):
    start(variant, FEW, protocol="h2", profile="as-shipped").run_oracle()


@pytest.mark.parametrize("variant", fronts)
def test_each_difference_is_named_for_both_profiles(variant):
    named = loaded.variants[variant].differences["profile"]
    assert named and all(set(each) == {"tuned", "as-shipped"} for each in named.values())
