#!/bin/sh
# Installs omniglot from a release: a folder, or the address that its files are below.
#
#   sh install.sh --from https://example.com/omniglot/0.1.0
#   sh install.sh --from ./target/dist --prefix /usr/local
#
# The archive is compared with SHA256SUMS of the same place before anything is changed. That finds what was damaged on
# its way; against somebody who has changed both, give the sum that you trust with --sha256.
set -eu

say() { printf '%s\n' "$*"; }
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}
usage() {
    say "usage: install.sh [--from URL|FOLDER] [--prefix FOLDER] [--sha256 SUM]"
    say "  --from     where the release is; the folder of this script if it is not given, or \$OMNIGLOT_FROM"
    say "  --prefix   what bin/omniglot and share/ are put below; ~/.local if it is not given"
    say "  --sha256   the sum that the archive must have"
}

from=${OMNIGLOT_FROM:-}
prefix=
trusted=
while [ $# -gt 0 ]; do
    case $1 in
        --from | --prefix | --sha256)
            [ $# -ge 2 ] && [ -n "$2" ] || fail "$1 needs a value"
            case $1 in
                --from) from=$2 ;;
                --prefix) prefix=$2 ;;
                --sha256) trusted=$2 ;;
            esac
            shift 2
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            usage >&2
            exit 2
            ;;
    esac
done

[ "$(uname -s)" = Linux ] || fail "omniglot runs on Linux only, and this is $(uname -s)"
case $(uname -m) in
    x86_64 | amd64) arch=x86_64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) fail "there is no package for $(uname -m); build it: cargo install --path crates/omniglot" ;;
esac

if [ -z "$from" ]; then
    from=$(dirname "$0")
    [ -f "$from/SHA256SUMS" ] || fail "say where the release is: --from URL or --from FOLDER"
fi
if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set; say --prefix FOLDER"
    prefix=$HOME/.local
fi
case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac
for program in tar gzip sha256sum mktemp; do
    command -v "$program" >/dev/null || fail "$program is needed"
done

work=$(mktemp -d)
new=
trap 'rm -rf "$work"; [ -z "$new" ] || rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM

fetch() {
    case $from in
        http://* | https://*)
            if command -v curl >/dev/null; then
                curl --fail --silent --show-error --location --output "$work/$1" "${from%/}/$1"
            elif command -v wget >/dev/null; then
                wget --quiet --output-document="$work/$1" "${from%/}/$1"
            else
                fail "curl or wget is needed to download"
            fi
            ;;
        *) cp "${from#file://}/$1" "$work/$1" ;;
    esac || fail "$1 cannot be had from $from"
}

fetch SHA256SUMS
line=$(grep -E "^[0-9a-f]{64}  omniglot-[0-9][0-9A-Za-z.+-]*-$arch-linux\.tar\.gz\$" "$work/SHA256SUMS") ||
    fail "$from has no package for $arch"
[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "$from has several packages for $arch"
sum=${line%% *}
archive=${line##* }
[ -z "$trusted" ] || [ "$trusted" = "$sum" ] ||
    fail "$from says that the sum of $archive is $sum, and not the one of --sha256; nothing was changed"
fetch "$archive"
found=$(sha256sum "$work/$archive")
[ "${found%% *}" = "$sum" ] ||
    fail "$archive is damaged or not the one that SHA256SUMS means: its sum is ${found%% *}, not $sum; nothing was changed"
tar -xzf "$work/$archive" -C "$work" || fail "$archive cannot be unpacked; nothing was changed"
release=$work/${archive%.tar.gz}
version=$("$release/bin/omniglot" --version) || fail "the program does not start on this machine; nothing was changed"

# Each file gets another name first, in the folder where it belongs: the last step cannot stop half way.
place() {
    [ ! -d "$2" ] || fail "$2 is a folder; remove it"
    mkdir -p "$(dirname "$2")" || fail "$(dirname "$2") cannot be made"
    new=$2.new.$$
    { cp "$1" "$new" && chmod "$3" "$new" && mv -f "$new" "$2"; } || fail "$2 cannot be written"
    new=
}

(cd "$release" && find share -type f) >"$work/files"
# The unit names the program by its path.
for unit in "$release"/share/systemd/user/*.service; do
    sed "s|%h/.local/bin/omniglot|$prefix/bin/omniglot|" "$unit" >"$work/unit" && cp "$work/unit" "$unit"
done
while read -r file; do
    place "$release/$file" "$prefix/$file" 644
done <"$work/files"
place "$release/bin/omniglot" "$prefix/bin/omniglot" 755

say "$version is installed: $prefix/bin/omniglot"
case ":${PATH:-}:" in
    *":$prefix/bin:"*) ;;
    *)
        say "$prefix/bin is not on your PATH. Put this line into ~/.profile (or ~/.bashrc, ~/.zshrc) and log in anew:"
        say "    export PATH=\"$prefix/bin:\$PATH\""
        ;;
esac
say "Try it:  omniglot run --agent mock --scratch \"Read README.md and add a line at the end\""
say "A daemon that runs goes on as it is until:  omniglot daemon restart"
