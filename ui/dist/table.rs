// Written by `cargo xtask ui`: the files of this folder, for the server.
[
    File { name: "app-b534c1e75b.js", plain: include_bytes!("app-b534c1e75b.js"), gzip: include_bytes!("app-b534c1e75b.js.gz"), brotli: include_bytes!("app-b534c1e75b.js.br") },
    File { name: "app-cb358bf8f2.css", plain: include_bytes!("app-cb358bf8f2.css"), gzip: include_bytes!("app-cb358bf8f2.css.gz"), brotli: include_bytes!("app-cb358bf8f2.css.br") },
    File { name: "index.html", plain: include_bytes!("index.html"), gzip: include_bytes!("index.html.gz"), brotli: include_bytes!("index.html.br") },
]
