//! Which addresses are public, and which others an operator allows. Rule: 06-cluster.md section 4.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// What an operator says about outbound connections of all guests of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboundPolicy {
    /// Addresses that are not public and may be reached all the same, where a job is granted them.
    pub allowed: Vec<AddressRange>,
    /// Ports of the cluster itself on this host; never reachable.
    pub control: Vec<SocketAddr>,
}

impl OutboundPolicy {
    /// Why an address may not be reached; `None`: it may.
    pub(crate) fn refuse(&self, to: SocketAddr) -> Option<&'static str> {
        let ip = to.ip().to_canonical();
        if self.control.iter().any(|control| is_same_service(*control, ip, to.port())) {
            return Some("it belongs to the cluster itself");
        }
        if self.allowed.iter().any(|range| range.contains(ip)) {
            return None;
        }
        not_public(ip)
    }
}

/// A control port that listens everywhere is reached by every address of this host; which those
/// are is not known here, so the port number decides for addresses that are not public.
fn is_same_service(control: SocketAddr, ip: IpAddr, port: u16) -> bool {
    if control.port() != port {
        return false;
    }
    let own = control.ip().to_canonical();
    own == ip || own.is_unspecified() || (own.is_loopback() && not_public(ip).is_some())
}

/// A block of addresses, written `10.0.0.0/8` or as one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    base: IpAddr,
    prefix_bits: u8,
}

impl AddressRange {
    #[must_use]
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.base, ip) {
            (IpAddr::V4(base), IpAddr::V4(ip)) => {
                let bits = u32::from(self.prefix_bits);
                (base.to_bits() ^ ip.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(base), IpAddr::V6(ip)) => {
                let bits = u32::from(self.prefix_bits);
                (base.to_bits() ^ ip.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for AddressRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("expected a range such as 10.0.0.0/8, saw {text:?}");
        let (base, prefix) = text.split_once('/').unwrap_or((text, ""));
        let base: IpAddr = base.parse().map_err(|_| bad())?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            "" if text.contains('/') => return Err(bad()),
            "" => most,
            prefix => prefix.parse().ok().filter(|bits| *bits <= most).ok_or_else(bad)?,
        };
        Ok(Self { base, prefix_bits })
    }
}

/// Why an address is not a public one; `None`: it is.
pub(crate) fn not_public(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => not_public_v4(ip),
        IpAddr::V6(ip) => not_public_v6(ip),
    }
}

/// Source: the IANA special-purpose registry for IPv4.
fn not_public_v4(ip: Ipv4Addr) -> Option<&'static str> {
    match ip.octets() {
        [0, ..] => Some("it is an address of this network"),
        [127, ..] => Some("it is a loopback address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("it is a private address"),
        [100, 64..=127, ..] => Some("it is a shared (carrier) address"),
        [169, 254, ..] => Some("it is a link-local (metadata) address"),
        [192, 0, 0, _] | [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Some("it is a reserved address")
        }
        [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..] => Some("it is a reserved address"),
        [224..=239, ..] => Some("it is a multicast address"),
        _ => None,
    }
}

/// Source: the IANA special-purpose registry for IPv6. Forms that carry an IPv4 address are judged
/// by that address.
fn not_public_v6(ip: Ipv6Addr) -> Option<&'static str> {
    if let Some(v4) = embedded_v4(ip) {
        return not_public_v4(v4);
    }
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("it is the unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("it is a loopback address"),
        [0xfc00..=0xfdff, ..] => Some("it is a private address"),
        [0xfe80..=0xfebf, ..] => Some("it is a link-local address"),
        [0xfec0..=0xfeff, ..] => Some("it is a site-local address"),
        [0xff00..=0xffff, ..] => Some("it is a multicast address"),
        [0x2000..=0x3fff, second, ..] => {
            let documentation = ip.segments()[0] == 0x2001 && second == 0x0db8;
            let special = ip.segments()[0] == 0x2001 && second < 0x0200;
            let documentation2 = ip.segments()[0] == 0x3fff && second < 0x1000;
            (documentation || special || documentation2).then_some("it is a reserved address")
        }
        _ => Some("it is a reserved address"),
    }
}

fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match ip.segments() {
        // Mapped; compatible (old), but not :: and ::1; NAT64; 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(joined(high, low))
        }
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(policy: &OutboundPolicy, address: &str) -> bool {
        policy.refuse(address.parse().unwrap()).is_some()
    }

    #[test]
    fn only_public_addresses_are_reachable_by_default() {
        let policy = OutboundPolicy::default();
        for address in [
            "127.0.0.1:80",
            "127.8.9.1:80",
            "0.0.0.0:80",
            "10.1.2.3:80",
            "172.16.0.1:80",
            "172.31.255.255:80",
            "192.168.1.1:80",
            "100.64.0.1:80",
            "169.254.169.254:80",
            "192.0.2.1:80",
            "198.18.0.1:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "[::1]:80",
            "[::]:80",
            "[fd00::1]:80",
            "[fe80::1]:80",
            "[ff02::1]:80",
            "[::ffff:10.0.0.1]:80",
            "[::ffff:169.254.169.254]:80",
            "[64:ff9b::7f00:1]:80",
            "[2002:7f00:1::]:80",
            "[::7f00:1]:80",
            "[2001:db8::1]:80",
            "[2001::1]:80",
            "[100::1]:80",
        ] {
            assert!(refused(&policy, address), "{address}");
        }
        for address in [
            "93.184.216.34:443",
            "172.32.0.1:80",
            "100.128.0.1:80",
            "[2606:4700::1111]:443",
            "[::ffff:93.184.216.34]:443",
            "[2002:5db8:d822::]:443",
        ] {
            assert!(!refused(&policy, address), "{address}");
        }
    }

    #[test]
    fn an_operator_opens_a_range_but_never_the_control_ports() {
        let policy = OutboundPolicy {
            allowed: vec!["127.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()],
            control: vec!["127.0.0.1:4646".parse().unwrap()],
        };
        assert!(!refused(&policy, "127.0.0.1:80"));
        assert!(!refused(&policy, "[::ffff:127.0.0.1]:80"), "the mapped form is the same address");
        assert!(!refused(&policy, "[fd12::1]:80"));
        assert!(refused(&policy, "10.0.0.1:80"));
        assert!(refused(&policy, "127.0.0.1:4646"));
        assert!(refused(&policy, "127.0.0.2:4646"));
        assert!(refused(&policy, "[::1]:4646"));
    }

    #[test]
    fn ranges_are_read_strictly() {
        for bad in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "::/129", "10.0.0.0/-1", "a/8"] {
            assert!(bad.parse::<AddressRange>().is_err(), "{bad:?}");
        }
        let all: AddressRange = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("8.8.8.8".parse().unwrap()));
        let one: AddressRange = "10.0.0.7".parse().unwrap();
        assert!(one.contains("10.0.0.7".parse().unwrap()));
        assert!(!one.contains("10.0.0.6".parse().unwrap()));
    }
}
