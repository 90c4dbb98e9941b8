//! What comes in: bytes to frames, frames to events. Everything the other side says is checked before it counts.

use crate::breach::Breach;
use crate::frame::{Frame, Item};
use crate::hello::{self, Hello};
use crate::link::{Connection, Event, Link, MOST_STREAMS, Peer, Side};
use crate::stream::{Stream, StreamId, Urgency};

impl Link {
    /// Bytes have come. After an error this connection is of no use; if the link was [up](Link::is_up), neither is the
    /// link.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Breach> {
        if let Some(breach) = &self.broken {
            return Err(breach.clone());
        }
        if self.connection == Connection::Away {
            return Ok(());
        }
        self.heard = true;
        self.decoder.push(bytes);
        self.take_all().inspect_err(|breach| {
            if self.is_up() || *breach == Breach::Restarted {
                self.broken = Some(breach.clone());
            }
            self.connection = Connection::Away;
        })
    }

    fn take_all(&mut self) -> Result<(), Breach> {
        while let Some(item) = self.decoder.take()? {
            match item {
                Item::Hello(hello) => self.meet(hello)?,
                Item::Frame(frame) => self.take(frame)?,
            }
        }
        Ok(())
    }

    fn meet(&mut self, hello: Hello) -> Result<(), Breach> {
        let version = hello::agree(hello::VERSIONS, hello.versions)?;
        if hello.key != self.identity.key {
            return Err(Breach::WrongKey);
        }
        if hello.side == self.identity.side {
            return Err(Breach::SameSide);
        }
        let stranger = self.peer.is_some_and(|peer| peer.life != hello.own);
        let mistaken = hello.known != 0 && hello.known != self.identity.life;
        // It has forgotten us, or we it: what either has sent is gone.
        if stranger || mistaken {
            return Err(Breach::Restarted);
        }
        let (least, most) = self.retained.range();
        if !self.retained.resume(hello.received) {
            return Err(Breach::Count { claimed: hello.received, least, most });
        }
        // Our hello, with what we have, is on its way or goes out with the next transmit.
        self.unacknowledged = 0;
        let met = self.peer.is_some();
        let peer = Peer { life: hello.own, credit: u64::from(hello.credit), window: hello.window as usize };
        self.peer.get_or_insert(peer);
        self.events.push_back(match met {
            true => Event::Resumed,
            false => Event::Met { version, greeting: hello.greeting },
        });
        self.connection = Connection::Up;
        if !met {
            // Only now is it known how much may be sent on a fresh stream.
            let ids: Vec<StreamId> = self.streams.keys().copied().collect();
            ids.into_iter().for_each(|id| self.line_up(id));
        }
        Ok(())
    }

    fn take(&mut self, frame: Frame) -> Result<(), Breach> {
        if frame.is_counted() {
            self.received += 1;
            self.unacknowledged += frame.size();
        }
        match frame {
            Frame::Open(id, urgency) => return self.opened(id, urgency),
            Frame::Data(id, bytes) => return self.arrived(id, bytes),
            Frame::End(id) => return self.ended(id),
            Frame::Reset(id) => {
                if self.known(id)? {
                    self.streams.remove(&id);
                    self.events.push_back(Event::Reset(id));
                }
            }
            Frame::Credit(id, bytes) => {
                if self.known(id)? {
                    let granted = self.streams.get_mut(&id).is_some_and(|stream| stream.grant(bytes));
                    if !granted {
                        return Err(Breach::TooMuchCredit(id));
                    }
                    self.line_up(id);
                }
            }
            Frame::Ack(count) => {
                let (least, most) = self.retained.range();
                if !self.retained.acknowledge(count) {
                    return Err(Breach::Count { claimed: count, least, most });
                }
            }
            Frame::Ping(token) => self.to_pong = Some(token),
            // The answer to a keep-alive is that there was one.
            Frame::Pong(0) => {}
            Frame::Pong(token) => self.events.push_back(Event::Pong(token)),
        }
        Ok(())
    }

    /// Whether a stream lives. One that is over may still be spoken of: that was sent before the other side knew.
    fn known(&self, id: StreamId) -> Result<bool, Breach> {
        if id > self.newest || id.0 == 0 {
            return Err(Breach::NotOpen(id));
        }
        Ok(self.streams.contains_key(&id))
    }

    fn opened(&mut self, id: StreamId, urgency: Urgency) -> Result<(), Breach> {
        if self.identity.side == Side::Near {
            return Err(Breach::NotYours);
        }
        if id.0 != self.newest.0.wrapping_add(1) {
            return Err(Breach::OutOfTurn(id));
        }
        if self.streams.len() >= MOST_STREAMS {
            return Err(Breach::TooManyStreams);
        }
        self.newest = id;
        self.streams.insert(id, Stream::new(urgency));
        self.events.push_back(Event::Opened(id, urgency));
        Ok(())
    }

    fn arrived(&mut self, id: StreamId, bytes: Vec<u8>) -> Result<(), Breach> {
        if !self.known(id)? {
            return Ok(());
        }
        let fresh = u64::from(self.limits.credit);
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        if stream.peer_ended {
            return Err(Breach::AfterEnd(id));
        }
        if !stream.arrive(bytes.len(), fresh) {
            return Err(Breach::OverCredit(id));
        }
        self.events.push_back(Event::Data(id, bytes));
        Ok(())
    }

    fn ended(&mut self, id: StreamId) -> Result<(), Breach> {
        if !self.known(id)? {
            return Ok(());
        }
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        if stream.peer_ended {
            return Err(Breach::AfterEnd(id));
        }
        stream.peer_ended = true;
        if stream.is_over() {
            self.streams.remove(&id);
        }
        self.events.push_back(Event::Ended(id));
        Ok(())
    }
}
