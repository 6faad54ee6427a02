package direct

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/stepkeeper/stepkeeper/shared/partition"
)

// endpoint is the place of a service.
type endpoint struct {
	base   string // address that begins with http:// or https://
	own    bool   // true if base is an address of AWS
	region string // Region in signatures
}

// resolve returns the endpoint of a service: the one of the service in the configuration, then the one of all
// services, then AWS.
func resolve(c aws.Config, s Service) endpoint {
	if place := configured(c, s); place != "" {
		return endpoint{base: place, region: c.Region}
	}
	fips, dual := fromSources(c)
	p := partition.Of(c.Region)
	// In GovCloud, the usual host names have FIPS, except for Lambda. IAM has FIPS in no other partition.
	if p.Name == "aws-us-gov" && s != Lambda || p.Prefix != "" && s == IAM {
		fips = false
	}
	e := endpoint{own: true, region: c.Region}
	name := s.Name
	if fips {
		name += "-fips"
	}
	host := name + "." + c.Region + "." + p.DNS
	if dual {
		host = name + "." + c.Region + "." + p.Dual
	}
	if s == IAM {
		e.region = p.IAMRegion
		host = p.IAM
		if dual {
			host = p.IAMDual
		}
		host = strings.Replace(host, "iam.", name+".", 1)
	}
	e.base = "https://" + s.HostPrefix + host
	return e
}

// Sources of a configuration, such as the environment or a profile, have some of these methods.
type (
	endpointSource interface {
		GetServiceBaseEndpoint(ctx context.Context, id string) (string, bool, error)
	}
	ignoringSource interface {
		GetIgnoreConfiguredEndpoints(ctx context.Context) (bool, bool, error)
	}
	fipsSource interface {
		GetUseFIPSEndpoint(ctx context.Context) (aws.FIPSEndpointState, bool, error)
	}
	dualSource interface {
		GetUseDualStackEndpoint(ctx context.Context) (aws.DualStackEndpointState, bool, error)
	}
)

// first returns the value of the first source that has one, or the zero value.
func first[S, V any](sources []any, get func(S) (V, bool, error)) (value V) {
	for _, source := range sources {
		s, ok := source.(S)
		if !ok {
			continue
		}
		v, found, err := get(s)
		if err != nil {
			return value
		}
		if found {
			return v
		}
	}
	return value
}

// configured returns the endpoint that the configuration has for a service, or "".
func configured(c aws.Config, s Service) string {
	base := aws.ToString(c.BaseEndpoint)
	ctx := context.Background()
	_, general := os.LookupEnv("AWS_ENDPOINT_URL")
	_, special := os.LookupEnv("AWS_ENDPOINT_URL_" + strings.ToUpper(strings.ReplaceAll(s.ID, " ", "_")))
	if general && !special {
		return base // the variable goes before an endpoint in the user's profile
	}
	ignored := first(c.ConfigSources, func(i ignoringSource) (bool, bool, error) {
		return i.GetIgnoreConfiguredEndpoints(ctx)
	})
	if ignored {
		return base
	}
	return cmp.Or(first(c.ConfigSources, func(e endpointSource) (string, bool, error) {
		return e.GetServiceBaseEndpoint(ctx, s.ID)
	}), base)
}

// fromSources reports whether the user wants endpoints with FIPS, and endpoints with IPv6.
func fromSources(c aws.Config) (fips, dual bool) {
	ctx := context.Background()
	fips = aws.FIPSEndpointStateEnabled == first(c.ConfigSources,
		func(f fipsSource) (aws.FIPSEndpointState, bool, error) { return f.GetUseFIPSEndpoint(ctx) })
	dual = aws.DualStackEndpointStateEnabled == first(c.ConfigSources,
		func(d dualSource) (aws.DualStackEndpointState, bool, error) { return d.GetUseDualStackEndpoint(ctx) })
	return fips, dual
}

// address returns the URL of a request.
func (e endpoint) address(r *Request) (*url.URL, error) {
	if e.own && !smithyhttp.ValidHostLabel(e.region) {
		return nil, fmt.Errorf("%.64q is no AWS region", e.region)
	}
	u, err := url.Parse(e.base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("the endpoint %.100q is no address that begins with http:// or https://", e.base)
	}
	// The path is no reference of a URL: //HOST/ would be another host.
	u.RawPath = strings.TrimRight(u.EscapedPath(), "/") + cmp.Or(r.Path, "/")
	u.Path, err = url.PathUnescape(u.RawPath)
	return u, err
}
