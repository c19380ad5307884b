//! The addresses that a hook may reach: those of the internet, unless its configuration says otherwise.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the internet: no machine of ours, of our network or of nobody.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let special = match ip.octets() {
        // This network, and carrier-grade NAT.
        [0, ..] | [100, 64..=127, ..] => true,
        // Protocol assignments, relays of 6to4, and documentation.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 51, 100, _] | [203, 0, 113, _] => true,
        // Benchmarks.
        [198, 18..=19, ..] => true,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => true,
        _ => false,
    };
    !(special || ip.is_private() || ip.is_loopback() || ip.is_link_local())
}

/// Only global unicast is public, and of it nothing that leads to an IPv4 address which is not.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(mapped) = ip.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    match ip.segments() {
        // NAT64 ends in the IPv4 address that it leads to.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)),
        // Protocol assignments (Teredo is among them), documentation.
        [0x2001, 0x0..=0x1ff | 0xdb8, ..] | [0x3fff, 0x0..=0xfff, ..] => false,
        // 6to4 begins with it.
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for good in ["1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "193.0.0.1", "2606:4700::1111"]
        {
            assert!(is_public(good.parse().unwrap()), "{good}");
        }
        for good in ["::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"] {
            assert!(is_public(good.parse().unwrap()), "{good}");
        }
    }

    #[test]
    fn addresses_of_this_machine_and_of_networks_like_it_are_not_public() {
        for bad in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!is_public(bad.parse().unwrap()), "{bad}");
        }
    }

    #[test]
    fn an_ipv6_address_that_is_special_or_hides_a_private_one_is_not_public() {
        for bad in [
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:c0a8:1::",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
        ] {
            assert!(!is_public(bad.parse().unwrap()), "{bad}");
        }
    }
}
