"""Runs functions of the runtimes ``provided.*``, ``python*`` and ``nodejs*`` as child processes of LocalStack.

LocalStack itself puts AWS's runtime interface emulator into a container for each environment. A program that brings
its own ``bootstrap`` needs only a server that speaks the Runtime API to it over HTTP
(https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html), which is what this module does. A function of a language
has a loop beside it that calls its handler: Python with the version that runs LocalStack, and the ``node`` of this machine.

What a container would give does not exist here: a limit of memory, layers, extensions, a ``/tmp`` and a user of its
own, the packages of AWS's own runtimes.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from localstack import config
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import FunctionVersion, InvocationResult
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

LOOPBACK = "127.0.0.1"
API_PREFIX = "/2018-06-01/runtime/"


PYTHON_LOOP = """
import importlib, json, os, sys, time, urllib.request

class Context:
    def __init__(self, headers):
        self.aws_request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        self.deadline = int(headers["Lambda-Runtime-Deadline-Ms"])
    def get_remaining_time_in_millis(self):
        return max(0, self.deadline - int(time.time() * 1000))

sys.path.insert(0, os.getcwd())
api = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation/"
module, name = os.environ["_HANDLER"].rsplit(".", 1)
handler = getattr(importlib.import_module(module.replace("/", ".")), name)
while True:
    with urllib.request.urlopen(api + "next") as got:
        event, context = json.load(got), Context(got.headers)
    try:
        path, answer = "/response", handler(event, context)
    except Exception as why:
        path, answer = "/error", {"errorType": type(why).__name__, "errorMessage": str(why)}
    body = json.dumps(answer).encode()
    urllib.request.urlopen(urllib.request.Request(api + context.aws_request_id + path, body)).close()
"""

NODE_LOOP = """
import { existsSync } from "node:fs";
import { request } from "node:http";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation/`;
const call = (path, body) => new Promise((done, fail) => {
  const sent = request(api + path, { method: body === undefined ? "GET" : "POST" }, (got) => {
    let text = "";
    got.setEncoding("utf8").on("data", (part) => text += part).on("end", () => done({ headers: got.headers, text }));
  });
  sent.on("error", fail).end(body);
});
const [file, name] = process.env._HANDLER.split(".");
const program = resolve(file + (existsSync(file + ".mjs") ? ".mjs" : ".js"));
const { [name]: handler } = await import(pathToFileURL(program));
for (;;) {
  const { headers, text } = await call("next");
  const context = {
    awsRequestId: headers["lambda-runtime-aws-request-id"],
    getRemainingTimeInMillis: () => Math.max(0, headers["lambda-runtime-deadline-ms"] - Date.now()),
  };
  let path = "/response", answer;
  try {
    answer = await handler(JSON.parse(text), context);
  } catch (why) {
    path = "/error";
    answer = { errorType: why?.name ?? "Error", errorMessage: String(why?.message ?? why) };
  }
  await call(context.awsRequestId + path, JSON.stringify(answer ?? null));
}
"""


def _command(runtime: str, code: Path) -> list[str | Path]:
    """What runs a function: its own program, or the loop of its language."""
    if runtime.startswith("python"):
        return [sys._base_executable, "-I", "-c", PYTHON_LOOP]  # without LocalStack's own packages
    if runtime.startswith("nodejs"):
        return [shutil.which("node") or "node", "--input-type=module", "--eval", NODE_LOOP]
    return [code / "bootstrap"]


def _failure(kind: str, text: str) -> bytes:
    """What Lambda answers for an invocation that its function did not answer itself."""
    return json.dumps({"errorType": kind, "errorMessage": text}).encode()


class _RuntimeApi(BaseHTTPRequestHandler):
    """The Runtime API for one process."""

    life: Life  # set in a subclass for each life
    protocol_version = "HTTP/1.1"  # keeps the client's connection
    wbufsize = -1  # one segment for headers and body
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if self.path != f"{API_PREFIX}invocation/next":
            return self._answer(404)
        event = self.life.next_event()
        if event is None:  # this life is over; who asked is dead
            self.close_connection = True
            return
        self._answer(
            200,
            event["payload"].encode(),
            {
                "Lambda-Runtime-Aws-Request-Id": event["invoke-id"],
                "Lambda-Runtime-Deadline-Ms": str(int((time.time() + self.life.timeout) * 1000)),
                "Lambda-Runtime-Invoked-Function-Arn": event["invoked-function-arn"],
                "Lambda-Runtime-Trace-Id": event["trace-id"],
            },
        )

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        match self.path.removeprefix(API_PREFIX).split("/"):
            case ["invocation", _, "response"]:
                self.life.settle(body, is_error=False)
            case ["invocation", _, "error"]:
                self.life.settle(body, is_error=True)
            case ["init", "error"]:
                self.life.settle_start(body)
            case _:
                return self._answer(404)
        self._answer(202)

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers say more about an error
            pass

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Life:
    """One life of a function's process, with a Runtime API of its own.

    A process that has died is followed by another life on another port: what was left of the dead one's requests can
    never take an event that is meant for its successor.
    """

    def __init__(self, version: FunctionVersion, env_vars: dict[str, str], log_path: Path) -> None:
        self.timeout: int = version.config.timeout
        self._events: queue.SimpleQueue[dict[str, str] | None] = queue.SimpleQueue()
        self._start: Future[None] = Future()
        self._result: Future[tuple[bytes, bool]] = Future()
        self._server = ThreadingHTTPServer((LOOPBACK, 0), type("Api", (_RuntimeApi,), {"life": self}))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

        code = version.config.code.get_unzipped_code_location()
        # Nothing of LocalStack's own environment. Some of the values that it has for functions are numbers.
        env = {"PATH": os.defpath} | {name: str(value) for name, value in env_vars.items()}
        env["LAMBDA_TASK_ROOT"] = str(code)
        env["_HANDLER"] = version.config.handler or ""
        env["AWS_LAMBDA_RUNTIME_API"] = f"{LOOPBACK}:{self._server.server_port}"
        with log_path.open("ab") as log:  # a file, not a pipe: when the answer is here, so is all that was logged before
            self._process = subprocess.Popen(
                _command(version.config.runtime or "", code),
                cwd=code,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that its children can be ended with it
            )
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_for_start(self) -> None:
        self._start.result()

    def invoke(self, event: dict[str, str]) -> tuple[bytes, bool]:
        """The process's answer to an event, and whether it is an error."""
        self._result = Future()
        self._events.put(event)
        if not self.alive:  # it died in between, and _wait may have settled the last invocation's result
            self._settle_exit()
        try:
            return self._result.result(self.timeout)
        except FutureTimeout:
            self.kill()
            text = f"RequestId: {event['invoke-id']} Error: Task timed out after {self.timeout:.2f} seconds"
            return _failure("Sandbox.Timedout", text), True

    def next_event(self) -> dict[str, str] | None:
        with contextlib.suppress(InvalidStateError):
            self._start.set_result(None)
        return self._events.get()

    def settle(self, body: bytes, is_error: bool) -> None:
        with contextlib.suppress(InvalidStateError):
            self._result.set_result((body, is_error))

    def settle_start(self, body: bytes) -> None:
        with contextlib.suppress(InvalidStateError):
            self._start.set_exception(StatusErrorException("Environment startup failed", payload=body))

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _settle_exit(self) -> None:
        code = self._process.returncode
        how = f"exit status {code}" if code >= 0 else f"signal: {signal.Signals(-code).name}"
        error = _failure("Runtime.ExitError", f"Error: Runtime exited with error: {how}")
        self.settle_start(error)
        self.settle(error, is_error=True)

    def _wait(self) -> None:
        self._process.wait()
        self._settle_exit()
        self._events.put(None)
        self._server.shutdown()
        self._server.server_close()


class ProcessRuntimeExecutor(RuntimeExecutor):
    """One execution environment: a process that serves one invocation at a time, and its successors."""

    def __init__(self, id: str, function_version: FunctionVersion) -> None:
        super().__init__(id, function_version)
        self._log_path = Path(config.dirs.logs, "lambda", function_version.id.function_name, f"{id}.log")
        self._env_vars: dict[str, str] = {}
        self._life: Life | None = None

    def start(self, env_vars: dict[str, str]) -> None:
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        self._env_vars = env_vars
        self._life = Life(self.function_version, env_vars, self._log_path)
        self._life.wait_for_start()

    def stop(self) -> None:
        if self._life:
            self._life.kill()

    def invoke(self, payload: dict[str, str]) -> InvocationResult:
        request_id = payload["invoke-id"]
        log_start = self._log_path.stat().st_size
        began = time.perf_counter()
        try:
            if not self._life.alive:  # as on AWS: the environment stays, with a new process in it
                self.start(self._env_vars)
            body, is_error = self._life.invoke(payload)
        except StatusErrorException as e:
            body, is_error = e.payload, True
        took = f"{(time.perf_counter() - began) * 1000:.2f} ms"
        with self._log_path.open("rb") as log:
            log.seek(log_start)
            lines = log.read().decode(errors="replace")
        if lines and not lines.endswith("\n"):
            lines += "\n"
        logs = (
            f"START RequestId: {request_id} Version: {self.function_version.id.qualifier}\n{lines}"
            f"END RequestId: {request_id}\nREPORT RequestId: {request_id}\tDuration: {took}\n"
        )
        return InvocationResult(request_id, body, is_error, logs)

    def get_logs(self) -> str:
        return self._log_path.read_text(errors="replace") if self._log_path.exists() else ""

    # LocalStack asks for these because containers have addresses. Here all live on the loopback interface.
    def get_address(self) -> str:
        return LOOPBACK

    def get_endpoint_from_executor(self) -> str:
        return LOOPBACK

    def get_runtime_endpoint(self) -> str:
        return f"http://{LOOPBACK}:{config.GATEWAY_LISTEN[0].port}/_localstack_lambda/{self.id}"

    @classmethod
    def prepare_version(cls, function_version: FunctionVersion) -> None:
        """What is raised here is the reason that the function shows in its state ``Failed``."""
        function = function_version.config
        if not (function.runtime or "").startswith(("provided", "python", "nodejs")):
            raise NotImplementedError(f"runtime {function.runtime or 'of an image'} does not run here: provided.*, "
                                      "python* and nodejs* do")
        function.code.prepare_for_execution()
        if function.runtime.startswith("provided") and not os.access(function.code.get_unzipped_code_location() / "bootstrap", os.X_OK):
            raise FileNotFoundError("the deployment package has no executable file 'bootstrap' at its root")

    @classmethod
    def cleanup_version(cls, function_version: FunctionVersion) -> None:
        pass
