//! Puts images into the events that name them.
//!
//! OpenCode's clients display an image by the address in its part, and a page sends no token when it loads
//! one. So the address is a data URL, as with OpenCode's own server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_runtime::Hub;
use omniglot_schema::{ContentPart, EventData, SessionId, UniversalEvent};

/// A larger image would evict too many frames from the streams' ring. It keeps its address below `/v1`.
const LARGEST: usize = 4 << 20;

/// The bytes of images that a session's projection holds. Later images keep their address as well.
pub(super) const ROOM: usize = 16 << 20;

/// May be called again for the same event. An image that cannot be read keeps its address and hides nothing
/// else.
pub(super) async fn put_in(hub: &Hub, session: &SessionId, event: &mut UniversalEvent, room: &mut usize) {
    // An image stands in both events of its item, and is counted once.
    let (data, counts) = match &mut event.data {
        EventData::ItemStarted(data) => (data, false),
        EventData::ItemCompleted(data) => (data, true),
        _ => return,
    };
    for part in &mut data.item.content {
        let ContentPart::Image { path, mime } = part else { continue };
        let Some(name) = blob_name(path) else { continue };
        match hub.blob(session, name).await {
            Ok(blob) if blob.bytes.len() <= LARGEST.min(*room) => {
                if counts {
                    *room -= blob.bytes.len();
                }
                let mime = mime.as_deref().unwrap_or(&blob.mime);
                *path = format!("data:{mime};base64,{}", STANDARD.encode(&blob.bytes));
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%session, name, error = &error as &dyn std::error::Error, "a picture");
            }
        }
    }
}

fn blob_name(path: &str) -> Option<&str> {
    path.strip_prefix("/v1/sessions/")?.split_once("/blobs/").map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::blob_name;

    #[test]
    fn only_a_blob_s_address_is_one() {
        assert_eq!(blob_name("/v1/sessions/s/blobs/00ff.png"), Some("00ff.png"));
        assert_eq!(blob_name("/home/me/blobs/a.png"), None);
        assert_eq!(blob_name("data:image/png;base64,AAAA"), None);
    }
}
