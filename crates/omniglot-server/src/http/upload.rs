//! Reads a body as it arrives, within a limit, on a thread that may wait for it.

use std::io::{self, Read};

use axum::body::Body;
use axum::extract::Request;
use bytes::{Buf as _, Bytes};
use http::header::CONTENT_LENGTH;
use omniglot_schema::ErrorType;
use tokio::runtime::Handle;

use crate::app::Limits;
use crate::http::body::next_data;
use crate::http::problem::Problem;

/// A client that still sends does not read its answer, so so much of a refused body is read in vain.
const IN_VAIN: u64 = 16 << 20;

pub(crate) struct Upload {
    body: Body,
    limits: Limits,
    /// The longest body, and the rest of that which may still come.
    most: u64,
    left: u64,
    piece: Bytes,
    runtime: Handle,
    failure: Option<Problem>,
}

impl Upload {
    /// Refuses a body that is said to be longer than `most`.
    pub(crate) fn new(request: Request, limits: Limits, most: u64) -> Result<Self, Problem> {
        let declared =
            request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
        if declared.is_some_and(|length| length > most) {
            return Err(too_large(most));
        }
        let (body, runtime) = (request.into_body(), Handle::current());
        Ok(Self { body, limits, most, left: most, piece: Bytes::new(), runtime, failure: None })
    }

    /// Ends the reading: returns the failure of the body itself before that of its use.
    pub(crate) fn finish<T>(mut self, used: Result<T, Problem>) -> Result<T, Problem> {
        match (self.failure.take(), used) {
            (Some(failure), Err(_)) => Err(failure),
            (_, used) => {
                let most = if used.is_ok() { u64::MAX } else { IN_VAIN };
                if let Err(error) = io::copy(&mut (&mut self).take(most), &mut io::sink()) {
                    tracing::debug!(%error, "the rest of a body");
                }
                used
            }
        }
    }

    fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let piece = self.runtime.block_on(next_data(&mut self.body, self.limits))?;
        let length = piece.as_ref().map_or(0, |piece| piece.len() as u64);
        self.left = self.left.checked_sub(length).ok_or_else(|| too_large(self.most))?;
        Ok(piece)
    }
}

impl Read for Upload {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.next() {
                Ok(Some(piece)) => self.piece = piece,
                Ok(None) => return Ok(0),
                Err(problem) => {
                    self.failure = Some(problem);
                    return Err(io::Error::other("the body cannot be read"));
                }
            }
        }
        let length = buffer.len().min(self.piece.len());
        self.piece.split_to(length).copy_to_slice(buffer.get_mut(..length).unwrap_or_default());
        Ok(length)
    }
}

fn too_large(most: u64) -> Problem {
    Problem::new(ErrorType::TooLarge, format!("the body is longer than {} MiB", most >> 20))
}
