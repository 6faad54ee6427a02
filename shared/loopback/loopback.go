// Package loopback tells this machine from others in addresses that people write.
package loopback

import (
	"net"
	"net/netip"
	"strings"
)

// Is reports whether a host, with or without a port, names the loopback interface.
func Is(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		name = host[1 : len(host)-1]
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback()
}
