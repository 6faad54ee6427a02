"""Runs AWS's DynamoDB Local on the loopback interface: ``python -m localstack_process.dynamodb FOLDER [its options]``.

By itself it listens on every interface and has no option for that. So we start Java inside this process, have its own
main class build the server, and give the server's connectors an address before it opens the port.
"""

import sys

import jpype


def main(folder: str, *options: str) -> None:
    jpype.startJVM(
        "-Xmx256m",
        f"-Djava.library.path={folder}/DynamoDBLocal_lib",
        classpath=[f"{folder}/DynamoDBLocal.jar", f"{folder}/DynamoDBLocal_lib/*"],
    )
    runner = jpype.JClass("software.amazon.dynamodb.services.local.main.ServerRunner")
    server = runner.createServerFromCommandLineArgs(list(options))
    field = server.getClass().getDeclaredField("server")
    field.setAccessible(True)
    for connector in field.get(server).getConnectors():
        connector.setHost("127.0.0.1")
    server.start()
    server.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
