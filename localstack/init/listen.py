"""Bind the address in GATEWAY_LISTEN, in Docker as well.

LocalStack takes the port from that setting and listens on every interface. With the host's network that would let
any machine on the network run programs here. LocalStack runs this file inside its own process before it opens the port.
"""

from functools import partial

from localstack import config
from twisted.internet import endpoints

endpoints.TCP4ServerEndpoint = partial(endpoints.TCP4ServerEndpoint, interface=config.GATEWAY_LISTEN[0].host)
