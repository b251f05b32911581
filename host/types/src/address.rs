//! Which addresses guests and downloads may reach without an operator's word (06-cluster.md, 4).
//!
//! One rule for both; who allows exceptions is the caller's affair.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public network: not private, loopback, link-local, shared,
/// multicast, documentation, reserved, nor a mapped or translated form of such a one.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let protocol = a == 192 && b == 0 && c == 0;
    let benchmark = a == 198 && (b == 18 || b == 19);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || shared
        || protocol
        || benchmark)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    if let Some(inner) = embedded_v4(address) {
        return is_public_v4(inner);
    }
    // Only 2000::/3 is handed out as global unicast (RFC 4291, 2.4).
    let global = segments[0] & 0xe000 == 0x2000;
    let documentation = segments[0] == 0x2001 && segments[1] == 0x0db8;
    let teredo = segments[0] == 0x2001 && segments[1] == 0;
    global && !documentation && !teredo
}

/// The IPv4 address inside a mapped, compatible, NAT64 or 6to4 one.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let last = Ipv4Addr::from((u32::from(s[6]) << 16) | u32::from(s[7]));
    let zeros = s[..5].iter().all(|part| *part == 0);
    if zeros && (s[5] == 0xffff || s[5] == 0 && (s[6] != 0 || s[7] > 1)) {
        return Some(last);
    }
    if s[0] == 0x0064 && s[1] == 0xff9b {
        return Some(last);
    }
    (s[0] == 0x2002).then(|| Ipv4Addr::from((u32::from(s[1]) << 16) | u32::from(s[2])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_network_is_public() {
        for public in
            ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
        {
            assert!(is_public(public.parse().expect(public)), "{public}");
        }
        for closed in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "198.18.0.1",
            "192.0.2.1",
            "240.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "2001:db8::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::127.0.0.1",
            "fec0::1",
        ] {
            assert!(!is_public(closed.parse().expect(closed)), "{closed}");
        }
    }
}
