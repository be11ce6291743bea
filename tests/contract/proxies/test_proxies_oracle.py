"""Every variant does its job in every protocol and profile, as its own oracle sees it."""

import socket
import ssl

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


@pytest.mark.parametrize("variant", [name for name in variants if name != "h2o"])
def test_at_a_level_of_tls_12_it_speaks_no_other(start, variant):
    """But h2o, which cannot be kept from 1.3."""
    site = start(variant, FEW, protocol="https-tls12")
    site.run_oracle()
    newer = ssl.create_default_context()
    newer.check_hostname, newer.verify_mode = False, ssl.CERT_NONE
    newer.minimum_version = ssl.TLSVersion.TLSv1_3
    with (
        socket.create_connection((site.host, site.port["front"]), timeout=10) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        newer.wrap_socket(plain)


@pytest.mark.parametrize("variant", fronts)
def test_as_shipped(start, variant):
    start(variant, FEW, protocol="h2", profile="as-shipped").run_oracle()


@pytest.mark.parametrize("variant", fronts)
def test_each_difference_is_named_for_both_profiles(variant):
    named = loaded.variants[variant].differences["profile"]
    assert named and all(set(each) == {"tuned", "as-shipped"} for each in named.values())
