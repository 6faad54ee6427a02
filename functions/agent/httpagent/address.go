package httpagent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// ErrAddress means that the rules in Allow do not permit calls to the service's address.
var ErrAddress = errors.New("address refused")

type networks []netip.Prefix

func networksOf(texts ...string) networks {
	n := make(networks, len(texts))
	for i, text := range texts {
		n[i] = netip.MustParsePrefix(text)
	}
	return n
}

func (n networks) contain(ip netip.Addr) bool {
	return slices.ContainsFunc(n, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// Networks that net/netip does not classify.
var (
	// Metadata services of EC2, EKS and Google, whose addresses are private.
	metadata = networksOf("fd00:ec2::/32", "fd20:ce::/32")
	// Addresses that the customers of a carrier share (RFC 6598), and addresses for protocol assignments,
	// benchmarks and use within a site.
	morePrivate = networksOf("100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "fec0::/10")
	// Addresses of "this network" (RFC 1122), and reserved addresses, including the broadcast address.
	noMachine = networksOf("0.0.0.0/8", "240.0.0.0/4")
	// Prefixes for translation to IPv4 within a site (RFC 8215), and Teredo. The IPv4 address behind an
	// address in these networks is unknown.
	opaque = networksOf("64:ff9b:1::/48", "2001::/32")
)

// embedding lists the networks whose addresses contain an IPv4 address: NAT64, 6to4 and
// IPv4-compatible addresses. The field at is the index of the first byte of the IPv4 address.
var embedding = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
}

// embedded returns the IPv4 address that an IPv6 address contains. It returns any other address
// without its zone.
func embedded(ip netip.Addr) netip.Addr {
	ip = ip.Unmap().WithZone("")
	if ip.IsUnspecified() || ip.IsLoopback() {
		return ip
	}
	for _, e := range embedding {
		if e.network.Contains(ip) {
			b := ip.As16()
			return netip.AddrFrom4([4]byte(b[e.at : e.at+4]))
		}
	}
	return ip
}

// check returns an error if the rules do not permit calls to an address. It always refuses link-local,
// multicast and reserved addresses, and the networks in metadata and opaque. It refuses addresses of this
// machine and of private networks unless the rules permit them.
func (a Allow) check(ip netip.Addr) error {
	ip = embedded(ip)
	switch {
	case ip.IsLinkLocalUnicast() || metadata.contain(ip):
		return fmt.Errorf("%s is link-local or a cloud's metadata, which is never called: %w", ip, ErrAddress)
	case !ip.IsValid() || ip.IsMulticast() || ip.IsUnspecified() || noMachine.contain(ip):
		return fmt.Errorf("%s is not the address of one machine; write another: %w", ip, ErrAddress)
	case opaque.contain(ip):
		return fmt.Errorf("%s leads through a translator to an address that cannot be checked: %w", ip,
			ErrAddress)
	case ip.IsLoopback() && !a.Loopback:
		return fmt.Errorf("%s is this machine; write allow: {loopback: true} to permit it: %w", ip,
			ErrAddress)
	case (ip.IsPrivate() || morePrivate.contain(ip)) && !a.PrivateAddresses:
		return fmt.Errorf("%s is private; write allow: {privateAddresses: true} to permit it: %w", ip,
			ErrAddress)
	}
	return nil
}

// Resolver finds the addresses of a host. *net.Resolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

const (
	dialTimeout = 5 * time.Second
	// nextAddress is the time after which the next address of a host is dialled. It is shorter than the timeout of
	// most steps: a network may drop all packets to addresses of IPv6, which come first.
	nextAddress = time.Second
)

// guardedDial returns a dial function that resolves the host, checks the host's addresses, and dials
// only checked addresses. The function does not resolve the host again, so DNS rebinding has no
// effect. It refuses a host if the rules refuse one of the host's addresses.
func guardedDial(allow Allow, resolve Resolver, dial dialFunc) dialFunc {
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
		for i, ip := range ips {
			limit := nextAddress
			if i == len(ips)-1 {
				limit = dialTimeout
			}
			one, cancel := context.WithTimeout(ctx, limit)
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
