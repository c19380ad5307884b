//! The files of ui/dist, made from what the bundler wrote: names with a hash, the page that loads them, each file in
//! gzip and brotli too, and the table that the server includes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use sha2::{Digest as _, Sha256};

/// The content of each file by its name.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

const PAGE: &str = "index.html";

/// A file that the bundler writes or the sources have, and its place in the page.
const PARTS: [(&str, &str); 3] = [("app.js", "__JS__"), ("app.css", "__CSS__"), ("icon.svg", "__ICON__")];

/// Returns the files for the repository, of the page in `source` and the output of the bundler.
pub(super) fn finished(source: &Path, bundled: &Path) -> anyhow::Result<Files> {
    let mut page = fs::read_to_string(source.join(PAGE)).context("ui/src/index.html")?;
    let mut files = Files::new();
    for (file, place) in PARTS {
        let found = [bundled.join(file), source.join(file)].into_iter().find(|path| path.exists());
        let Some(path) = found.filter(|_| page.contains(place)) else { continue };
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let name = hashed(file, &bytes);
        page = page.replace(place, &name);
        files.insert(name, bytes);
    }
    ensure!(!page.contains("__"), "ui/src/index.html has a place that no file fills: {page}");
    files.insert(PAGE.to_owned(), page.into_bytes());
    let table = table(&files);
    for (name, bytes) in files.clone() {
        files.insert(format!("{name}.gz"), gzip(&bytes)?);
        files.insert(format!("{name}.br"), brotli(&bytes)?);
    }
    files.insert("table.rs".to_owned(), table.into_bytes());
    Ok(files)
}

/// Returns how many bytes a browser loads that takes gzip.
pub(super) fn compressed_size(files: &Files) -> usize {
    files.iter().filter(|(name, _)| name.ends_with(".gz")).map(|(_, bytes)| bytes.len()).sum()
}

/// Returns `app-0123456789.js` for `app.js`: a name that no other content ever has.
fn hashed(file: &str, bytes: &[u8]) -> String {
    let hash: String = Sha256::digest(bytes).iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    match file.split_once('.') {
        Some((stem, extension)) => format!("{stem}-{hash}.{extension}"),
        None => format!("{file}-{hash}"),
    }
}

fn table(files: &Files) -> String {
    let mut text =
        String::from("// Written by `cargo xtask ui`: the files of this folder, for the server.\n[\n");
    for name in files.keys() {
        let bytes = |end: &str| format!("include_bytes!(\"{name}{end}\")");
        let (plain, gzip, brotli) = (bytes(""), bytes(".gz"), bytes(".br"));
        let _ = writeln!(
            text,
            "    File {{ name: \"{name}\", plain: {plain}, gzip: {gzip}, brotli: {brotli} }},"
        );
    }
    text + "]\n"
}

/// The header has no time, so that equal content gives equal bytes.
fn gzip(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = flate2::GzBuilder::new().mtime(0).write(vec![], flate2::Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn brotli(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut output = vec![];
    let params = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    brotli::BrotliCompress(&mut &*bytes, &mut output, &params)?;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(page: &str) -> anyhow::Result<Files> {
        let folder = std::env::temp_dir().join(format!("ui-files-{}-{}", std::process::id(), page.len()));
        let (source, bundled) = (folder.join("src"), folder.join("out"));
        fs::create_dir_all(&source).unwrap();
        fs::create_dir_all(&bundled).unwrap();
        fs::write(source.join(PAGE), page).unwrap();
        fs::write(bundled.join("app.js"), "let a = 1").unwrap();
        let files = finished(&source, &bundled);
        fs::remove_dir_all(&folder).unwrap();
        files
    }

    #[test]
    fn the_page_loads_files_that_are_named_after_their_content() {
        let files = built("<script src=\"__JS__\"></script>").unwrap();
        let page = String::from_utf8(files[PAGE].clone()).unwrap();
        let name = page.strip_prefix("<script src=\"").unwrap().split('"').next().unwrap();
        assert_eq!(files[name], b"let a = 1");
        assert!(name.starts_with("app-") && name.len() == "app-0123456789.js".len(), "{name}");
        let table = String::from_utf8(files["table.rs"].clone()).unwrap();
        assert!(table.contains(name) && table.contains(PAGE), "{table}");
    }

    #[test]
    fn equal_sources_give_equal_bytes() {
        assert_eq!(built("<p>__JS__").unwrap(), built("<p>__JS__").unwrap());
    }

    #[test]
    fn a_place_in_the_page_that_nothing_fills_is_told() {
        assert!(built("__CSS__ __JS__").unwrap_err().to_string().contains("no file fills"));
    }
}
