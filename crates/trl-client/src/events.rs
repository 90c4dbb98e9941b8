//! What happens to sessions, executions, terminals and requests.

use trl_proto::event::Event;

use crate::connection::Pushes;
use crate::error::ClientError;

/// Events as they come, over a connection of their own.
#[derive(Debug)]
pub struct Events(pub(crate) Pushes);

impl Events {
    /// The next one. Kinds of a newer daemon, which nobody here knows, are left out.
    pub async fn next(&mut self) -> Result<Event, ClientError> {
        loop {
            let push = self.0.next().await.ok_or(ClientError::Lost)?;
            if push.method == "event"
                && let Ok(event) = push.parse()
            {
                return Ok(event);
            }
        }
    }
}
