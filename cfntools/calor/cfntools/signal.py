"""``cfn-signal``: tell a wait condition, or a resource, how this instance's configuration went."""

import argparse
import base64
import binascii
import json
import sys
import time
from typing import Dict, List, Optional

from calor.cfntools import httpclient, tls, unique_id

WAITS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)


def main(arguments: Optional[List[str]] = None) -> int:
    """0 once the server has taken the signal; 1 with the status on stderr when it has not."""
    given = _parser().parse_args(arguments)
    try:
        url = address(given.url)
    except ValueError as exc:
        sys.stderr.write("cfn-signal: {}\n".format(exc))
        return 1
    data = json.dumps(body(given), ensure_ascii=False).encode("utf-8", "surrogateescape")
    return send(url, data, tls.Trust(given.ca_certificate, insecure=given.insecure), given.retry_for)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cfn-signal", description="Signal the end of this instance's configuration.")
    parser.add_argument("-s", "--success", default="true", help="true or false (true)")
    parser.add_argument("-r", "--reason", help="why, shown to the user")
    parser.add_argument("-d", "--data", default="Application has completed configuration.", help="data to hand over")
    parser.add_argument("-i", "--id", dest="unique_id", help="id of this signal (this server's UUID)")
    parser.add_argument("-e", "--exit-code", "--exit", dest="exit_code", help="success is an exit code of 0")
    parser.add_argument("-k", "--insecure", action="store_true", help="do not check the server's certificate")
    parser.add_argument("--ca-certificate", help="file of a private certificate authority")
    parser.add_argument("--retry-for", type=float, default=300.0, help="seconds to try while the server fails (300)")
    parser.add_argument("url", help="address of the wait condition handle, plain or base64")
    return parser


def address(word: str) -> str:
    """The URL, which may be given in base64 as AWS's tools take it. Raises ValueError."""
    if word.startswith(("http://", "https://")):
        return word
    try:
        decoded = base64.b64decode(word.encode("ascii"), validate=True).decode("utf-8")
    except (UnicodeError, binascii.Error, ValueError):
        decoded = ""
    if not decoded.startswith(("http://", "https://")):
        raise ValueError("{!r} is no http(s) address".format(word))
    return decoded


def body(given: argparse.Namespace) -> Dict[str, str]:
    """The exit code beats ``--success``."""
    success = given.success.strip().lower() == "true"
    if given.exit_code is not None:
        success = given.exit_code.strip() == "0"
    reason = given.reason or ("Configuration Complete" if success else "Configuration failed")
    if not success and not given.reason and given.exit_code is not None:
        reason = "Configuration failed with exit code {}".format(given.exit_code)
    return {
        "Status": "SUCCESS" if success else "FAILURE",
        "Reason": reason,
        "UniqueId": given.unique_id or unique_id.default(),
        "Data": given.data,
    }


def send(url: str, data: bytes, trust: tls.Trust, retry_for: float) -> int:
    """PUT until taken. Connection errors, 429 and 5xx are tried again; any other error is final (F040)."""
    deadline = time.monotonic() + retry_for
    for attempt in range(1000):
        try:
            answer = httpclient.request("PUT", url, data, {"Content-Type": "application/json"}, 30.0, trust)
        except httpclient.TransportError as exc:
            failure = str(exc)
        else:
            if answer.ok:
                return 0
            failure = "the server answered {}: {}".format(answer.status, answer.text()[:300].strip())
            if answer.status < 500 and answer.status not in (408, 429):
                break
        wait = WAITS[min(attempt, len(WAITS) - 1)]
        if time.monotonic() + wait > deadline:
            break
        time.sleep(wait)
    sys.stderr.write("cfn-signal: not delivered: {}\n".format(failure))
    return 1


if __name__ == "__main__":
    sys.exit(main())
