#!/bin/sh
set -eu
for attempt in $(seq 50); do
    if [ -e "$device" ]; then break; fi
    sleep 0.2
done
printf 'written by the stack' | dd of="$device" conv=notrunc,fsync status=none
dd if="$device" bs=1 count=20 status=none >"$heat_outputs_path.read_back"
if [ -b "$device" ]; then blockdev --getsize64 "$device"; else stat -L -c %s "$device"; fi |
    tr -d '\n' >"$heat_outputs_path.bytes"
