#!/usr/bin/env python3
"""Runs the template author's user-data (HEAT_CFNTOOLS) and logs what it says to /var/log/heat-provision.log."""

import datetime
import errno
import os
import subprocess
import sys

USER_DATA = "/var/lib/heat-cfntools/cfn-userdata"
FINISHED = "/var/lib/heat-cfntools/provision-finished"
LOG = "/var/log/heat-provision.log"


def main():
    # type: () -> int
    """The exit status of the user-data; 0 where it is nothing that can be executed."""
    os.chmod(USER_DATA, 0o700)
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(log, ("Provision began: %s\n" % datetime.datetime.now()).encode())
    status = run(log)
    os.write(log, ("Provision done: %s, exit status %d\n" % (datetime.datetime.now(), status)).encode())
    os.close(log)
    if status == 0:
        os.close(os.open(FINISHED, os.O_WRONLY | os.O_CREAT, 0o644))
    return status


def run(log):
    # type: (int) -> int
    try:
        return subprocess.call([USER_DATA], stdout=log, stderr=log)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            os.write(log, ("The user data could not be started: %s\n" % error).encode())
            return 126
        os.write(log, b"The user data is not executable; nothing was run.\n")
        return 0


if __name__ == "__main__":
    sys.exit(main())
