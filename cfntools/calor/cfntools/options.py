"""Options that cfn-init and cfn-get-metadata share."""

import argparse

from calor.cfntools.metadata import Wanted


def add(parser: argparse.ArgumentParser, required: bool) -> None:
    parser.add_argument("-s", "--stack", dest="stack", required=required, help="name or ARN of the stack")
    parser.add_argument("-r", "--resource", dest="resource", required=required, help="logical name of the resource")
    parser.add_argument("--access-key", help="EC2 access key")
    parser.add_argument("--secret-key", help="EC2 secret key")
    parser.add_argument("--region", help="accepted for compatibility")
    parser.add_argument("-f", "--credential-file", help="file with AWSAccessKeyId and AWSSecretKey")
    parser.add_argument("-u", "--url", help="address of the CloudFormation API")
    parser.add_argument("-v", "--verbose", action="store_true")


def wanted(given: argparse.Namespace, root: str) -> Wanted:
    return Wanted(
        given.stack, given.resource, given.url, given.access_key, given.secret_key, given.credential_file, root
    )
