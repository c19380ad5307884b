//! Access to the daemon: decided for every request, known route or not, before any handler runs.
//!
//! `Host` keeps out web pages that resolve their own name to our address (DNS rebinding), `Origin` keeps out
//! other pages of the same browser, the token everybody else.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use omniglot_schema::ErrorType;

use crate::config::{ServerConfig, Token};
use crate::http::allow::{AllowedHost, AllowedOrigin, NeverMatches, bare};
use crate::http::cors;
use crate::http::problem::Problem;

/// The routes that need no token: supervisors call them, and they reveal nothing.
const OPEN: [&str; 2] = ["/v1/health", "/readyz"];

#[derive(Debug)]
pub(crate) struct Access {
    token: Option<Token>,
    token_hint: String,
    hosts: Vec<AllowedHost>,
    origins: Vec<AllowedOrigin>,
    bound: SocketAddr,
    faces: &'static [FaceAccess],
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
    pub(crate) fn new(config: &ServerConfig, bound: SocketAddr, faces: &'static [FaceAccess]) -> Self {
        Self {
            token: config.token.clone(),
            token_hint: config.token_hint.clone(),
            hosts: config.allow_hosts.clone(),
            origins: config.allow_origins.clone(),
            bound,
            faces,
        }
    }

    /// Puts this check before every route and fallback of `router`.
    pub(crate) fn guard(self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(Arc::new(self), check))
    }

    fn host(&self, headers: &HeaderMap, uri: &Uri) -> Result<Authority, Problem> {
        let given =
            text(headers, HOST).or_else(|| uri.authority().map(Authority::as_str)).unwrap_or_default();
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
        self.bound.ip() == ip || self.bound.ip().is_unspecified()
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
                || (is_loopback(bare(&authority)) && authority.port_u16() == Some(self.bound.port()))
        });
        ours || self.origins.iter().any(|allowed| allowed.matches(origin))
    }

    fn token(&self, headers: &HeaderMap, uri: &Uri, peer: Peer) -> Result<(), Problem> {
        let Some(token) = &self.token else { return Ok(()) };
        if OPEN.contains(&uri.path()) {
            return Ok(());
        }
        let shown = self.shown(headers, uri);
        if shown.as_deref().is_some_and(|shown| token.matches(shown)) {
            return Ok(());
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
        let near = address.is_some_and(|PeerAddr(ip)| ip.to_canonical().is_loopback());
        let forwarded =
            ["forwarded", "x-forwarded-for"].iter().any(|name| request.headers().contains_key(*name));
        if near && !forwarded { Self::Here } else { Self::Elsewhere }
    }
}

/// The peer address of the connection, added to every request that arrives on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddr(pub(crate) IpAddr);

async fn check(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let admitted = access
        .host(request.headers(), request.uri())
        .and_then(|host| access.origin(request.headers(), &host));
    let origin = match admitted {
        Ok(origin) => origin,
        Err(problem) => return access.refuse(problem, request.uri()),
    };
    let response = if origin.is_some() && cors::is_preflight(&request) {
        cors::preflight()
    } else if let Err(problem) = access.token(request.headers(), request.uri(), Peer::of(&request)) {
        access.refuse(problem, request.uri())
    } else {
        next.run(request).await
    };
    cors::admit(response, origin)
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
