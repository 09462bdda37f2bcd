#!/bin/sh
# The input is an environment variable, the output a file.
set -eu
echo "$greeting" > /etc/motd
printf '%s' "the message of the day is $(cat /etc/motd)" > "$heat_outputs_path.said"
