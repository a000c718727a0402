//! Connections that have been accepted and are to get a thread to log in on, in turn of their hosts: a host that floods
//! the server makes its own clients wait, and not those of others. Hosts from where somebody has logged in before get
//! most of the turns.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::socket::Socket;

/// How many may wait.
const MOST: usize = 512;
/// One of so many turns is that of a host from where nobody has logged in yet.
const TURNS: u32 = 4;

/// What one host has sent.
#[derive(Debug)]
struct Host {
    address: Option<IpAddr>,
    /// Not empty.
    waiting: VecDeque<Socket>,
}

/// Hosts with connections that wait; the first has its turn.
#[derive(Debug, Default)]
struct Line(VecDeque<Host>);

/// The queue.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// Hosts from where somebody has logged in.
    known: Line,
    unknown: Line,
    count: usize,
    turn: u32,
}

impl Arrivals {
    /// Adds a connection, of a known host or not. Gives back the one that has no place then: the newest of the host with
    /// the most.
    pub fn push(&mut self, socket: Socket, is_known: bool) -> Option<Socket> {
        let line = if is_known { &mut self.known } else { &mut self.unknown };
        line.push(socket);
        self.count += 1;
        if self.count <= MOST {
            return None;
        }
        self.count -= 1;
        let line = if self.known.most() > self.unknown.most() { &mut self.known } else { &mut self.unknown };
        line.pop_of_most()
    }

    /// Takes out the oldest connection of the host whose turn it is.
    pub fn pop(&mut self) -> Option<Socket> {
        self.turn = (self.turn + 1) % TURNS;
        let (first, second) = match self.turn {
            0 => (&mut self.unknown, &mut self.known),
            _ => (&mut self.known, &mut self.unknown),
        };
        let socket = first.pop().or_else(|| second.pop())?;
        self.count -= 1;
        Some(socket)
    }
}

impl Line {
    fn push(&mut self, socket: Socket) {
        let address = socket.peer().host_address();
        match self.0.iter_mut().find(|host| host.address == address) {
            Some(host) => host.waiting.push_back(socket),
            None => self.0.push_back(Host { address, waiting: VecDeque::from([socket]) }),
        }
    }

    fn pop(&mut self) -> Option<Socket> {
        let mut host = self.0.pop_front()?;
        let socket = host.waiting.pop_front();
        if !host.waiting.is_empty() {
            self.0.push_back(host);
        }
        socket
    }

    /// How many wait of the host with the most.
    fn most(&self) -> usize {
        self.0.iter().map(|host| host.waiting.len()).max().unwrap_or(0)
    }

    /// Takes out the newest of that host.
    fn pop_of_most(&mut self) -> Option<Socket> {
        let (at, host) = self.0.iter_mut().enumerate().max_by_key(|(_, host)| host.waiting.len())?;
        let newest = host.waiting.pop_back();
        if host.waiting.is_empty() {
            self.0.remove(at);
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::os::unix::net::UnixStream;

    use rustix::net::{AddressFamily, SocketType};

    use super::*;
    use crate::socket::Peer;

    /// A connection of another host each time, known or not, by the number of the host.
    fn sockets() -> impl FnMut(u8) -> Socket {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        move |host| match host {
            0 => Socket::from_unix(UnixStream::pair().expect("a pair of sockets").0),
            _ => {
                let client = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
                rustix::net::bind(&client, &SocketAddr::from(([127, 0, 0, host], 0))).expect("an address");
                let address = listener.local_addr().expect("an address");
                rustix::net::connect(&client, &address).expect("connected");
                Socket::from_tcp(listener.accept().expect("accepted").0).expect("a socket")
            }
        }
    }

    /// The last parts of the addresses, in order.
    fn order(mut arrivals: Arrivals) -> Vec<u8> {
        let host = |socket: Socket| match socket.peer().host_address() {
            Some(IpAddr::V4(address)) => address.octets()[3],
            _ => 0,
        };
        std::iter::from_fn(move || arrivals.pop().map(host)).collect()
    }

    #[test]
    fn a_host_that_floods_waits_for_its_turn_and_gives_way() {
        let mut socket = sockets();
        let mut arrivals = Arrivals::default();
        for _ in 0..MOST {
            assert!(arrivals.push(socket(1), false).is_none());
        }
        for _ in 0..2 {
            let displaced = arrivals.push(socket(0), false).expect("they are too many");
            assert_ne!(*displaced.peer(), Peer::Local);
        }
        let order = order(arrivals);
        assert_eq!((order.len(), &order[..5]), (MOST, &[1, 0, 1, 0, 1][..]));
    }

    #[test]
    fn known_hosts_have_most_turns_and_not_all() {
        let mut socket = sockets();
        let mut arrivals = Arrivals::default();
        for host in [3, 3, 4, 1, 1, 1, 2, 2] {
            arrivals.push(socket(host), host <= 2);
        }
        assert_eq!(order(arrivals), [1, 2, 1, 3, 2, 1, 4, 3]);
        let mut full = Arrivals::default();
        for _ in 0..MOST {
            full.push(socket(1), true);
        }
        assert!(full.push(socket(3), false).is_some_and(|displaced| displaced.peer().host().ends_with(".1")));
    }
}
