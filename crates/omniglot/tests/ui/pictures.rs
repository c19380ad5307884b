//! Every view in light and dark, on a desk and on a phone: what axe finds, and the pictures of docs/UI.md.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::browser::Screen;

/// Looks at each view as people do who see, hear or have small screens. `cargo xtask ui --screenshots` names the folder
/// for the pictures.
#[test]
fn the_pictures_of_the_manual_can_be_taken() {
    let temporary = tempfile::tempdir().unwrap();
    let asked = std::env::var_os("OMNIGLOT_UI_PICTURES").map(PathBuf::from);
    let folder = asked.unwrap_or_else(|| temporary.path().to_owned());
    Screen::open_with_demo().play("views.mjs", json!({ "pictures": folder }));
    for view in ["home", "session", "changes", "events"] {
        for scheme in ["light", "dark"] {
            let picture = folder.join(format!("{view}-{scheme}.png"));
            assert!(
                std::fs::metadata(&picture).is_ok_and(|file| file.len() > 10_000),
                "{}",
                picture.display()
            );
        }
    }
}

#[test]
fn the_manual_shows_every_picture() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let manual = std::fs::read_to_string(docs.join("UI.md")).unwrap();
    let pictures: Vec<_> = manual.split("](ui/").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert_eq!(pictures.len(), 8, "{pictures:?}");
    for picture in pictures {
        assert!(docs.join("ui").join(picture).is_file(), "{picture}");
    }
}
