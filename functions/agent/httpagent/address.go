package httpagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// ErrAddress: the service's address must not be called.
var ErrAddress = errors.New("address refused")

// Networks that need a word of their own; net/netip knows the others.
var (
	metadataV6  = netip.MustParseAddr("fd00:ec2::254") // of EC2; it lies among the private ones
	carrierNAT  = netip.MustParsePrefix("100.64.0.0/10")
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	reserved    = netip.MustParsePrefix("240.0.0.0/4")  // the broadcast address too
	translated  = netip.MustParsePrefix("64:ff9b::/96") // the last four bytes are an IPv4 address
)

// check holds an address to the rules: link-local and multicast never, this machine and private
// networks on demand.
func (a Allow) check(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	if translated.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	switch {
	case ip.IsLinkLocalUnicast() || ip == metadataV6:
		return fmt.Errorf("%s is link-local or a cloud's metadata, which is never called: %w", ip, ErrAddress)
	case !ip.IsValid() || ip.IsMulticast() || ip.IsUnspecified() || thisNetwork.Contains(ip) || reserved.Contains(ip):
		return fmt.Errorf("%s is no address of one machine: %w", ip, ErrAddress)
	case ip.IsLoopback() && !a.Loopback:
		return fmt.Errorf("%s is this machine; say allow: {loopback: true} if that is meant: %w", ip, ErrAddress)
	case (ip.IsPrivate() || carrierNAT.Contains(ip)) && !a.PrivateAddresses:
		return fmt.Errorf("%s is private; say allow: {privateAddresses: true} if that is meant: %w", ip, ErrAddress)
	}
	return nil
}

// Resolver finds the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dialTimeout bounds the connecting to one address.
const dialTimeout = 5 * time.Second

// guardedDial resolves the name itself and dials the very address that it has checked, so that a
// name that changes its mind in between (rebinding) gains nothing. One address that is refused
// refuses the host.
func guardedDial(allow Allow, resolve Resolver, dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, service, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		ips, err := addressesOf(ctx, resolve, host)
		if err != nil {
			return nil, err
		}
		for _, ip := range ips {
			if err := allow.check(ip); err != nil {
				return nil, fmt.Errorf("host %s: %w", host, err)
			}
		}
		var failed []error
		for _, ip := range ips {
			one, cancel := context.WithTimeout(ctx, dialTimeout)
			conn, err := dial(one, network, net.JoinHostPort(ip.String(), service))
			cancel()
			if err == nil {
				return conn, nil
			}
			failed = append(failed, err)
		}
		return nil, errors.Join(failed...)
	}
}

func addressesOf(ctx context.Context, resolve Resolver, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	ips, err := resolve.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(ips) == 0 {
		return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return ips, nil
}
