"""What the client tests share: a client of the endpoint named on the command line, checks that count, operations called."""

import os
import sys
from importlib.metadata import PackageNotFoundError, version

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

REQUIREMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements.txt")


def require():
    """Ends with a sentence if the packages are not there in the versions wanted."""
    with open(REQUIREMENTS, encoding="utf-8") as lines:
        for name, wanted in (line.strip().split("==") for line in lines):
            try:
                found = version(name)
            except PackageNotFoundError:
                found = "none"
            if found != wanted:
                sys.exit(f"{sys.executable} has {name} {found}, {wanted} is needed: pip install -r {REQUIREMENTS}, or run scripts/test")


require()

# Operations of the clients' models that the server does not serve; `every_operation.py` holds the server to this list.
NOT_SERVED = set()

known = set()
called = set()
failures = []
checks = 0


def watch(events, *models):
    """Notes the operations that a client, or all clients of a session, know and call from now on."""
    for model in models:
        known.update(model.operation_names)
    for service in ("dynamodb", "dynamodb-streams"):
        events.register(f"before-call.{service}", lambda model, **_: called.add(model.name))


def watch_client(client):
    """The same of a client of boto3."""
    watch(client.meta.events, client.meta.service_model)


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
    print("known", *sorted(known))
    print("called", *sorted(called))
    print(f"{checks} checks, {len(failures)} failed")
    sys.exit(1 if failures or not checks else 0)


def endpoint():
    """The server's URL, the first argument."""
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python3 SCRIPT http://127.0.0.1:PORT [DIRECTORY OF BUCKETS]")
    return sys.argv[1]


def buckets():
    """The directory that stands for the buckets of the server, the second argument."""
    return sys.argv[2]
