"""boto3 against a server that checks signatures: the right key, wrong keys, presigned requests, altered ones."""

import datetime
import urllib.error
import urllib.request

import boto3
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from client import check, end, endpoint

CONFIG = Config(retries={"max_attempts": 0}, connect_timeout=10, read_timeout=60)
KEY, SECRET = "right-key", "right/secret+="
TYPE = "application/x-amz-json-1.0"


def listed(key, secret, region="us-east-1", token=None, service="dynamodb"):
    """What ListTables (or ListStreams) comes to."""
    client = boto3.client(
        service, endpoint_url=endpoint(), config=CONFIG, region_name=region,
        aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token,
    )  # fmt: skip
    try:
        return client.list_tables()["TableNames"]
    except ClientError as error:
        return error.response["Error"]["Code"]


def sent(request):
    """Status and text of a signed request of botocore."""
    prepared = request.prepare()
    headers = {name: value.decode() if isinstance(value, bytes) else value for name, value in prepared.headers.items()}
    wire = urllib.request.Request(prepared.url, data=prepared.body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(wire, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def request(body=b"{}", target="DynamoDB_20120810.ListTables", query=""):
    return AWSRequest("POST", endpoint() + "/" + query, data=body, headers={"X-Amz-Target": target, "Content-Type": TYPE})


def signed(auth, made):
    """`made`, with the signature of `auth`."""
    auth(Credentials(KEY, SECRET), "dynamodb", "us-east-1").add_auth(made)
    return made


class QueryOfBody(botocore.auth.SigV4QueryAuth):
    """Presigns with the body where it is; botocore would move a form's members into the query."""

    def _modify_request_before_signing(self, made):
        body, made.data = made.data, b""
        super()._modify_request_before_signing(made)
        made.data = body


class ExpiredQuery(QueryOfBody):
    def __init__(self, *arguments):
        super().__init__(*arguments, expires=1)


check("right", listed(KEY, SECRET), [])
check("right, other region", listed(KEY, SECRET, region="eu-central-1"), [])
check("right, with a session token", listed(KEY, SECRET, token="token"), [])
check("wrong secret", listed(KEY, "wrong"), "InvalidSignatureException")
check("wrong key", listed("wrong", SECRET), "UnrecognizedClientException")

ok = (200, '{"TableNames":[]}')
check("header", sent(signed(botocore.auth.SigV4Auth, request())), ok)
check("header with a query", sent(signed(botocore.auth.SigV4Auth, request(query="?b=%2F%20x&a=1&a=0&c"))), ok)
check("presigned", sent(signed(QueryOfBody, request())), ok)

altered = signed(botocore.auth.SigV4Auth, request())
altered.data = b'{"Limit": 1}'
check("altered body", sent(altered)[0], 400)
altered = signed(botocore.auth.SigV4Auth, request())
altered.headers.replace_header("X-Amz-Target", "DynamoDB_20120810.DescribeLimits")
check("altered target", sent(altered)[0], 400)
altered = signed(QueryOfBody, request())
altered.data = b'{"Limit": 1}'
check("altered body of a presigned request", sent(altered)[0], 400)

# The two ways at once.
both = signed(botocore.auth.SigV4Auth, request(query="?X-Amz-Algorithm=AWS4-HMAC-SHA256"))
status, text = sent(both)
check("both", (status, "Found both" in text), (400, True))

# Signed yesterday.
now = datetime.datetime.now(datetime.timezone.utc)
botocore.auth.get_current_datetime = lambda *_, **__: now - datetime.timedelta(days=1)
status, text = sent(signed(botocore.auth.SigV4Auth, request()))
check("old", (status, "Signature expired" in text), (400, True))
status, text = sent(signed(ExpiredQuery, request()))
check("old presigned", (status, "Signature expired" in text), (400, True))
botocore.auth.get_current_datetime = lambda *_, **__: now + datetime.timedelta(days=1)
status, text = sent(signed(botocore.auth.SigV4Auth, request()))
check("of tomorrow", (status, "Signature not yet current" in text), (400, True))
end()
