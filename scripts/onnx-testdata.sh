#!/usr/bin/env bash
# Fetches ONNX's node tests, the data of Debian's package libonnx-testdata, into target/onnx-testdata, and prints the folder.
# Nothing happens if they are there already, or installed.
set -euo pipefail
cd "$(dirname "$0")/.."

package=libonnx-testdata
data=usr/share/libonnx-testdata/data/node
if [ -d "/$data" ]; then
    echo "/$data"
    exit
fi
folder=target/onnx-testdata
if [ ! -d "$folder/$data" ]; then
    command -v apt-get >/dev/null || {
        echo "error: apt-get is missing; unpack Debian's package $package into $folder yourself" >&2
        exit 1
    }
    fresh=$(mktemp -d)
    trap 'rm -rf "$fresh"' EXIT
    download() { (cd "$fresh" && apt-get download -q "$package" >&2); }
    # The list of packages may be missing, or too old.
    download || { apt-get update -q >&2 && download; }
    mkdir -p "$folder"
    dpkg-deb -x "$fresh/$package"_*.deb "$folder"
fi
echo "$PWD/$folder/$data"
