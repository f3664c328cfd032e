import ipaddress

import pytest

from jobs.cluster.network_addresses import (
    CREDENTIALS,
    SPECIAL,
    closed_part,
    embedded,
    parse_address,
    tells_credentials,
)

# The rows of the two IANA registries, and what is closed besides them.
ROWS = {
    "this network": "0.0.0.0/8",
    "this host on this network": "0.0.0.0/32",
    "private use, 10": "10.0.0.0/8",
    "shared address space": "100.64.0.0/10",
    "loopback": "127.0.0.0/8",
    "link local": "169.254.0.0/16",
    "private use, 172": "172.16.0.0/12",
    "IETF protocol assignments": "192.0.0.0/24",
    "IPv4 service continuity prefix": "192.0.0.0/29",
    "IPv4 dummy address": "192.0.0.8/32",
    "port control protocol anycast": "192.0.0.9/32",
    "TURN anycast": "192.0.0.10/32",
    "NAT64 discovery": "192.0.0.170/32",
    "DNS64 discovery": "192.0.0.171/32",
    "documentation 1": "192.0.2.0/24",
    "AS112-v4": "192.31.196.0/24",
    "AMT": "192.52.193.0/24",
    "deprecated 6to4 relay anycast": "192.88.99.0/24",
    "private use, 192": "192.168.0.0/16",
    "AS112 by direct delegation": "192.175.48.0/24",
    "benchmarking": "198.18.0.0/15",
    "documentation 2": "198.51.100.0/24",
    "documentation 3": "203.0.113.0/24",
    "multicast": "224.0.0.0/4",
    "reserved": "240.0.0.0/4",
    "limited broadcast": "255.255.255.255/32",
    "loopback, IPv6": "::1/128",
    "unspecified, IPv6": "::/128",
    "IPv4-mapped": "::ffff:0:0/96",
    "IPv4-IPv6 translation": "64:ff9b::/96",
    "IPv4-IPv6 translation, local": "64:ff9b:1::/48",
    "discard only": "100::/64",
    "dummy prefix, IPv6": "100:0:0:1::/64",
    "IETF protocol assignments, IPv6": "2001::/23",
    "Teredo": "2001::/32",
    "port control protocol anycast, IPv6": "2001:1::1/128",
    "TURN anycast, IPv6": "2001:1::2/128",
    "DNS-SD service registration anycast": "2001:1::3/128",
    "benchmarking, IPv6": "2001:2::/48",
    "AMT, IPv6": "2001:3::/32",
    "AS112-v6": "2001:4:112::/48",
    "deprecated ORCHID": "2001:10::/28",
    "ORCHIDv2": "2001:20::/28",
    "drone remote identification": "2001:30::/28",
    "documentation, IPv6": "2001:db8::/32",
    "6to4": "2002::/16",
    "AS112 by direct delegation, IPv6": "2620:4f:8000::/48",
    "documentation, IPv6, second": "3fff::/20",
    "segment routing": "5f00::/16",
    "unique local": "fc00::/7",
    "link local, IPv6": "fe80::/10",
    "site local, IPv6": "fec0::/10",
    "multicast, IPv6": "ff00::/8",
}
NETWORKS = {name: ipaddress.ip_network(text) for name, text in ROWS.items()}
# These forms are judged as the IPv4 address that they carry.
FORMS_OF_IPV4 = {"IPv4-mapped", "IPv4-IPv6 translation"}
OWN = {name: one for name, one in NETWORKS.items() if name not in FORMS_OF_IPV4}


def is_closed(address) -> bool:
    return closed_part(parse_address(str(address))) is not None


def test_the_table_has_every_row_of_the_registries():
    assert sorted(map(str, SPECIAL)) == sorted(ROWS.values())


@pytest.mark.parametrize("network", OWN.values(), ids=OWN)
def test_the_first_and_the_last_address_of_a_special_block_are_closed(network):
    middle = network[network.num_addresses // 2]
    assert [is_closed(one) for one in (network[0], middle, network[-1])] == [True] * 3


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_beside_a_special_block_the_next_row_or_the_range_decides(network):
    last = ipaddress.ip_address(
        "255.255.255.255" if network.version == 4 else f"{'f' * 4}:" * 7 + "ffff"
    )
    numbers = [int(network[0]) - 1, int(network[-1]) + 1]
    for number in (one for one in numbers if 0 <= one <= int(last)):
        address = type(last)(number)
        inside = any(address in one for one in NETWORKS.values())
        is_out_of_range = network.version == 6 and address not in ipaddress.ip_network("2000::/3")
        assert is_closed(address) is (inside or is_out_of_range), address


@pytest.mark.parametrize(
    "text",
    ["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "168.63.129.15", "192.0.1.0", "223.255.255.255",
     "2000::", "2001:200::", "2001:4860:4860::8888", "2600::1", "3ffe::1", "3fff:1000::"],
)  # fmt: skip
def test_what_is_public_is_open(text):
    assert not is_closed(text)


@pytest.mark.parametrize(
    "text",
    ["::2", "1::", "1fff:ffff::", "4000::", "6000::1", "9000::", "c000::1", "f000::", "fbff::1"],
)
def test_ipv6_outside_of_what_is_assigned_is_closed(text):
    assert is_closed(text)


@pytest.mark.parametrize("prefix", ["::ffff:", "64:ff9b::"])
def test_a_form_of_ipv4_is_judged_as_that_address(prefix):
    found = {text: is_closed(f"{prefix}{text}") for text in ("1.1.1.1", "10.0.0.1", "127.0.0.1")}
    assert found == {"1.1.1.1": False, "10.0.0.1": True, "127.0.0.1": True}


FORMS = {
    "IPv4-compatible": "::{dotted}",
    "IPv4-translated": "::ffff:0:{dotted}",
    "local NAT64": "64:ff9b:1::{dotted}",
    "6to4": "2002:{hex}::1",
    "Teredo, the server": "2001:0:{hex}:0:0:fefe:fefe",
    "Teredo, the client": "2001:0:101:101:0:0:{flipped}",
    "ISATAP": "2600:1:2:3:0:5efe:{dotted}",
    "ISATAP, a global address": "2600:1:2:3:200:5efe:{dotted}",
    "ISATAP, the group bit": "2600:1:2:3:100:5efe:{dotted}",
}


def form_of(form: str, dotted: str) -> str:
    number = int(ipaddress.IPv4Address(dotted))
    pair = "{:x}:{:x}"
    flipped = number ^ 0xFFFFFFFF
    return FORMS[form].format(
        dotted=dotted,
        hex=pair.format(number >> 16, number & 0xFFFF),
        flipped=pair.format(flipped >> 16, flipped & 0xFFFF),
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("inner", ["10.1.2.3", "127.0.0.1", "192.168.0.1"])
def test_a_private_address_inside_another_one_is_closed_even_where_the_outer_one_is_allowed(
    form, inner
):
    address = parse_address(form_of(form, inner))
    assert ipaddress.ip_address(inner) in set(embedded(address))
    everything = [ipaddress.ip_network("::/0")]
    assert closed_part(address, everything) == ipaddress.ip_address(inner)
    assert closed_part(address, [*everything, ipaddress.ip_network(f"{inner}/32")]) is None


@pytest.mark.parametrize("form", [one for one in FORMS if "ISATAP" not in one])
def test_a_tunnel_to_a_public_address_is_closed(form):
    assert is_closed(form_of(form, "1.1.1.1"))


def test_an_isatap_address_with_a_public_one_is_open():
    assert not is_closed(form_of("ISATAP", "1.1.1.1"))


@pytest.mark.parametrize("form", [*FORMS, "::ffff:", "64:ff9b::"])
@pytest.mark.parametrize(
    "inner", ["169.254.169.254", "168.63.129.16", "192.0.0.192", "100.100.100.200"]
)
def test_an_address_with_credentials_is_found_in_every_form(form, inner):
    text = form_of(form, inner) if form in FORMS else f"{form}{inner}"
    assert tells_credentials(parse_address(text))


@pytest.mark.parametrize(
    "text",
    ["64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1::a9:fea9:fe00:0"],
    ids=["/48", "/56", "/64"],
)
def test_an_address_with_credentials_is_found_behind_every_local_prefix_of_nat64(text):
    assert tells_credentials(parse_address(text))


@pytest.mark.parametrize("network", CREDENTIALS, ids=str)
def test_beside_an_address_with_credentials_none_is_found(network):
    assert tells_credentials(network[0])
    assert tells_credentials(network[-1])
    assert not tells_credentials(network[0] - 1)
    assert not tells_credentials(network[-1] + 1)


def test_a_zone_id_is_left_out():
    assert parse_address("fe80::1%eth0") == ipaddress.ip_address("fe80::1")
