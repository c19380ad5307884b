//! Access to the daemon: decided for every request, known route or not, before any handler runs.
//!
//! `Host` keeps out web pages that resolve their own name to our address (DNS rebinding), `Origin` keeps out
//! other pages of the same browser, the token everybody else. The token makes the [`Caller`]: handlers see what it
//! may see, its scope must allow the route, and its end is the end of its streams. Every call that changes something
//! is recorded.

mod record;

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use omniglot_runtime::config::Listen;
use omniglot_runtime::{Caller, Hub, NamedToken};
use omniglot_schema::{AuditCall, ErrorType, Scope, SessionId};

use crate::app::lacking;
use crate::config::{ServerConfig, Token};
use crate::http::allow::{AllowedHost, AllowedOrigin, NeverMatches, bare};
use crate::http::cors;
use crate::http::metrics::HttpMetrics;
use crate::http::problem::Problem;
use record::{DISCONNECTED, Record, what};

/// How long a call whose token has just ended may still take: it may be the call that has ended it.
const LAST_CALL: Duration = Duration::from_millis(500);
const ENDED: &str = "the token was revoked or has expired";

pub(crate) struct Access {
    token: Option<Token>,
    token_hint: String,
    hosts: Vec<AllowedHost>,
    origins: Vec<AllowedOrigin>,
    /// `None` for a socket in the file system, which has no address that a `Host` could name.
    bound: Option<SocketAddr>,
    faces: &'static [FaceAccess],
    /// Returns what a request needs.
    needs: fn(&Method, &Uri) -> Option<Needs>,
    tokens: Arc<dyn NamedTokens>,
    metrics: Arc<HttpMetrics>,
    screen: Option<Arc<dyn RefusalScreen>>,
}

/// Shows a refusal to a caller whose program does not look at the answer.
pub(crate) trait RefusalScreen: Send + Sync {
    fn show<'a>(
        &'a self,
        caller: &'a Caller,
        request: &'a mut Parts,
        problem: &'a Problem,
    ) -> BoxFuture<'a, ()>;
}

/// A request that is not carried out, and who sent it as far as that is known.
struct Denied {
    problem: Problem,
    caller: Option<Box<Caller>>,
}

impl From<Problem> for Denied {
    fn from(problem: Problem) -> Self {
        Self { problem, caller: None }
    }
}

/// The named tokens of the daemon, and the record of what they were used for.
pub(crate) trait NamedTokens: Send + Sync {
    fn find(&self, secret: &str) -> NamedToken;
    fn record_call(&self, call: AuditCall);
}

impl NamedTokens for Hub {
    fn find(&self, secret: &str) -> NamedToken {
        self.named_token(secret)
    }

    fn record_call(&self, call: AuditCall) {
        self.record_call(call);
    }
}

/// The conditions of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needs {
    /// `None` for a route that is open to all.
    pub(crate) scope: Option<Scope>,
    pub(crate) audited: Audited,
    /// The session that the request is about.
    pub(crate) session: Option<SessionId>,
    pub(crate) origin: Origins,
}

/// The web pages that may send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origins {
    /// Ours and those that are configured.
    Ours,
    /// All: the address of the route is a secret, and who knows it may use it.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audited {
    Yes,
    /// It changes nothing, or the face itself records it.
    No,
}

/// A face whose clients send the token in their own way, and expect refusals in their own form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaceAccess {
    /// Whether the face serves this address.
    pub(crate) serves: fn(&Uri) -> bool,
    /// Reads the token in the form that clients of this face send.
    pub(crate) password: fn(&HeaderMap, &Uri) -> Option<String>,
    pub(crate) refuse: fn(Problem) -> Response,
}

impl Access {
    /// `bound` is the address that was actually bound.
    pub(crate) fn new(
        config: &ServerConfig,
        bound: &Listen,
        faces: &'static [FaceAccess],
        needs: fn(&Method, &Uri) -> Option<Needs>,
        tokens: Arc<dyn NamedTokens>,
    ) -> Self {
        Self {
            token: config.token.clone(),
            token_hint: config.token_hint.clone(),
            hosts: config.allow_hosts.clone(),
            origins: config.allow_origins.clone(),
            bound: match bound {
                Listen::Tcp(addr) => Some(*addr),
                Listen::Unix(_) => None,
            },
            faces,
            needs,
            tokens,
            metrics: Arc::default(),
            screen: None,
        }
    }

    /// Tells refusals there, too.
    pub(crate) fn showing(self, screen: Arc<dyn RefusalScreen>) -> Self {
        Self { screen: Some(screen), ..self }
    }

    /// Counts the answers there.
    pub(crate) fn counting(self, metrics: Arc<HttpMetrics>) -> Self {
        Self { metrics, ..self }
    }

    /// Puts this check before every route and fallback of `router`.
    pub(crate) fn guard(self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(Arc::new(self), check))
    }

    fn host(&self, headers: &HeaderMap, uri: &Uri) -> Result<Authority, Problem> {
        let mut named = headers.get_all(HOST).iter();
        let named = (named.next(), named.next());
        if named.1.is_some() {
            return Err(Problem::invalid("the request has more than one Host"));
        }
        let given = named.0.map(|host| host.to_str().unwrap_or_default());
        // Of a request to a proxy, the address counts and not its `Host`; both must be ours.
        for address in [uri.authority().map(Authority::as_str), given].into_iter().flatten() {
            self.known_host(address)?;
        }
        self.known_host(given.or_else(|| uri.authority().map(Authority::as_str)).unwrap_or_default())
    }

    fn known_host(&self, given: &str) -> Result<Authority, Problem> {
        if given.contains('@') {
            return Err(Problem::invalid("a Host has no user name"));
        }
        let host = given.to_ascii_lowercase().parse::<Authority>().ok();
        host.filter(|host| self.knows_host(host)).ok_or_else(|| {
            Problem::new(
                ErrorType::PermissionDenied,
                format!("the host `{given}` is not one of this daemon's names"),
            )
            .hint(format!("start the daemon with `--allow-host {}`", advised::<AllowedHost>(given, "NAME")))
        })
    }

    fn knows_host(&self, host: &Authority) -> bool {
        let name = bare(host);
        is_loopback(name)
            || name.parse::<IpAddr>().is_ok_and(|ip| self.is_bound_to(ip))
            || self.hosts.iter().any(|allowed| allowed.matches(name, host))
    }

    /// A page cannot turn a literal address into a name, so on all interfaces any address is accepted.
    fn is_bound_to(&self, ip: IpAddr) -> bool {
        self.bound.is_some_and(|bound| bound.ip() == ip || bound.ip().is_unspecified())
    }

    /// Returns the origin that may read the answer; `None` for a client that is no web page.
    fn origin(&self, headers: &HeaderMap, host: &Authority) -> Result<Option<HeaderValue>, Problem> {
        let Some(value) = headers.get(ORIGIN) else { return Ok(None) };
        let given = value.to_str().unwrap_or_default().to_ascii_lowercase();
        if self.knows_origin(&given, host) {
            return Ok(Some(value.clone()));
        }
        let hint = match given.parse::<AllowedOrigin>() {
            Err(error @ NeverMatches::Null) => error.to_string(),
            _ => format!(
                "start the daemon with `--allow-origin {}`",
                advised::<AllowedOrigin>(&given, "ORIGIN")
            ),
        };
        let detail = format!("the web origin `{given}` is not allowed");
        Err(Problem::new(ErrorType::PermissionDenied, detail).hint(hint))
    }

    fn knows_origin(&self, origin: &str, host: &Authority) -> bool {
        let authority = origin.split_once("://").and_then(|(_, rest)| rest.parse::<Authority>().ok());
        let ours = authority.is_some_and(|authority| {
            authority == *host
                || self.bound.is_some_and(|bound| {
                    is_loopback(bare(&authority)) && authority.port_u16() == Some(bound.port())
                })
        });
        ours || self.origins.iter().any(|allowed| allowed.matches(origin))
    }

    /// Finds the caller and holds its scope against the route. Only an `admin` learns more about an unknown route
    /// than that it is unknown.
    fn admit(&self, request: &Request) -> Result<(Caller, Option<Needs>), Denied> {
        let (method, uri) = (request.method(), request.uri());
        let needs = (self.needs)(method, uri);
        if matches!(needs, Some(Needs { scope: None, .. })) {
            return Ok((Caller::stranger(), needs));
        }
        let address = request.extensions().get::<PeerAddr>().and_then(PeerAddr::ip);
        let caller = self.caller(request.headers(), uri, Peer::of(request))?.at(address);
        if let Some(visitor) = request.extensions().get::<Arc<dyn Visitor>>() {
            visitor.admit()?;
        }
        match needs.as_ref().and_then(|needs| needs.scope) {
            Some(needed) if !caller.may(needed) => {
                self.refused(&caller, request, needs.as_ref());
                let problem = lacking(&caller, needed, &format!("{method} {}", uri.path()));
                Err(Denied { problem, caller: Some(Box::new(caller)) })
            }
            None if !caller.may(Scope::Admin) => {
                Err(Problem::new(ErrorType::NotFound, format!("no route {}", uri.path())).into())
            }
            _ => Ok((caller, needs)),
        }
    }

    /// Records a call that was not carried out.
    fn refused(&self, caller: &Caller, request: &Request, needs: Option<&Needs>) {
        if let Some(Needs { audited: Audited::Yes, session, .. }) = needs {
            self.tokens.record_call(caller.call(what(request), session.clone(), "403"));
        }
    }

    fn caller(&self, headers: &HeaderMap, uri: &Uri, peer: Peer) -> Result<Caller, Problem> {
        let shown = self.shown(headers, uri);
        match shown.as_deref().map(|shown| self.tokens.find(shown)) {
            Some(NamedToken::Valid(caller)) => return Ok(*caller),
            // It is nobody's any more, also where the daemon has it as its own.
            Some(NamedToken::Ended) => return Err(Problem::new(ErrorType::TokenInvalid, ENDED)),
            Some(NamedToken::Unknown) | None => {}
        }
        let Some(token) = &self.token else { return Ok(Caller::owner()) };
        if shown.as_deref().is_some_and(|shown| token.matches(shown)) {
            return Ok(Caller::owner());
        }
        let detail = if shown.is_some() { "the token is wrong" } else { "a token is required" };
        let hint = match peer {
            Peer::Here => &self.token_hint,
            Peer::Elsewhere => {
                "send `Authorization: Bearer TOKEN`; ask whoever runs the daemon for the token"
            }
        };
        Err(Problem::new(ErrorType::TokenInvalid, detail).hint(hint))
    }

    fn face(&self, uri: &Uri) -> Option<&FaceAccess> {
        self.faces.iter().find(|face| (face.serves)(uri))
    }

    /// Returns the token that a request carries, right or wrong.
    fn shown(&self, headers: &HeaderMap, uri: &Uri) -> Option<String> {
        let bearer = text(headers, AUTHORIZATION).and_then(bearer).map(str::to_owned);
        bearer.or_else(|| (self.face(uri)?.password)(headers, uri))
    }

    async fn deny(&self, denied: Denied, request: Request) -> Response {
        let (mut parts, _) = request.into_parts();
        if let (Some(screen), Some(caller)) = (&self.screen, &denied.caller) {
            screen.show(caller, &mut parts, &denied.problem).await;
        }
        self.refuse(denied.problem, &parts.uri)
    }

    /// Refuses a request in the form of the face that it was for.
    fn refuse(&self, problem: Problem, uri: &Uri) -> Response {
        match self.face(uri) {
            Some(face) => (face.refuse)(problem),
            None => problem.into_response(),
        }
    }
}

/// The origin of a connection. Only clients on this machine receive its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Here,
    Elsewhere,
}

impl Peer {
    /// A proxy on this machine forwards other clients, and adds headers that show it.
    fn of(request: &Request) -> Self {
        let address = request.extensions().get::<PeerAddr>();
        let near = address.is_some_and(|peer| peer.ip().is_none_or(|ip| ip.to_canonical().is_loopback()));
        let forwarded =
            ["forwarded", "x-forwarded-for"].iter().any(|name| request.headers().contains_key(*name));
        if near && !forwarded { Self::Here } else { Self::Elsewhere }
    }
}

/// The connection that a request came by, added to every request that arrives on it.
pub(crate) trait Visitor: Send + Sync {
    /// Notes that a request has shown a valid token; refused when there are too many such connections.
    fn admit(&self) -> Result<(), Problem>;
}

/// The peer address of the connection, added to every request that arrives on it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PeerAddr {
    Ip(IpAddr),
    /// A client on this machine, by a socket in the file system.
    Socket,
}

impl PeerAddr {
    fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Ip(ip) => Some(*ip),
            Self::Socket => None,
        }
    }
}

async fn check(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let response = answer(&access, request, next).await;
    access.metrics.answered(response.status());
    response
}

async fn answer(access: &Access, request: Request, next: Next) -> Response {
    let needs = (access.needs)(request.method(), request.uri());
    let any_origin = needs.is_some_and(|needs| needs.origin == Origins::Any);
    let admitted = access.host(request.headers(), request.uri()).and_then(|host| match any_origin {
        true => Ok(None),
        false => access.origin(request.headers(), &host),
    });
    let origin = match admitted {
        Ok(origin) => origin,
        Err(problem) => return access.refuse(problem, request.uri()),
    };
    let response = if origin.is_some() && cors::is_preflight(&request) {
        cors::preflight()
    } else {
        match access.admit(&request) {
            Ok((caller, needs)) => serve(access, caller, needs, request, next).await,
            Err(denied) => access.deny(denied, request).await,
        }
    };
    cors::admit(response, origin)
}

/// Carries a request out in the name of its caller, for as long as the caller's token is valid.
async fn serve(
    access: &Access,
    caller: Caller,
    needs: Option<Needs>,
    mut request: Request,
    next: Next,
) -> Response {
    let scope = shown_scope(&caller, needs.as_ref());
    let audited = needs.filter(|needs| needs.audited == Audited::Yes);
    let record = audited.map(|Needs { session, .. }| {
        let call = caller.call(what(&request), session, DISCONNECTED);
        Record::of(call, access.tokens.clone())
    });
    request.extensions_mut().insert(caller.clone());
    let uri = request.uri().clone();
    let ended = async {
        caller.ended().await;
        tokio::time::sleep(LAST_CALL).await;
    };
    let response = tokio::select! {
        response = next.run(request) => response,
        () = ended => {
            access.refuse(Problem::new(ErrorType::TokenInvalid, ENDED), &uri)
        }
    };
    if let Some(record) = record {
        record.answered(response.status().as_u16());
    }
    let mut response = until_its_end(response, caller);
    response.headers_mut().extend(scope.map(|scope| (SCOPE, scope)));
    response
}

/// The header that tells a client what its token allows, so that it need not offer what would be refused.
const SCOPE: HeaderName = HeaderName::from_static("omniglot-scope");

/// Returns the scope for the answer; none where nobody had to show a token.
fn shown_scope(caller: &Caller, needs: Option<&Needs>) -> Option<HeaderValue> {
    let open = matches!(needs, Some(Needs { scope: None, .. }));
    (!open).then(|| HeaderValue::from_static(caller.scope().as_str()))
}

/// Ends an event stream when its token does.
fn until_its_end(response: Response, caller: Caller) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !is_stream || caller.token_id().is_none() {
        return response;
    }
    response.map(|body| {
        let ended = async move { caller.stream_ended().await };
        Body::from_stream(body.into_data_stream().take_until(Box::pin(ended)))
    })
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the value to advise: `given` itself if it can be allowed at all.
fn advised<'a, T: FromStr>(given: &'a str, otherwise: &'a str) -> &'a str {
    if given.parse::<T>().is_ok() { given } else { otherwise }
}

pub(crate) fn is_loopback(name: &str) -> bool {
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;
