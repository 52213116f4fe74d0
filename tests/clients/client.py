"""What the client tests share: a client of the endpoint named on the command line, and checks that count."""

import os
import sys

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "*",
}
os.environ.update(ENVIRONMENT)

failures = []
checks = 0


def check(name, found, expected):
    """Notes a difference; the run goes on and fails at its end."""
    global checks
    checks += 1
    if found != expected:
        failures.append(f"{name}\n    expected: {expected!r}\n    found:    {found!r}")


def end():
    """Reports, and exits with 1 if any check failed."""
    for failure in failures:
        print("FAILED", failure)
    print(f"{checks} checks, {len(failures)} failed")
    sys.exit(1 if failures or not checks else 0)


def endpoint():
    """The server's URL, the only argument."""
    if len(sys.argv) != 2:
        sys.exit("usage: python3 SCRIPT http://127.0.0.1:PORT")
    return sys.argv[1]
