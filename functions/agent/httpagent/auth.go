package httpagent

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/partition"
	"github.com/stepkeeper/stepkeeper/shared/redact"
)

// Auth configures how calls authenticate, in addition to headers. At most one of SigV4 and OAuth2 may be set.
type Auth struct {
	SigV4  *SigV4  `yaml:"sigv4" json:"sigv4,omitzero"`
	OAuth2 *OAuth2 `yaml:"oauth2" json:"oauth2,omitzero"`
	// client certificate for TLS
	Certificate *Certificate `yaml:"certificate" json:"certificate,omitzero"`
}

// SigV4 signs each request with the credentials of the agent's role, or of the user in dev.
type SigV4 struct {
	Service string `yaml:"service" json:"service,omitzero"` // such as execute-api
	Region  string `yaml:"region" json:"region,omitzero"`   // default: the Region of the host or the agent
}

// OAuth2 configures how the agent gets tokens, by the client credentials grant (RFC 6749, section 4.4).
type OAuth2 struct {
	TokenURL     Secret   `yaml:"tokenURL" json:"tokenURL,omitzero"`
	ClientID     Secret   `yaml:"clientID" json:"clientID,omitzero"`
	ClientSecret Secret   `yaml:"clientSecret" json:"clientSecret,omitzero"`
	Scopes       []string `yaml:"scopes" json:"scopes,omitzero"`
}

// Certificate is a client certificate in PEM. Chain contains the certificate and the certificates of
// its issuers.
type Certificate struct {
	Chain Secret `yaml:"chain" json:"chain,omitzero"`
	Key   Secret `yaml:"key" json:"key,omitzero"`
}

// basic returns the secret parts of a header of HTTP's scheme Basic.
func basic(user, password string) []string {
	if password == "" {
		return nil
	}
	return []string{password, base64.StdEncoding.EncodeToString([]byte(user + ":" + password))}
}

func (s Secret) login() (user, password string) {
	u, err := url.Parse(s.text)
	if err != nil || u.User == nil {
		return "", ""
	}
	password, _ = u.User.Password()
	return u.User.Username(), password
}

func (a *Agent) completeAuth() (p problems) {
	if a.Proxy.text != "" {
		u, err := url.Parse(a.Proxy.text)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
			u.Path != "" && u.Path != "/":
			p.add("proxy is no address like http://proxy.example:3128")
		default:
			p = append(p, a.Allow.literal("proxy", u.Hostname())...)
		}
	}
	if a.Auth == nil {
		return p
	}
	if a.Auth.SigV4 == nil && a.Auth.OAuth2 == nil && a.Auth.Certificate == nil {
		p.add("auth is empty; write sigv4, oauth2 or certificate below it")
	}
	if a.Auth.SigV4 != nil && a.Auth.OAuth2 != nil {
		p.add("auth has sigv4 and oauth2; write one of them")
	}
	if a.Headers["Authorization"].text != "" && (a.Auth.SigV4 != nil || a.Auth.OAuth2 != nil) {
		p.add("auth sets the header Authorization; leave it out of headers")
	}
	if s := a.Auth.SigV4; s != nil && !awsWord.MatchString(s.Service) {
		p.add(
			"auth: sigv4: service is %.40q; write the name that the service signs with, as execute-api",
			s.Service,
		)
	}
	if s := a.Auth.SigV4; s != nil && s.Service == "s3" {
		p.add("auth: sigv4: service s3 is not supported, because S3 signs in another way; let a function " +
			"call S3")
	}
	if s := a.Auth.SigV4; s != nil && s.Region != "" && !awsWord.MatchString(s.Region) {
		p.add("auth: sigv4: region is %.40q; write one like eu-central-1", s.Region)
	}
	if o := a.Auth.OAuth2; o != nil && o.TokenURL.text != "" {
		_, problems := a.address("auth: oauth2: tokenURL", o.TokenURL)
		p = append(p, problems...)
	}
	return p
}

// Addresses returns the addresses in the settings, by field.
func (a Agent) Addresses() map[string]string {
	all := map[string]string{}
	for _, f := range a.fields() {
		if f.address {
			all[f.name] = f.text.text
		}
	}
	return all
}

var awsWord = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

var regionOfHost = regexp.MustCompile(`\.(` + partition.Region + `)\.([a-z0-9.-]+)$`)

// SigningRegion returns the Region for which requests are signed. It returns "" if the agent does not
// use SigV4. It also returns "" if neither the field region nor the URL names a Region.
func (a Agent) SigningRegion() string {
	if a.Auth == nil || a.Auth.SigV4 == nil {
		return ""
	}
	if a.Auth.SigV4.Region != "" {
		return a.Auth.SigV4.Region
	}
	if u, err := url.Parse(a.URL.text); err == nil {
		m := regionOfHost.FindStringSubmatch(u.Hostname())
		if m != nil && slices.Contains([]string{partition.Of(m[1]).DNS, partition.Of(m[1]).Dual, "on.aws"}, m[2]) {
			return m[1]
		}
	}
	return ""
}

// API returns the ID of the API Gateway API that the agent calls with signed requests. "" means no such API.
func (a Agent) API() string {
	u, err := url.Parse(a.URL.text)
	if err != nil || a.SigningRegion() == "" || a.Auth.SigV4.Service != "execute-api" {
		return ""
	}
	id, rest, _ := strings.Cut(u.Hostname(), ".")
	if !strings.HasPrefix(rest, "execute-api.") {
		return ""
	}
	return id
}

// authenticator adds credentials to requests. The zero value adds no credentials.
type authenticator struct {
	sign   *SigV4
	region string
	aws    aws.Config
	signer *v4.Signer
	oauth  *clientcredentials.Config
	client *http.Client  // client for the token endpoint
	turn   chan struct{} // holds a value while a call gets a token
	token  *oauth2.Token // guarded by turn
	// Tokens that a response may contain, the newest last; guarded by turn.
	issued []string
	redact redact.Redactor // removes the agent's secrets and the issued tokens; guarded by turn
	agent  redact.Redactor // removes the agent's secrets
}

func (s *Service) newAuthenticator(c aws.Config, client *http.Client) (*authenticator, error) {
	a := &authenticator{
		turn: make(chan struct{}, 1), client: client, aws: c, redact: *s.agent.redact,
		agent: *s.agent.redact,
	}
	auth := s.agent.Auth
	if auth == nil {
		return a, nil
	}
	if auth.SigV4 != nil {
		a.sign = auth.SigV4
		a.signer = v4.NewSigner()
		a.region = s.agent.SigningRegion()
		if a.region == "" {
			a.region = c.Region
		}
		if c.Credentials == nil || a.region == "" {
			return nil, errors.New("auth: sigv4 needs credentials and a Region of AWS")
		}
	}
	if o := auth.OAuth2; o != nil {
		a.oauth = &clientcredentials.Config{
			ClientID: o.ClientID.text, Scopes: o.Scopes,
			ClientSecret: o.ClientSecret.text, TokenURL: o.TokenURL.text,
		}
	}
	return a, nil
}

func (a Agent) certificates() ([]tls.Certificate, error) {
	if a.Auth == nil || a.Auth.Certificate == nil {
		return nil, nil
	}
	c := a.Auth.Certificate
	pair, err := tls.X509KeyPair([]byte(c.Chain.text), []byte(c.Key.text))
	if err != nil { // the error contains no part of the key
		return nil, fmt.Errorf("auth: the client certificate cannot be read: %w", err)
	}
	return []tls.Certificate{pair}, nil
}

func (a *authenticator) apply(req *http.Request, body []byte, token *oauth2.Token, now time.Time) error {
	if token != nil {
		token.SetAuthHeader(req)
	}
	if a.sign == nil {
		return nil
	}
	c, err := a.aws.Credentials.Retrieve(req.Context())
	if err != nil {
		return worker.Unauthorized(fmt.Errorf(
			"the call was not sent, because the agent has no credentials for AWS: %w", err))
	}
	sum := sha256.Sum256(body)
	return a.signer.SignHTTP(req.Context(), c, req, hex.EncodeToString(sum[:]), a.sign.Service, a.region, now)
}

const (
	renewBefore = 30 * time.Second // time between the replacement and the expiry of a token
	maxToken    = 16 << 10         // largest token, in bytes; services refuse longer headers
	keptTokens  = 16               // issued tokens that a Redactor removes
)

// current returns a token that does not expire soon, or nil if OAuth2 is not configured. The parameter stale
// is nil or a refused token, which current does not return. Only one call at a time gets a new token. The
// Redactor removes the token too.
func (a *authenticator) current(ctx context.Context, stale *oauth2.Token) (*oauth2.Token, redact.Redactor, error) {
	if a.oauth == nil {
		return nil, a.redact, nil
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil, redact.Redactor{}, ctx.Err()
	}
	//nolint:forbidigo // the expiry of a token uses the machine's clock, also while Lambda has frozen the process
	if t := a.token; t != nil && t != stale && (t.Expiry.IsZero() || time.Until(t.Expiry.Round(0)) > renewBefore) {
		return t, a.redact, nil
	}
	var answered atomic.Bool
	ctx = httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }})
	t, err := a.oauth.Token(context.WithValue(ctx, oauth2.HTTPClient, a.client))
	switch {
	case err != nil:
		return nil, a.redact, a.refused(err, answered.Load())
	case len(t.AccessToken) > maxToken || !printable(t.AccessToken+t.TokenType):
		return nil, a.redact, noToken("returned a token that no header can have")
	}
	a.token = t
	a.issued = append(a.issued[max(0, len(a.issued)+1-keptTokens):], t.AccessToken)
	a.redact = a.agent.With(a.issued...)
	return t, a.redact, nil
}

// refused returns the failure of a call for which the token endpoint returned no token.
func (a *authenticator) refused(err error, answered bool) error {
	var refusal *oauth2.RetrieveError
	if !errors.As(err, &refusal) || refusal.Response == nil {
		if answered && !isTimeout(err) {
			return noToken("answered with something else than a token (%s)", bare(err))
		}
		// exchange.send converts this error to a network failure.
		return fmt.Errorf("token endpoint: %w", bare(err))
	}
	status := refusal.Response.StatusCode
	text := fmt.Sprintf("answered %d", status)
	if refusal.ErrorCode != "" {
		text += fmt.Sprintf(" %.60q", a.agent.Text(refusal.ErrorCode))
	}
	f := noToken("%s", text)
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests ||
		status == http.StatusRequestTimeout {
		f.Code = "token"
	}
	return f
}

// noToken returns the failure of a call without a token. The agent's settings and not the order are the
// cause, so the step waits for the operator (P45, "not now" is not a failure).
func noToken(format string, args ...any) *worker.Failure {
	return &worker.Failure{NoEffect: true, Code: core.CodeUnauthorized, Err: fmt.Errorf(
		"the call was not sent, because the token endpoint "+format+
			"; check the agent's auth: oauth2", args...)}
}
