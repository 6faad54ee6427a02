package httpagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
)

// networkFailure returns the failure of an exchange without a response:
//
//	what happened                                   class       proven without effect
//	address refused by the rules                    permanent   yes
//	untrusted certificate, or a server without TLS  permanent   yes: no request before the handshake
//	name not found, no resolver                     transient   yes
//	refused by the proxy                            transient   yes
//	refused, unreachable, timeout while connecting  transient   yes
//	the connection ended before a byte was written  transient   yes
//	timeout after a byte of the request was written transient   no
//	the connection broke after a byte was written   transient   no
func (x *exchange) networkFailure(err error, sent bool) *worker.Failure {
	err = bare(err)
	f := &worker.Failure{NoEffect: !sent, Code: "network"}
	text := "broke off, and may have had its effect"
	var dns *net.DNSError
	switch {
	case errors.Is(err, ErrAddress):
		f.Permanent = true
		f.Code = "address-refused"
		text = "was not sent"
	case isTLS(err) && !sent:
		f.Permanent = true
		f.Code = "tls"
		text = "was not sent, the other side cannot be trusted"
	case errors.As(err, &dns) && !sent:
		f.Code = "dns"
		text = "was not sent, the name was not resolved" + x.agent.unusedProxy()
	case errors.Is(err, errProxy):
		f.Code = "proxy"
		text = "was not sent"
	case isTimeout(err) && sent:
		f.Code = "timeout"
		text = "was not answered in time, and may have had its effect"
	case isTimeout(err):
		f.Code = "timeout"
		text = "was not sent, the service could not be reached in time"
	case !sent:
		f.Code = "unreachable"
		text = "was not sent, the service could not be reached"
	}
	f.Err = fmt.Errorf("%s %s: %w", x.what(), text, err)
	return f
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func isTLS(err error) bool {
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &verification) || errors.As(err, &record)
}
