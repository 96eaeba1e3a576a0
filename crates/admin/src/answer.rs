//! Turns a request to the admin listener into a response.

use crate::snapshot::Snapshot;
use crate::{AdminHandle, doctor, explain, guard, json, prometheus, purge, reload, top};
use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use kasoku_cache::Purge;
use kasoku_engine::explain::Question;
use kasoku_engine::purge::{PurgeError, PurgeTarget};

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const OTHERS_ASK: &str = "Kasoku is answering other such requests: try again in a few seconds.";

const OTHERS_RELOAD: &str = "A reload runs already, or a new process is taking over: try again in a few seconds.";

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The paths that exist.
#[derive(Clone, Copy)]
enum AdminPage {
    Health,
    Metrics,
    Stats,
    Top,
    Purge,
    Explain,
    Doctor,
    Reload,
}

/// An answer, or a question whose answer has to be waited for.
pub(crate) enum AdminAnswer {
    Now(Response<Full<Bytes>>),
    Purge(PurgeTarget, Purge),
    Explain(Question),
    Doctor(Option<String>),
    Reload,
}

impl AdminPage {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/healthz" => Self::Health,
            "/metrics" => Self::Metrics,
            "/stats" => Self::Stats,
            "/top" => Self::Top,
            "/purge" => Self::Purge,
            "/explain" => Self::Explain,
            "/doctor" => Self::Doctor,
            "/reload" => Self::Reload,
            _ => return None,
        })
    }

    /// The value of Allow.
    fn methods(self) -> &'static str {
        match self {
            Self::Health | Self::Metrics | Self::Stats | Self::Top => "GET, HEAD",
            Self::Purge | Self::Explain | Self::Doctor | Self::Reload => "POST",
        }
    }
}

/// Answers one request, whose body is ignored. hyper leaves the body out of the answer to HEAD.
pub(crate) fn answer<B>(request: &Request<B>, handle: &AdminHandle) -> AdminAnswer {
    if let Some(why) = guard::refusal(request.uri(), request.headers()) {
        return AdminAnswer::Now(text(StatusCode::FORBIDDEN, why));
    }
    let Some(page) = AdminPage::of(request.uri().path()) else {
        let pages = "There are /healthz, /metrics, /stats, /top, /purge, /explain, /doctor and /reload.";
        return AdminAnswer::Now(text(StatusCode::NOT_FOUND, pages));
    };
    if !page.methods().split(", ").any(|method| request.method() == method) {
        return AdminAnswer::Now(method_refused(page.methods()));
    }
    let needs_token =
        matches!(page, AdminPage::Purge | AdminPage::Top | AdminPage::Explain | AdminPage::Doctor | AdminPage::Reload);
    if !matches!(page, AdminPage::Health)
        && let Some(why) = guard::refusal_without_token(handle, needs_token, request.headers())
    {
        return AdminAnswer::Now(token_needed(why));
    }
    let query = request.uri().query().unwrap_or_default();
    AdminAnswer::Now(match page {
        AdminPage::Health => text(StatusCode::OK, "ok"),
        AdminPage::Metrics => {
            response(StatusCode::OK, prometheus::CONTENT_TYPE, prometheus::text(&Snapshot::of(handle)))
        }
        AdminPage::Stats => response(StatusCode::OK, JSON, json::text(&Snapshot::of(handle))),
        AdminPage::Top => response(StatusCode::OK, JSON, top::text(handle)),
        AdminPage::Purge => match purge::wanted(query) {
            Ok((target, purge)) => return AdminAnswer::Purge(target, purge),
            Err(why) => text(StatusCode::BAD_REQUEST, &why),
        },
        AdminPage::Explain => match explain::question(query) {
            Ok(question) => return AdminAnswer::Explain(question),
            Err(why) => text(StatusCode::BAD_REQUEST, &why),
        },
        AdminPage::Doctor => match doctor::host(query) {
            Ok(host) => return AdminAnswer::Doctor(host),
            Err(why) => text(StatusCode::BAD_REQUEST, &why),
        },
        AdminPage::Reload => return AdminAnswer::Reload,
    })
}

impl AdminAnswer {
    /// Waits for the answer.
    pub(crate) async fn wait(self, handle: &AdminHandle) -> Response<Full<Bytes>> {
        let question = match self {
            Self::Now(response) => return response,
            Self::Purge(target, purge) => {
                return match purge::purge(&handle.engine, &target, purge).await {
                    Ok(done) => response(StatusCode::OK, JSON, done),
                    Err(error @ (PurgeError::Uncertain(_) | PurgeError::DiskTimeout)) => {
                        text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
                    }
                    Err(error) => text(StatusCode::BAD_REQUEST, &error.to_string()),
                };
            }
            Self::Explain(question) => question,
            Self::Reload => {
                return match reload::reload(handle.reloads.as_ref()).await {
                    Some(Ok(done)) => response(StatusCode::OK, JSON, done),
                    Some(Err(report)) => text(StatusCode::UNPROCESSABLE_ENTITY, report.trim_end()),
                    None => text(StatusCode::SERVICE_UNAVAILABLE, OTHERS_RELOAD),
                };
            }
            Self::Doctor(host) => {
                return match doctor::diagnose(handle, host).await {
                    Some(diagnosis) => response(StatusCode::OK, JSON, diagnosis),
                    None => text(StatusCode::SERVICE_UNAVAILABLE, OTHERS_ASK),
                };
            }
        };
        match explain::explain(handle, question).await {
            Ok(explained) => response(StatusCode::OK, JSON, explained),
            Err(explain::Refused::Question(error)) => text(StatusCode::BAD_REQUEST, &error.to_string()),
            Err(explain::Refused::Busy) => text(StatusCode::SERVICE_UNAVAILABLE, OTHERS_ASK),
        }
    }
}

fn text(status: StatusCode, line: &str) -> Response<Full<Bytes>> {
    response(status, TEXT, format!("{line}\n"))
}

fn token_needed(why: &str) -> Response<Full<Bytes>> {
    let mut response = text(StatusCode::UNAUTHORIZED, why);
    //= RFC 9110 section 15.5.2
    //# The server generating a 401 response MUST send a WWW-Authenticate header field
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn method_refused(allowed: &'static str) -> Response<Full<Bytes>> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, &format!("Only {allowed}."));
    //= RFC 9110 section 15.5.6
    //# The origin server MUST generate an Allow header field in a 405 response containing a list of the target resource's currently supported methods.
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn response(status: StatusCode, content_type: HeaderValue, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, content_type);
    // The numbers are of this moment, and a browser must not take them for a page or a script.
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
