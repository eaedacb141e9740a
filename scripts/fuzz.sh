#!/usr/bin/env bash
# Fuzzes the readers of weight files: scripts/fuzz.sh [SECONDS] [TARGET..]; 600 seconds and all targets if not said.
# Needs cargo-fuzz (`cargo install cargo-fuzz`) and a C++ compiler. Seeds are the files of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
shift || true
targets=("$@")
[ "${#targets[@]}" -gt 0 ] || targets=(safetensors gguf)

# The cases hold their files as base64; cut them out.
python3 - <<'PYTHON'
import base64, json, pathlib

cases = json.load(open("tests/data/cases/cases.dev.json"))["file_cases"]
for case in cases:
    folder = pathlib.Path("fuzz/corpus") / case["format"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / case["id"]).write_bytes(base64.b64decode(case["bytes_b64"]))
PYTHON
cp luminal-core/tests/data/weights/*.safetensors fuzz/corpus/safetensors/
cp luminal-core/tests/data/weights/*.gguf fuzz/corpus/gguf/

# The options that cargo-fuzz passes to rustc are unstable; this lets the stable compiler take them. No sanitizer: what is
# looked for are panics, time and memory, the readers have no unsafe code.
export RUSTC_BOOTSTRAP=1
for target in "${targets[@]}"; do
    cargo fuzz run --sanitizer none "$target" -- -max_total_time="$seconds" -max_len=16384 -timeout=5 -rss_limit_mb=512
done
