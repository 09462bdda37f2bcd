#!/bin/sh
set -eu
echo "digesting ${#text} characters on $(hostname)"
printf '%s%s' "$salt" "$text" | sha256sum | cut -d ' ' -f 1 | tr -d '\n' >"$heat_outputs_path.digest"
uname -r | tr -d '\n' >"$heat_outputs_path.kernel"
