#!/usr/bin/env bash
# Assembles PTX files for every GPU generation that the text is meant for, and prints registers and spills of each
# kernel. A warning or a spill is a failure.
#
#     scripts/ptxas.sh FILE.ptx...
#
# The texts of the kernels that tests run are kept and checked like this:
#
#     mkdir -p target/ptx
#     LUMINAL_PTX_OUT=$PWD/target/ptx cargo test -p luminal-cuda --all-features
#     scripts/ptxas.sh target/ptx/*.ptx
#
# The assembler comes from a Python wheel, checked by its hash and kept in a cache; no CUDA toolkit is needed.
# PTXAS=/path/to/ptxas takes another one, LUMINAL_CACHE another cache folder.
set -euo pipefail

package=nvidia-cuda-nvcc
version=13.5.37
sha256=f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7
platform=manylinux_2_17_x86_64
member=nvidia/cu13/bin/ptxas
architectures="sm_80 sm_89 sm_90"

fail() {
    echo "ptxas.sh: $*" >&2
    exit 2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -n "${LUMINAL_CACHE:-}" ]; then
    cache=$LUMINAL_CACHE
elif [ -n "${XDG_CACHE_HOME:-}" ]; then
    cache=$XDG_CACHE_HOME/luminal
else
    cache=$root/target/cache
fi

# Prints the path of the assembler; fetches it first if the cache lacks it.
find_ptxas() {
    if [ -n "${PTXAS:-}" ]; then
        [ -x "$PTXAS" ] || fail "PTXAS=$PTXAS is not an executable file"
        echo "$PTXAS"
        return
    fi
    local ready=$cache/ptxas-$version
    if [ ! -x "$ready" ]; then
        fetch "$ready"
    fi
    echo "$ready"
}

fetch() {
    [ "$(uname -sm)" = "Linux x86_64" ] || fail "the assembler is fetched for Linux on x86-64 only; set PTXAS"
    local python
    python=$(command -v python3) || fail "python3 is needed to fetch $package $version; or set PTXAS"
    mkdir -p "$cache"
    local work
    work=$(mktemp -d "$cache/fetch.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --platform "$platform" --dest "$work" "$package==$version" >&2 ||
        fail "could not fetch $package $version with pip: is there a network? Set PTXAS to use an installed assembler"
    local wheels=("$work"/*.whl)
    echo "$sha256  ${wheels[0]}" | sha256sum --check --quiet >&2 ||
        fail "the wheel of $package $version does not have the expected hash"
    "$python" - "${wheels[0]}" "$member" "$work/ptxas" <<'PYTHON'
import shutil, sys, zipfile

wheel, member, target = sys.argv[1:]
with zipfile.ZipFile(wheel).open(member) as source, open(target, "wb") as out:
    shutil.copyfileobj(source, out)
PYTHON
    chmod +x "$work/ptxas"
    mv "$work/ptxas" "$1"
}

# Turns what the assembler says into one line for each kernel.
summary() {
    awk -v file="$1" -v architecture="$2" '
        /Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
        /spill stores/ {
            for (i = 1; i <= NF; i++) {
                if ($(i + 1) == "bytes" && $(i + 2) == "spill" && $(i + 3) ~ /stores/) stores = $i
                if ($(i + 1) == "bytes" && $(i + 2) == "spill" && $(i + 3) ~ /loads/) loads = $i
            }
        }
        /Used [0-9]+ registers/ {
            for (i = 1; i <= NF; i++) {
                if ($i == "Used") registers = $(i + 1)
            }
            shared = 0
            if (match($0, /[0-9]+ bytes smem/)) { shared = substr($0, RSTART, RLENGTH); sub(/ .*/, "", shared) }
            printf "%s %s %s: %s registers, %s bytes of shared memory, %s + %s bytes spilled\n",
                architecture, file, kernel, registers, shared, stores, loads
        }'
}

[ $# -gt 0 ] || fail "usage: scripts/ptxas.sh FILE.ptx..."
ptxas=$(find_ptxas)
failed=0
for file in "$@"; do
    [ -f "$file" ] || fail "no file $file"
    for architecture in $architectures; do
        if said=$("$ptxas" --verbose --warning-as-error --warn-on-spills --gpu-name "$architecture" --output-file /dev/null \
            "$file" 2>&1); then
            summary "$file" "$architecture" <<<"$said"
        else
            failed=1
            echo "$architecture $file: FAILED" >&2
            echo "$said" | grep -v '^ptxas info' >&2 || true
        fi
    done
done
exit $failed
