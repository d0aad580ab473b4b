//! Sessions over HTTP whose answers survive a broken connection.
//!
//! The first event of a request's stream invites the client to come back if the connection breaks.
//! The SDK (rmcp 3.9) forgets a stream together with its answer, though, even if it has written
//! that to a connection that was gone already. The client would then wait in vain, and its model
//! might repeat a command that has had its effect. Here every stream is read to its end into
//! memory, whether or not a client is there, and a connection reads from that.

use crate::lock;
use futures_util::{Stream, StreamExt, stream};
use gemini_tools_core::json::MAX_WITH_MEDIA_BYTES;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// The streams of so many requests are kept after their end, of all sessions together. A session
/// has rarely more than a few calls at once, and a client comes back within seconds. Of each stream
/// `MAX_EVENTS` notifications are kept: a client that reads too slowly misses the oldest.
const MAX_STREAMS: usize = 256;

const MAX_EVENTS: usize = 256;

#[derive(Default)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    kept: Arc<Mutex<VecDeque<Arc<Kept>>>>,
    next: AtomicU64,
}

struct Kept {
    session: SessionId,
    request: Option<RequestId>,
    /// Alive until both the handler and the stream of the request have ended. The stream of a
    /// cancelled request ends before its handler does. If the connection is lost, the handler goes
    /// on.
    open: Weak<()>,
    number: u64,
    events: watch::Sender<Events>,
}

#[derive(Default)]
struct Events {
    list: VecDeque<(u64, ServerSseMessage)>,
    next: u64,
    bytes: usize,
    has_ended: bool,
}

impl Kept {
    fn is_open(&self) -> bool {
        self.open.strong_count() > 0
    }

    fn push(&self, mut event: ServerSseMessage) {
        let text = event.message.as_deref().map(serde_json::to_vec);
        let length = text.map_or(0, |text| text.map_or(0, |text| text.len()));
        self.events.send_modify(|events| {
            event.event_id = Some(format!("{}/{}", events.next, self.number));
            events.list.push_back((events.next, event));
            events.next += 1;
            events.bytes += length;
            let is_notification = |(_, event): &(u64, ServerSseMessage)| {
                matches!(
                    event.message.as_deref(),
                    None | Some(JsonRpcMessage::Notification(_))
                )
            };
            if events.list.len() > MAX_EVENTS
                && let Some(oldest) = events.list.iter().position(is_notification)
            {
                events.list.remove(oldest);
            }
        });
    }

    /// Returns the events from the one with this index on, those to come included.
    fn read(&self, from: u64) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        stream::unfold(
            (self.events.subscribe(), from),
            |(mut events, from)| async move {
                loop {
                    let (next, has_ended) = {
                        let now = events.borrow_and_update();
                        let next = now.list.iter().find(|(index, _)| *index >= from);
                        (next.cloned(), now.has_ended)
                    };
                    match next {
                        Some((index, event)) => return Some((event, (events, index + 1))),
                        None if has_ended => return None,
                        None => events.changed().await.ok()?,
                    }
                }
            },
        )
    }
}

impl Sessions {
    pub(super) fn new(idle_limit: Duration) -> Self {
        let mut own = Self::default();
        own.inner.session_config.keep_alive = Some(idle_limit);
        own
    }

    /// Returns true if a session exists, but the events that follow `last_event` are not kept any
    /// more, so that the client can't go on from there.
    pub(super) async fn has_lost(&self, session: &str, last_event: &str) -> bool {
        last_event.contains('/')
            && self.find(&session.into(), last_event).is_none()
            && self.knows(session).await
    }

    pub(super) async fn knows(&self, session: &str) -> bool {
        matches!(self.has_session(&session.into()).await, Ok(true))
    }

    /// Returns true if a request with this id is not answered yet. The SDK would send the answer to
    /// it to another request with the id.
    pub(super) fn is_in_use(&self, session: &str, id: &RequestId) -> bool {
        is_in_use(&lock(&self.kept), session, Some(id))
    }

    fn find(&self, session: &SessionId, last_event: &str) -> Option<(Arc<Kept>, u64)> {
        let (index, number) = last_event.split_once('/')?;
        let (index, number) = (index.parse::<u64>().ok()?, number.parse::<u64>().ok()?);
        let kept = lock(&self.kept);
        let mut kept = kept.iter();
        let stream = kept.find(|kept| kept.number == number && kept.session == *session)?;
        Some((Arc::clone(stream), index.checked_add(1)?))
    }
}

fn is_in_use(kept: &VecDeque<Arc<Kept>>, session: &str, id: Option<&RequestId>) -> bool {
    let is_it = |kept: &Arc<Kept>| *kept.session == *session && kept.request.as_ref() == id;
    kept.iter().any(|kept| is_it(kept) && kept.is_open())
}

/// Forgets the oldest streams that have ended, until the others are few and small enough.
fn tidy(kept: &Mutex<VecDeque<Arc<Kept>>>) {
    let mut kept = lock(kept);
    let has_ended = |kept: &Arc<Kept>| !kept.is_open();
    let size = |kept: &Arc<Kept>| kept.events.borrow().bytes;
    while kept.len() > MAX_STREAMS || kept.iter().map(size).sum::<usize>() > MAX_WITH_MEDIA_BYTES {
        let Some(oldest) = kept.iter().position(has_ended) else {
            return;
        };
        kept.remove(oldest);
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.inner.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let is_open = |kept: &&Arc<Kept>| kept.session == *id && kept.is_open();
        let open = |kept: &Arc<Kept>| kept.request.clone();
        let open: Vec<_> = lock(&self.kept).iter().filter(is_open).map(open).collect();
        // The SDK would let the calls go on for 5 s.
        for request in open {
            let cancelled = CancelledNotificationParam::new(request, None);
            let cancelled =
                ClientNotification::CancelledNotification(CancelledNotification::new(cancelled));
            let _ = self
                .accept_message(id, JsonRpcMessage::notification(cancelled))
                .await;
        }
        let closed = self.inner.close_session(id).await;
        lock(&self.kept).retain(|kept| kept.session != *id);
        closed
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let open = Arc::new(());
        let mut request = None;
        if let JsonRpcMessage::Request(sent) = &mut message {
            sent.request.extensions_mut().insert(Arc::clone(&open));
            request = Some(sent.id.clone());
        }
        let stream = Arc::new(Kept {
            session: Arc::clone(id),
            request,
            open: Arc::downgrade(&open),
            number: self.next.fetch_add(1, Ordering::Relaxed),
            events: watch::Sender::default(),
        });
        let read = stream.read(0);
        let kept = Arc::clone(&self.kept);
        {
            let mut kept = lock(&kept);
            if is_in_use(&kept, id, stream.request.as_ref()) {
                return Err(SessionError::DuplicatedRequestId(stream.number).into());
            }
            kept.push_back(Arc::clone(&stream));
        }
        let mut events = Box::pin(self.inner.create_stream(id, message).await?);
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                stream.push(event);
            }
            stream.events.send_modify(|events| events.has_ended = true);
            drop(open);
            tidy(&kept);
        });
        Ok(read)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        if let Some((kept, from)) = self.find(id, &last_event_id) {
            return Ok(kept.read(from).left_stream());
        }
        // The event is one of the session's own stream. The SDK begins with the event that it is
        // given, and the client has that one already, so it gets the number of the next.
        let next = last_event_id
            .parse()
            .map_or(0, |last: u64| last.saturating_add(1));
        if let Ok(stream) = self.inner.resume(id, next.to_string()).await {
            return Ok(stream.left_stream().right_stream());
        }
        // The stream has no such event, so the client gets a new stream.
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(stream.right_stream().right_stream())
    }
}
