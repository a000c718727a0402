//! Connections that have been accepted and are to get a thread to log in on, in turn of their hosts: a host that floods
//! the server makes its own clients wait, and not those of others.

use std::collections::VecDeque;
use std::net::IpAddr;

use crate::socket::Socket;

/// How many may wait.
const MOST: usize = 512;

/// What one host has sent.
#[derive(Debug)]
struct Host {
    address: Option<IpAddr>,
    /// Not empty.
    waiting: VecDeque<Socket>,
}

/// The queue.
#[derive(Debug, Default)]
pub struct Arrivals {
    /// The first has its turn.
    hosts: VecDeque<Host>,
    count: usize,
}

impl Arrivals {
    /// Adds a connection. Gives back the one that has no place then: the newest of the host with the most.
    pub fn push(&mut self, socket: Socket) -> Option<Socket> {
        let address = socket.peer().host_address();
        match self.hosts.iter_mut().find(|host| host.address == address) {
            Some(host) => host.waiting.push_back(socket),
            None => self.hosts.push_back(Host { address, waiting: VecDeque::from([socket]) }),
        }
        self.count += 1;
        if self.count <= MOST {
            return None;
        }
        let (at, host) = self.hosts.iter_mut().enumerate().max_by_key(|(_, host)| host.waiting.len())?;
        let newest = host.waiting.pop_back();
        if host.waiting.is_empty() {
            self.hosts.remove(at);
        }
        self.count -= 1;
        newest
    }

    /// Takes out the oldest connection of the host whose turn it is.
    pub fn pop(&mut self) -> Option<Socket> {
        let mut host = self.hosts.pop_front()?;
        let socket = host.waiting.pop_front();
        if !host.waiting.is_empty() {
            self.hosts.push_back(host);
        }
        self.count -= 1;
        socket
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::socket::Peer;

    #[test]
    fn a_host_that_floods_waits_for_its_turn_and_gives_way() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let remote = || {
            let _client = TcpStream::connect(address).expect("connected");
            Socket::from_tcp(listener.accept().expect("accepted").0).expect("a socket")
        };
        let local = || Socket::from_unix(UnixStream::pair().expect("a pair of sockets").0);
        let mut arrivals = Arrivals::default();
        for _ in 0..MOST {
            assert!(arrivals.push(remote()).is_none());
        }
        for _ in 0..2 {
            let displaced = arrivals.push(local()).expect("they are too many");
            assert_ne!(*displaced.peer(), Peer::Local);
        }
        let order: Vec<_> = std::iter::from_fn(|| arrivals.pop()).map(|socket| *socket.peer() == Peer::Local).collect();
        assert_eq!((order.len(), &order[..5]), (MOST, &[false, true, false, true, false][..]));
    }
}
