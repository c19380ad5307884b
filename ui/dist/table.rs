// Written by `cargo xtask ui`: the files of this folder, for the server.
[
    File { name: "app-5957d979cf.js", plain: include_bytes!("app-5957d979cf.js"), gzip: include_bytes!("app-5957d979cf.js.gz"), brotli: include_bytes!("app-5957d979cf.js.br") },
    File { name: "app-cb358bf8f2.css", plain: include_bytes!("app-cb358bf8f2.css"), gzip: include_bytes!("app-cb358bf8f2.css.gz"), brotli: include_bytes!("app-cb358bf8f2.css.br") },
    File { name: "index.html", plain: include_bytes!("index.html"), gzip: include_bytes!("index.html.gz"), brotli: include_bytes!("index.html.br") },
]
