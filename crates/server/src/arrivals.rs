//! Connections that have been accepted and are to get a thread to log in on, in turn of their hosts: a host that floods
//! the server makes its own clients wait, and not those of others. Strangers, which are hosts from where nobody has
//! logged in yet, are let in at a bounded pace, so that a burst of them leaves the processors to others.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::socket::Socket;

/// How many may wait.
const MOST: usize = 512;
/// How long a stranger waits after the one before it.
const PACE: Duration = Duration::from_micros(500);

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
    known: Line,
    strangers: Line,
    count: usize,
    /// When the next stranger may come in.
    next_stranger: Option<Instant>,
}

/// Who comes in now.
#[derive(Debug)]
pub enum Turn {
    /// This one.
    Admit(Socket),
    /// Nobody before this time, unless somebody else arrives.
    Wait(Duration),
    /// Nobody is there.
    Empty,
}

impl Arrivals {
    /// Adds a connection, of a host from where somebody has logged in before or of a stranger. Gives back the one that
    /// has no place then: the newest of the host with the most.
    pub fn push(&mut self, socket: Socket, is_known: bool) -> Option<Socket> {
        let line = if is_known { &mut self.known } else { &mut self.strangers };
        line.push(socket);
        self.count += 1;
        if self.count <= MOST {
            return None;
        }
        self.count -= 1;
        let line = if self.known.most() > self.strangers.most() { &mut self.known } else { &mut self.strangers };
        line.pop_of_most()
    }

    /// Takes out the oldest connection of the host whose turn it is: of a stranger where one may come in now, else of a
    /// host that is known.
    pub fn pop(&mut self, now: Instant) -> Turn {
        let wait = self.next_stranger.map_or(Duration::ZERO, |next| next.saturating_duration_since(now));
        if wait.is_zero()
            && let Some(socket) = self.strangers.pop()
        {
            self.next_stranger = Some(now + PACE);
            self.count -= 1;
            return Turn::Admit(socket);
        }
        match self.known.pop() {
            Some(socket) => {
                self.count -= 1;
                Turn::Admit(socket)
            }
            None if self.count > 0 => Turn::Wait(wait),
            None => Turn::Empty,
        }
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

    /// The last part of a host's address.
    fn host(socket: &Socket) -> u8 {
        match socket.peer().host_address() {
            Some(IpAddr::V4(address)) => address.octets()[3],
            _ => 0,
        }
    }

    /// The hosts in order, where everybody who has to wait does so.
    fn order(mut arrivals: Arrivals) -> Vec<u8> {
        let (mut now, mut order) = (Instant::now(), Vec::new());
        loop {
            match arrivals.pop(now) {
                Turn::Admit(socket) => order.push(host(&socket)),
                Turn::Wait(time) => now += time,
                Turn::Empty => return order,
            }
        }
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
    fn strangers_come_in_at_their_pace_and_nobody_waits_for_them() {
        let mut socket = sockets();
        let mut arrivals = Arrivals::default();
        for host in [3, 4, 1, 1, 2] {
            arrivals.push(socket(host), host <= 2);
        }
        let now = Instant::now();
        let mut at = |time| match arrivals.pop(time) {
            Turn::Admit(socket) => host(&socket),
            Turn::Wait(rest) => {
                assert_eq!(rest, PACE - (time - now));
                100
            }
            Turn::Empty => 101,
        };
        let soon = now + PACE / 2;
        assert_eq!([at(now), at(now), at(soon), at(soon), at(soon)], [3, 1, 2, 1, 100]);
        assert_eq!([at(now + PACE), at(now + PACE)], [4, 101]);
        let mut full = Arrivals::default();
        for _ in 0..MOST {
            full.push(socket(1), true);
        }
        assert!(full.push(socket(3), false).is_some_and(|displaced| host(&displaced) == 1));
    }
}
