// Written by `cargo xtask ui`: the files of this folder, for the server.
[
    File { name: "app-cc6f2d5102.css", plain: include_bytes!("app-cc6f2d5102.css"), gzip: include_bytes!("app-cc6f2d5102.css.gz"), brotli: include_bytes!("app-cc6f2d5102.css.br") },
    File { name: "app-f1a6b03273.js", plain: include_bytes!("app-f1a6b03273.js"), gzip: include_bytes!("app-f1a6b03273.js.gz"), brotli: include_bytes!("app-f1a6b03273.js.br") },
    File { name: "index.html", plain: include_bytes!("index.html"), gzip: include_bytes!("index.html.gz"), brotli: include_bytes!("index.html.br") },
]
