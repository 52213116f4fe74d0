"""The AWS command line, run in this process: starting it takes a second, and there are a hundred commands."""

import contextlib
import io
import json

from awscli.clidriver import create_clidriver

import client
from client import check, endpoint

driver = create_clidriver()
client.watch(driver.session, *(driver.session.get_service_model(name) for name in ("dynamodb", "dynamodbstreams")))


def run(*arguments, service="dynamodb"):
    """Runs `aws dynamodb …`: exit code, standard output, standard error."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = driver.main([service, "--endpoint-url", endpoint(), "--output", "json", *arguments])
        except SystemExit as wrong_usage:
            code = wrong_usage.code
    return code, out.getvalue(), error.getvalue()


def aws(*arguments, service="dynamodb"):
    """The output of a command that must succeed, as JSON; an empty object if there is none."""
    code, out, error = run(*arguments, service=service)
    check(" ".join(arguments[:1]), (code, error), (0, ""))
    return json.loads(out) if out.strip() else {}


def refused(code, text, *arguments, service="dynamodb"):
    """A command that must fail with this error."""
    status, out, error = run(*arguments, service=service)
    found = (status != 0, out, f"({code})" in error, text in error)
    check(f"{arguments[0]}: {error.strip()}", found, (True, "", True, True))


def knows(command):
    """Whether the command line has a command yet; boto3 has new operations earlier."""
    return "".join(word.title() for word in command.split("-")) in client.known


def document(value):
    """A parameter as JSON."""
    return json.dumps(value)
