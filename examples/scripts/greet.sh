#!/bin/sh
# The input is an environment variable.
set -eu
echo "$greeting" > /etc/motd
