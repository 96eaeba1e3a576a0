//! A request that passes: it goes to the application unchanged. An unsafe one drops what it makes invalid.

use crate::body::CacheBody;
use crate::counts::Count;
use crate::message::fields;
use crate::removals::{Removed, removed};
use crate::shared::Shared;
use http::{Method, Request, Response};
use kasoku_cache::{Invalidated, Key, Purge};
use kasoku_semantics::cache_status::CacheStatus;
use kasoku_semantics::reason::Reason;
use std::future::poll_fn;
use std::sync::Arc;
use tower_service::Service;

/// Sends the request to the application. `reason`: why it passes.
pub(crate) async fn pass<S, B, R>(
    shared: &Arc<Shared>,
    mut service: S,
    request: Request<B>,
    key: Option<Key>,
    reason: Reason,
) -> Result<Response<CacheBody<R>>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    shared.counts.add(Count::Passes);
    poll_fn(|cx| service.poll_ready(cx)).await?;
    let change =
        key.map(|key| Change { shared: shared.clone(), key, method: request.method().clone(), is_over: false });
    let mut response = service.call(request).await?;
    if let Some(change) = change {
        // What is dropped may come back from the disk, and the client may ask another process next. It gets its answer in any case.
        let Removed { certain, is_told } = removed(change.has_answer(&response)).await;
        if let Err(why) = certain {
            tracing::error!("what a request has changed may come back from the disk: {why}");
        }
        if !is_told {
            tracing::warn!(
                "not all servers of the shared tier or peers have answered: others hear later of what a request has changed"
            );
        }
    }
    shared.write_status(&CacheStatus::forwarded(reason), response.headers_mut());
    Ok(response.map(CacheBody::own))
}

/// An unsafe request that the application is handling. If it ends without an answer, since its client has left or the application has
/// failed, it may have changed the page all the same. Then the page is stale. It is not dropped: any client can send such a request and leave,
/// and could keep the page out of the cache.
struct Change {
    shared: Arc<Shared>,
    key: Key,
    method: Method,
    is_over: bool,
}

impl Change {
    fn has_answer<R>(mut self, response: &Response<R>) -> Invalidated {
        self.is_over = true;
        let Shared { cache, rules, .. } = &*self.shared;
        let canonical = |uri| rules.canonical(uri);
        let said = fields(response.headers());
        cache.on_unsafe_response(&self.method, &self.key, response.status(), &said, canonical, None)
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.shared.cache.purge(&self.key, Purge::Soft, self.shared.now());
        }
    }
}
