"""Every variant does its job in every protocol and profile, as its own oracle sees it."""

import pytest
from proxies import protocols, variants

pytestmark = pytest.mark.contract
EACH = [(variant, protocol) for variant in variants for protocol in protocols(variant)]


@pytest.mark.parametrize("profile", ["tuned", "as-shipped"])
@pytest.mark.parametrize(("variant", "protocol"), EACH)
def test_it_holds(start, variant, protocol, profile):
    start(variant, protocol=protocol, profile=profile).ask_oracle()
