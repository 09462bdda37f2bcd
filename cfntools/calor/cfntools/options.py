"""Options that the tools share."""

import argparse
import os

from calor.cfntools.credentials import Given
from calor.cfntools.metadata import Wanted

EXIT_CODES = "Exit code: 0 done, 1 failed (one line on standard error says why), 2 wrong usage."


def parser(name: str, description: str, more: str = "") -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=name, description=description, epilog=(more + " " + EXIT_CODES).strip())


def add_resource(parser: argparse.ArgumentParser, required: bool) -> None:
    parser.add_argument("-s", "--stack", dest="stack", required=required, help="name or ARN of the stack")
    parser.add_argument("-r", "--resource", dest="resource", required=required, help="logical name of the resource")


def add_access(parser: argparse.ArgumentParser, url_flags: "list[str]") -> None:
    """How the API is reached; ``url_flags`` since ``-u`` is not every tool's."""
    parser.add_argument("--access-key", help="EC2 access key")
    parser.add_argument("--secret-key", help="EC2 secret key")
    parser.add_argument(
        "-f", "--credential-file", help="file with AWSAccessKeyId and AWSSecretKey (/etc/cfn/cfn-credentials)"
    )
    parser.add_argument(*url_flags, dest="api_url", help="address of the CloudFormation API (what was left at boot)")
    parser.add_argument("--region", help="accepted for templates of Heat and AWS; the address says where the API is")
    parser.add_argument("--role", help="accepted for templates of AWS; there are no IAM roles, the instance is itself")
    parser.add_argument("--http-proxy", help="proxy for http addresses (http_proxy of the environment)")
    parser.add_argument("--https-proxy", help="proxy for https addresses (https_proxy of the environment)")


def root() -> str:
    return os.environ.get("CALOR_ROOT") or "/"


def given(found: argparse.Namespace) -> Given:
    """What the options of ``add_access`` say; proxies are set for everything that follows."""
    for scheme in ("http", "https"):
        proxy = getattr(found, scheme + "_proxy")
        if proxy:
            os.environ[scheme + "_proxy"] = proxy
    authority, insecure = getattr(found, "ca_certificate", None), getattr(found, "insecure", False)
    return Given(found.api_url, found.access_key, found.secret_key, found.credential_file, root(), authority, insecure)


def wanted(found: argparse.Namespace) -> Wanted:
    return Wanted(found.stack, found.resource, given(found))
