//! Capture files: the TCP segments that carry something, with the kernel's stamps.
//!
//! In scope: what tcpdump writes of Linux's loopback device on this very machine, of which the capture's filter lets
//! IPv4 through: nanosecond stamps in the machine's byte order, Ethernet. Out of scope: what the bytes mean, and
//! everything else that such files may hold. (A library would bring the whole family of formats for the headers that are
//! read here.)

use anyhow::{Context, Result, bail, ensure};
use std::net::SocketAddr;

/// How a file with stamps in nanoseconds begins.
const MAGIC: u32 = 0xa1b2_3c4d;
/// The same with stamps in microseconds, which are too coarse.
const MAGIC_COARSE: u32 = 0xa1b2_c3d4;
/// Bytes of the header of the file, and of each packet.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;
/// The kind of device that Linux makes its loopback device look like, and the bytes of its header.
const ETHERNET: u32 = 1;
const ETHERNET_HEADER: usize = 14;
/// The longest packet that is believed in: what a loopback device carries at most, and a header.
const PACKET_MAX: u32 = 256 * 1024;
/// The protocol's number in IP.
const TCP: u8 = 6;

/// A TCP segment that carries something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// When the kernel had it: nanoseconds since 1970-01-01 UTC.
    pub stamp: u64,
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver.
    pub to: SocketAddr,
    /// The number of its first byte.
    pub sequence: u32,
    /// Bytes that it carries.
    pub length: u32,
    /// As many of them as were captured.
    pub bytes: Vec<u8>,
}

/// Reads the segments of a capture file. One that ends within a packet ends before it.
///
/// # Errors
/// It is no capture file, its stamps are in microseconds, or it is of another kind of device.
pub fn segments(capture: &[u8]) -> Result<Vec<Segment>> {
    let header = capture.split_at_checked(FILE_HEADER);
    let (header, mut rest) = header.context("the capture has no header")?;
    match own(header, 0) {
        MAGIC => {}
        MAGIC_COARSE => bail!("the capture's stamps are in microseconds"),
        _ => bail!("this is no capture file"),
    }
    let link = own(header, 20) & 0xffff;
    ensure!(
        link == ETHERNET,
        "the capture is of a device of kind {link}"
    );
    let mut segments = Vec::new();
    while let Some((header, behind)) = rest.split_at_checked(PACKET_HEADER) {
        let captured = own(header, 8);
        ensure!(captured <= PACKET_MAX, "the capture is damaged");
        let Some((packet, behind)) = behind.split_at_checked(captured as usize) else {
            break;
        };
        let stamp = u64::from(own(header, 0)) * 1_000_000_000 + u64::from(own(header, 4));
        let packet = packet.get(ETHERNET_HEADER..);
        let segment = packet.and_then(|packet| segment_of(packet, stamp));
        segments.extend(segment.filter(|segment| segment.length > 0));
        rest = behind;
    }
    Ok(segments)
}

/// A number of four bytes in this machine's order.
fn own(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The segment in an IPv4 packet; none if it holds something else, or less than all headers.
fn segment_of(packet: &[u8], stamp: u64) -> Option<Segment> {
    let header = usize::from(packet.first()? & 15) * 4;
    let tcp = packet.get(header..).filter(|_| header >= 20)?;
    let content = tcp.get(usize::from(*tcp.get(12)? >> 4) * 4..)?;
    if packet[0] >> 4 != 4 || *packet.get(9)? != TCP {
        return None;
    }
    let short = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let address = |at: usize| [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
    let headers = packet.len() - content.len();
    // Of what it carries less may have been captured, and Ethernet pads short frames.
    let carried = usize::from(short(packet, 2)).checked_sub(headers)?;
    Some(Segment {
        stamp,
        from: (address(12), short(tcp, 0)).into(),
        to: (address(16), short(tcp, 2)).into(),
        sequence: u32::from_be(own(tcp, 4)),
        length: carried as u32,
        bytes: content[..content.len().min(carried)].to_vec(),
    })
}

/// Captures made by hand.
#[cfg(test)]
pub mod tests {
    use super::*;

    /// An IPv4 packet from port to port of 127.0.0.1, with `content` from number `sequence` on.
    pub fn packet(ports: (u16, u16), sequence: u32, content: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend((40 + content.len() as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, TCP, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        packet.extend(tcp(ports, sequence, content));
        packet
    }

    fn tcp(ports: (u16, u16), sequence: u32, content: &[u8]) -> Vec<u8> {
        let mut tcp = ports.0.to_be_bytes().to_vec();
        tcp.extend(ports.1.to_be_bytes());
        tcp.extend(sequence.to_be_bytes());
        tcp.extend([0, 0, 0, 0, 5 << 4, 0x18, 0, 0, 0, 0, 0, 0]);
        tcp.extend(content);
        tcp
    }

    /// A capture file of a device of kind `link`, with a stamp for each packet, cut after `snap` bytes.
    pub fn file(link: u32, snap: usize, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let before = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0];
        let mut file = Vec::new();
        for word in [MAGIC, 0x0004_0002, 0, 0, snap as u32, link] {
            file.extend(word.to_ne_bytes());
        }
        for (stamp, packet) in packets {
            let packet = [&before[..], packet].concat();
            let kept = &packet[..packet.len().min(snap)];
            let seconds = (stamp / 1_000_000_000) as u32;
            let nanos = (stamp % 1_000_000_000) as u32;
            for word in [seconds, nanos, kept.len() as u32, packet.len() as u32] {
                file.extend(word.to_ne_bytes());
            }
            file.extend(kept);
        }
        file
    }

    fn read(file: &[u8]) -> Vec<Segment> {
        segments(file).unwrap()
    }

    fn local(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    #[test]
    fn segments_that_carry_something_are_read() {
        let packets = [
            (5_000_000_007, packet((4000, 80), 77, b"GET /")),
            (6_000_000_000, packet((80, 4000), 9, b"")), // carries nothing
        ];
        let wanted = Segment {
            stamp: 5_000_000_007,
            from: local(4000),
            to: local(80),
            sequence: 77,
            length: 5,
            bytes: b"GET /".to_vec(),
        };
        assert_eq!(read(&file(1, 256, &packets)), [wanted]);
    }

    #[test]
    fn what_was_not_captured_is_still_counted() {
        let packets = [(1, packet((4000, 80), 1, &[b'x'; 300]))];
        let found = read(&file(1, 74, &packets));
        assert_eq!(found[0].length, 300);
        assert_eq!(found[0].bytes, [b'x'; 20]);
    }

    #[test]
    fn padding_is_not_content_and_other_protocols_are_passed_over() {
        let mut padded = packet((4000, 80), 1, b"ab");
        padded.extend([0; 6]);
        let mut datagram = packet((4000, 80), 1, b"ab");
        datagram[9] = 17;
        let arp = vec![0, 1, 8, 0];
        let packets = [(1, datagram), (2, arp), (3, padded), (4, Vec::new())];
        let found = read(&file(1, 256, &packets));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].stamp, &found[0].bytes[..]), (3, &b"ab"[..]));
    }

    #[test]
    fn a_file_that_is_cut_off_ends_before_the_cut() {
        let packets = [(1, packet((1, 2), 3, b"x")), (2, packet((1, 2), 4, b"y"))];
        let whole = file(1, 256, &packets);
        for cut in 1..=54 {
            assert_eq!(read(&whole[..whole.len() - cut]).len(), 1, "{cut}");
        }
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let mut coarse = file(1, 256, &[]);
        coarse[..4].copy_from_slice(&MAGIC_COARSE.to_ne_bytes());
        let mut damaged = file(1, 256, &[(1, packet((1, 2), 3, b"x"))]);
        damaged[FILE_HEADER + 8..FILE_HEADER + 12].fill(0xff);
        let cases: [(&[u8], &str); 5] = [
            (b"", "no header"),
            (&[7; 24], "no capture file"),
            (&coarse, "microseconds"),
            (&file(113, 256, &[]), "kind 113"),
            (&damaged, "damaged"),
        ];
        for (bytes, wanted) in cases {
            let complaint = format!("{:#}", segments(bytes).unwrap_err());
            assert!(complaint.contains(wanted), "{complaint}");
        }
    }
}
