"""Where a URL that the user did not write may lead, by the address that a connection is made to."""

import ipaddress

import pytest

from dragoman.transports.http.reach import Zone, permitted, zone_of, zone_spelled
from support.proofs import proves

ZONES = {
    Zone.MACHINE: (
        *("127.0.0.1", "127.255.0.9", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1"),
        *("64:ff9b::7f00:1", "2002:7f00:1::"),
    ),
    Zone.PRIVATE: (
        *("10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1"),
        *("fc00::1", "fdff::1", "fec0::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:c0a8:101::"),
    ),
    Zone.SPECIAL: ("169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "240.0.0.1", "255.255.255.255"),
    Zone.PUBLIC: ("8.8.8.8", "172.32.0.1", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"),
}


@proves("C8")
@pytest.mark.parametrize(("zone", "text"), [(zone, text) for zone, texts in ZONES.items() for text in texts])
def test_an_address_is_of_one_zone_whatever_carries_it(zone: Zone, text: str) -> None:
    assert zone_of(ipaddress.ip_address(text)) is zone
    assert zone_spelled(text) is zone


@proves("C8")
@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST", "localhost.", "a.localhost", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0"]
)
def test_this_machine_has_many_spellings(host: str) -> None:
    assert zone_spelled(host) is Zone.MACHINE


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example", "localhost.example", "x", "1.2.3.4.5"])
def test_a_name_has_to_be_looked_up(host: str) -> None:
    assert zone_spelled(host) is None


@proves("C8")
@pytest.mark.parametrize(
    ("home", "allow_intranet", "zones"),
    [
        ((Zone.PUBLIC,), False, {Zone.PUBLIC}),
        ((), False, {Zone.PUBLIC}),
        ((Zone.PUBLIC,), True, {Zone.PUBLIC, Zone.PRIVATE}),
        ((Zone.PRIVATE,), False, {Zone.PUBLIC, Zone.PRIVATE}),
        ((Zone.PRIVATE,), True, {Zone.PUBLIC, Zone.PRIVATE}),
        ((Zone.MACHINE,), False, {Zone.PUBLIC, Zone.PRIVATE, Zone.MACHINE}),
        ((Zone.SPECIAL,), False, {Zone.PUBLIC, Zone.SPECIAL}),
    ],
)
def test_others_may_lead_where_the_users_own_server_is(
    home: tuple[Zone, ...], allow_intranet: bool, zones: set[Zone]
) -> None:
    assert permitted(home, allow_intranet) == zones
