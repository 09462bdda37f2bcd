#!/bin/sh
set -eu
mkdir -p /srv/page
printf '<!doctype html>\n<title>Calor</title>\n<p>%s</p>\n' "$text" >/srv/page/index.html
cd /srv/page
# setsid and no open pipes: the web server stays when this script has ended.
setsid python3 -m http.server 80 >/dev/null 2>&1 </dev/null &
for attempt in $(seq 50); do
    if curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1/ >"$heat_outputs_path.status"; then
        exit 0
    fi
    sleep 0.2
done
echo "the web server did not come up" >&2
exit 1
