#!/bin/sh
# Each signal has an id: sending one again changes nothing. A status FAILURE would end the stack at once.
$NOTIFY --data-binary '{"status": "SUCCESS", "id": "first", "reason": "installed", "data": "step one"}'
$NOTIFY --data-binary '{"status": "SUCCESS", "id": "second", "reason": "started", "data": "step two"}'
