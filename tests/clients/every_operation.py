"""Whether every operation that a client's model knows was called, and which of boto3's the server serves.

Standard input has what the scripts of one client printed: `known OPERATION…` and `called OPERATION…`."""

import sys
import urllib.error
import urllib.request

import botocore.session

from client import NOT_SERVED, check, end, endpoint


def is_served(model, name):
    """Whether the server knows the operation; what it says to an empty request does not matter."""
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"{model.metadata['targetPrefix']}.{name}",
        "X-Amz-Date": "20260101T000000Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
    }
    try:
        with urllib.request.urlopen(urllib.request.Request(endpoint(), b"{}", headers), timeout=60):
            return True
    except urllib.error.HTTPError as error:
        return b"UnknownOperationException" not in error.read()


operations, refused = set(), set()
for service in ("dynamodb", "dynamodbstreams"):
    model = botocore.session.get_session().get_service_model(service)
    operations.update(model.operation_names)
    refused.update(name for name in model.operation_names if not is_served(model, name))
known, called = set(), set()
for line in sys.stdin:
    word, *names = line.split()
    {"known": known, "called": called}[word].update(names)
check("the model has the operations of the API", len(operations) >= 66, True)
check("operations not served", sorted(refused), sorted(NOT_SERVED))
check("the client knows most of them", len(known) >= 61 and known <= operations, True)
check("operations that no script calls", sorted(known - called - NOT_SERVED), [])
end()
