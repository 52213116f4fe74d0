//! The user of the process at the other end of a loopback connection.
//!
//! A loopback port is open to every user of the machine, while the mount and the data directory are
//! not. The kernel knows the user of each socket: sock_diag(7) finds one by its addresses at a
//! constant cost, and `/proc/net/tcp` lists them all, for systems without sock_diag. A socket that
//! its process has closed has no owner: both report user 0 then, with inode 0, which must not pass
//! for root.
#![allow(unsafe_code)]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The uid of root, which can read everything anyway.
const ROOT_UID: u32 = 0;

/// sock_diag(7): the request and its answer are of this type; errors are of type 2.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// nlmsghdr, and what follows it: inet_diag_req_v2, of the answer inet_diag_msg. All numbers are the machine's, ports and addresses
/// the network's.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
const ANSWER_BYTES: usize = HEADER_BYTES + 72;

/// A peer that is not served; `Display` is the body of the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    #[error(
        "This server answers processes of its own user (uid {own}) and of root; yours has uid {uid}. Start ddbfs with --auth \
         ACCESS_KEY:SECRET to serve whoever signs with that key, or with --http-allow-users to serve every user of this machine."
    )]
    Other { uid: u32, own: u32 },
    #[error(
        "This server answers processes of its own user (uid {own}) and of root, and the system does not tell whose process yours is. \
         Start ddbfs with --auth ACCESS_KEY:SECRET to serve whoever signs with that key, or with --http-allow-users to serve every \
         user of this machine."
    )]
    Unknown { own: u32 },
}

/// Checks that the process at `peer`, connected to our `local`, belongs to our user or to root. A
/// [`PeerError`] is answered by HTTP 403.
pub fn check(peer: SocketAddr, local: SocketAddr) -> Result<(), PeerError> {
    // SAFETY: takes nothing, cannot fail.
    let own = unsafe { libc::geteuid() };
    match user_of(peer, local) {
        Some(uid) if uid == own || uid == ROOT_UID => Ok(()),
        Some(uid) => Err(PeerError::Other { uid, own }),
        None => Err(PeerError::Unknown { own }),
    }
}

/// Returns the user of the socket that is bound to `peer` and connected to `local`; `None` if there
/// is no open one.
fn user_of(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    let (peer, local) = (canonical(peer), canonical(local));
    query_sock_diag(peer, local)
        .or_else(|_| read_proc_net(peer, local))
        .ok()
        .flatten()
}

/// Returns the IPv4 address of an IPv6 socket that speaks IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Finds the user by sock_diag(7). An unknown socket is an error too, because a system without
/// sock_diag looks the same.
fn query_sock_diag(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<u32>> {
    let mut answer = [0_u8; 512];
    let length = ask_kernel(&diag_request(peer, local), &mut answer)?;
    let answer = answer.get(..length).unwrap_or_default();
    let number = |at: usize| field(answer, at).map(u32::from_ne_bytes);
    let (kind, ports) = (
        field(answer, 4).map(u16::from_ne_bytes),
        field::<4>(answer, HEADER_BYTES + 4),
    );
    // The kernel falls back to a listening socket at that address.
    let is_the_socket = kind == Some(SOCK_DIAG_BY_FAMILY)
        && length >= ANSWER_BYTES
        && ports == Some(port_pair(peer, local));
    // idiag_uid and idiag_inode of inet_diag_msg.
    match (number(HEADER_BYTES + 64), number(HEADER_BYTES + 68)) {
        (Some(uid), Some(inode)) if is_the_socket => Ok((inode != 0).then_some(uid)),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset + N)?.try_into().ok()
}

fn port_pair(peer: SocketAddr, local: SocketAddr) -> [u8; 4] {
    let ([a, b], [c, d]) = (peer.port().to_be_bytes(), local.port().to_be_bytes());
    [a, b, c, d]
}

/// Encodes an inet_diag_req_v2 for the socket from `peer` to `local`, with any cookie.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "constants of the kernel, wider in C than on the wire"
)]
fn diag_request(peer: SocketAddr, local: SocketAddr) -> Vec<u8> {
    let family = if peer.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    let mut bytes = Vec::with_capacity(REQUEST_BYTES);
    bytes.extend((REQUEST_BYTES as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    // nlmsg_seq and nlmsg_pid are 0: one request, one answer.
    bytes.extend([0; 8]);
    // inet_diag_req_v2: family, protocol, no extensions, padding.
    bytes.extend([family as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    // idiag_states: all of them.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(port_pair(peer, local));
    for address in [peer, local] {
        let mut room = [0; 16];
        match address.ip() {
            IpAddr::V4(ip) => room[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => room = ip.octets(),
        }
        bytes.extend(room);
    }
    // Any interface, no cookie (INET_DIAG_NOCOOKIE).
    bytes.extend([0; 4]);
    bytes.extend([0xFF; 8]);
    bytes
}

/// Sends a netlink request and receives the answer, which is there when the send returns.
fn ask_kernel(request: &[u8], answer: &mut [u8]) -> io::Result<usize> {
    let checked =
        |result: libc::ssize_t| usize::try_from(result).map_err(|_| io::Error::last_os_error());
    // SAFETY: takes no pointers; a descriptor that is not negative is ours alone.
    let socket = unsafe {
        let fd = libc::socket(
            libc::AF_NETLINK,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            libc::NETLINK_SOCK_DIAG,
        );
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    // SAFETY: the slices live through the calls and are as long as said; an unbound netlink socket sends to the kernel.
    unsafe {
        checked(libc::send(
            socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            libc::MSG_DONTWAIT,
        ))?;
        checked(libc::recv(
            socket.as_raw_fd(),
            answer.as_mut_ptr().cast(),
            answer.len(),
            libc::MSG_DONTWAIT,
        ))
    }
}

/// Finds the user in `/proc/net/tcp` and `tcp6`.
fn read_proc_net(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<u32>> {
    let v6 = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    };
    if let (IpAddr::V4(from), IpAddr::V4(to)) = (peer.ip(), local.ip()) {
        let list = std::fs::read_to_string("/proc/net/tcp")?;
        let found = find_user(
            &list,
            &proc_net_address(&from.octets(), peer.port()),
            &proc_net_address(&to.octets(), local.port()),
        );
        if found.is_some() {
            return Ok(found);
        }
    }
    let list = std::fs::read_to_string("/proc/net/tcp6")?;
    Ok(find_user(
        &list,
        &proc_net_address(&v6(peer), peer.port()),
        &proc_net_address(&v6(local), local.port()),
    ))
}

/// Formats an address as in proc_net(5): bytes in network order, four at a time as a native number
/// in hexadecimal.
fn proc_net_address(octets: &[u8], port: u16) -> String {
    let words = octets
        .chunks_exact(4)
        .map(|word| word.try_into().map_or(0, u32::from_ne_bytes));
    let text: String = words.map(|word| format!("{word:08X}")).collect();
    format!("{text}:{port:04X}")
}

/// Returns the user in the line of an open socket between these addresses.
fn find_user(list: &str, peer: &str, local: &str) -> Option<u32> {
    list.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = fields.get(1) == Some(&peer)
            && fields.get(2) == Some(&local)
            && fields.get(9).is_some_and(|inode| *inode != "0");
        if is_it {
            fields.get(7)?.parse().ok()
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Shutdown, TcpListener, TcpStream};

    /// Checks by both methods the user of a connection to `listen` by `connect`.
    fn users_of(listen: &str, connect: impl Fn(u16) -> String) {
        // SAFETY: takes nothing, cannot fail.
        let own = unsafe { libc::geteuid() };
        let listener = TcpListener::bind(listen).unwrap();
        let client = TcpStream::connect(connect(listener.local_addr().unwrap().port())).unwrap();
        let (served, peer) = listener.accept().unwrap();
        let (peer, local) = (canonical(peer), canonical(served.local_addr().unwrap()));
        assert_eq!(
            query_sock_diag(peer, local).unwrap_or(Some(own)),
            Some(own),
            "{listen}"
        );
        assert_eq!(read_proc_net(peer, local).unwrap(), Some(own), "{listen}");
        assert_eq!(check(peer, local), Ok(()));
        // A client that only ended its sending side still counts; a client that has closed has no
        // user.
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(user_of(peer, local), Some(own), "{listen}");
        drop(client);
        assert_eq!(user_of(peer, local), None, "{listen}");
        assert_eq!(check(peer, local), Err(PeerError::Unknown { own }));
    }

    #[test]
    fn the_user_of_a_connection_is_known_until_it_is_closed() {
        users_of("127.0.0.1:0", |port| format!("127.0.0.1:{port}"));
        users_of("127.0.0.1:0", |port| format!("[::ffff:127.0.0.1]:{port}"));
        users_of("[::1]:0", |port| format!("[::1]:{port}"));
    }

    #[test]
    fn lines_of_proc_are_found_by_both_addresses() {
        let list = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1\n\
            1: 0100007F:9C40 0100007F:1F40 01 00000000:00000000 00:00000000 00000000  1000        0 12 1\n\
            2: 0100007F:9C41 0100007F:1F40 06 00000000:00000000 03:00000000 00000000     0        0 0 3\n";
        assert_eq!(
            find_user(list, "0100007F:9C40", "0100007F:1F40"),
            Some(1000)
        );
        assert_eq!(find_user(list, "0100007F:9C41", "0100007F:1F40"), None);
        assert_eq!(find_user(list, "0100007F:9C42", "0100007F:1F40"), None);
    }
}
