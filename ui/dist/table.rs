// Written by `cargo xtask ui`: the files of this folder, for the server.
[
    File { name: "app-221c6e7a95.js", plain: include_bytes!("app-221c6e7a95.js"), gzip: include_bytes!("app-221c6e7a95.js.gz"), brotli: include_bytes!("app-221c6e7a95.js.br") },
    File { name: "app-cb358bf8f2.css", plain: include_bytes!("app-cb358bf8f2.css"), gzip: include_bytes!("app-cb358bf8f2.css.gz"), brotli: include_bytes!("app-cb358bf8f2.css.br") },
    File { name: "index.html", plain: include_bytes!("index.html"), gzip: include_bytes!("index.html.gz"), brotli: include_bytes!("index.html.br") },
]
