// Written by `cargo xtask ui`: the files of this folder, for the server.
[
    File { name: "app-7161821b59.css", plain: include_bytes!("app-7161821b59.css"), gzip: include_bytes!("app-7161821b59.css.gz"), brotli: include_bytes!("app-7161821b59.css.br") },
    File { name: "app-de176b7d5e.js", plain: include_bytes!("app-de176b7d5e.js"), gzip: include_bytes!("app-de176b7d5e.js.gz"), brotli: include_bytes!("app-de176b7d5e.js.br") },
    File { name: "index.html", plain: include_bytes!("index.html"), gzip: include_bytes!("index.html.gz"), brotli: include_bytes!("index.html.br") },
]
