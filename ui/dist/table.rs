// Written by `cargo xtask ui`: the files of this folder, for the server.
[
    File { name: "app-0d4414eaae.js", plain: include_bytes!("app-0d4414eaae.js"), gzip: include_bytes!("app-0d4414eaae.js.gz"), brotli: include_bytes!("app-0d4414eaae.js.br") },
    File { name: "app-cc6f2d5102.css", plain: include_bytes!("app-cc6f2d5102.css"), gzip: include_bytes!("app-cc6f2d5102.css.gz"), brotli: include_bytes!("app-cc6f2d5102.css.br") },
    File { name: "index.html", plain: include_bytes!("index.html"), gzip: include_bytes!("index.html.gz"), brotli: include_bytes!("index.html.br") },
]
