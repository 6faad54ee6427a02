"""What LocalStack finds of this package by its entry points.

It imports this module at each start, whatever is used of it: heavy imports stand inside the functions.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from localstack.runtime import hooks
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin

if TYPE_CHECKING:
    from localstack_process.executor import ProcessRuntimeExecutor


class ProcessRuntimeExecutorPlugin(RuntimeExecutorPlugin):
    """Chosen by LAMBDA_RUNTIME_EXECUTOR=process."""

    name = "process"

    def load(self, *args: object, **kwargs: object) -> type[ProcessRuntimeExecutor]:
        from localstack_process.executor import ProcessRuntimeExecutor

        _short_waits_for_messages()
        _bodies_as_sent()
        return ProcessRuntimeExecutor


@cache  # load is called for each execution environment; a patch is put on once
def _short_waits_for_messages() -> None:
    """Make the setting for empty polls hold from the first one on.

    LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_EMPTY_POLL_SEC bounds how long a mapping waits after it has found
    nothing, but the first wait is a constant of about a second. An order passes ten queues or so.
    """
    from localstack.services.lambda_.event_source_mapping import esm_worker
    from localstack.utils.backoff import ExponentialBackoff

    def bounded(initial_interval: float, max_interval: float) -> ExponentialBackoff:
        return ExponentialBackoff(initial_interval=min(initial_interval, max_interval), max_interval=max_interval)

    esm_worker.ExponentialBackoff = bounded


@cache
def _bodies_as_sent() -> None:
    """Hand a message's body to the function byte for byte, as SQS does.

    LocalStack parses each JSON body, because a filter might look into it, and delivers what it writes from the parsed
    form: spaces, escapes and the digits of numbers change, and the MD5 beside the body is that of another text.
    """
    from localstack.services.lambda_.event_source_mapping.pollers.sqs_poller import SqsPoller

    original_handle, original_metadata = SqsPoller.handle_messages, SqsPoller.add_source_metadata

    def handle_messages(self: SqsPoller, messages: list[dict]) -> None:
        self.bodies_as_sent = {message["MessageId"]: message["Body"] for message in messages}
        original_handle(self, messages)

    def add_source_metadata(self: SqsPoller, events: list[dict]) -> list[dict]:
        as_sent = [event | {"body": self.bodies_as_sent[event["messageId"]]} for event in events]
        return original_metadata(self, as_sent)

    SqsPoller.handle_messages, SqsPoller.add_source_metadata = handle_messages, add_source_metadata


@hooks.on_infra_start()
def own_s3_folder() -> None:
    """Keep objects of S3 below TMPDIR: by itself every LocalStack of this machine uses one folder of a fixed name."""
    from localstack.services.s3.storage.ephemeral import EphemeralS3ObjectStore

    original = EphemeralS3ObjectStore.__init__
    EphemeralS3ObjectStore.__init__ = lambda self, root_directory=None: original(self, None)  # None: a fresh folder


@hooks.on_infra_start()
def dynamodb_on_loopback() -> None:
    """Start DynamoDB Local by our own launcher, which binds the loopback interface.

    It also leaves out the Java agent that LocalStack would download beside the jar: that one does nothing but allow
    more than 20 indexes on a table, and Java does not start where its file is missing.
    """
    import sys

    from localstack.services.dynamodb.server import DynamodbServer

    original = DynamodbServer._create_shell_command

    def command(self: DynamodbServer) -> list[str]:
        java = original(self)
        options = java[java.index("-jar") + 2 :]
        folder = self.jar_path.removesuffix("/DynamoDBLocal.jar")
        return [sys.executable, "-m", "localstack_process.dynamodb", folder, *options]

    DynamodbServer._create_shell_command = command
