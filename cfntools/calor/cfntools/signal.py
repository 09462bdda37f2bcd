"""``cfn-signal``: tell a wait condition, or a resource, how this instance's configuration went."""

import argparse
import base64
import binascii
import json
import sys
from typing import Dict, List, Optional

from calor.cfntools import access, authorities, cloudformation, credentials, httpclient, options, retrying, unique_id
from calor.cfntools.narration import Narrator


class Refused(Exception):
    """The server does not take the signal; asking again will not help."""


def main(arguments: Optional[List[str]] = None, native: access.Native = access.no_identity) -> int:
    """0 once the server has taken the signal; 1 with the status on stderr when it has not; 2 for options that do not
    go together."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.url is not None and (given.stack or given.resource):
        parser.error("give either an address or --stack and --resource")
    if given.url is None and not (given.stack and given.resource):
        parser.error("give the address of a wait condition handle, or --stack and --resource")
    narrator = Narrator("cfn-signal", options.root())
    try:
        if given.url is None:
            _signal_resource(given, native)
        else:
            _signal_url(address(given.url), given)
    except ValueError as exc:
        return narrator.fail(exc)
    except (httpclient.TransportError, Refused, cloudformation.ApiRefused) as exc:
        return narrator.fail("not delivered: {}".format(exc))
    except (access.NoAccess, credentials.Unreadable) as exc:
        return narrator.fail(exc)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = options.parser(
        "cfn-signal",
        "Signal the end of this instance's configuration: to the address of a wait condition handle, or with --stack "
        "and --resource to a resource.",
    )
    parser.add_argument("-s", "--success", default="true", help="true or false (true)")
    parser.add_argument("-r", "--reason", help="why, shown to the user (with an address only)")
    parser.add_argument(
        "-d",
        "--data",
        default="Application has completed configuration.",
        help="data to hand over (with an address only)",
    )
    parser.add_argument("-i", "--id", dest="unique_id", help="id of this signal (this server's UUID)")
    parser.add_argument("-e", "--exit-code", "--exit", dest="exit_code", help="success is an exit code of 0")
    parser.add_argument("-k", "--insecure", action="store_true", help="do not check the server's certificate")
    parser.add_argument("--ca-certificate", help="file of a private certificate authority")
    parser.add_argument("--retry-for", type=float, default=300.0, help="seconds to try while the server fails (300)")
    parser.add_argument("--stack", help="name or ARN of the stack, instead of an address")
    parser.add_argument("--resource", help="logical name of the resource to signal")
    options.add_access(parser, ["--url"])
    parser.add_argument("url", nargs="?", help="address of the wait condition handle, plain or base64")
    return parser


def _signal_url(url: str, given: argparse.Namespace) -> None:
    options.given(given)
    root = options.root()
    data = json.dumps(body(given), ensure_ascii=False).encode("utf-8", "surrogateescape")
    trust = authorities.trust(root, given.ca_certificate, given.insecure)

    def attempt() -> httpclient.Answer:
        return retrying.check(httpclient.request("PUT", url, data, {"Content-Type": "application/json"}, 30.0, trust))

    answer = retrying.patiently(attempt, given.retry_for)
    if not answer.ok:
        raise Refused(retrying.described(answer))  # F040


def _signal_resource(given: argparse.Namespace, native: access.Native) -> None:
    ask = access.find(options.given(given), native)
    wanted = body(given)

    def attempt() -> None:
        cloudformation.signal_resource(ask, given.stack, given.resource, wanted["UniqueId"], wanted["Status"])

    retrying.patiently(attempt, given.retry_for)


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


if __name__ == "__main__":
    sys.exit(main())
