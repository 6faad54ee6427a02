package direct

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/restjson"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// maxResponse is the largest response in bytes. Lambda has the largest responses, 6 MB for a synchronous call.
const maxResponse = 32 << 20

// build adds the middleware of a call, in the sequence and with the names that clients of the SDK have.
func (c *Client) build(stack *middleware.Stack) error {
	attempt := retry.NewAttemptMiddleware(c.retryer, smithyhttp.RequestCloner, func(a *retry.Attempt) {
		a.LogAttempts = c.config.ClientLogMode.IsRetries()
		a.ClientSkew = &c.skew
		a.DisableClockSkewCorrection = c.config.DisableClockSkewCorrection
	})
	agent := awsmiddleware.NewRequestUserAgent()
	agent.AddSDKAgentKey(awsmiddleware.APIMetadata, c.service.Name)
	if c.config.AppID != "" {
		agent.AddSDKAgentKey(awsmiddleware.ApplicationIdentifier, c.config.AppID)
	}
	mode := c.config.ClientLogMode
	after := middleware.After
	errs := []error{
		stack.Serialize.Add(middleware.SerializeMiddlewareFunc("OperationSerializer", c.serialize), after),
		stack.Build.Add(&awsmiddleware.ClientRequestID{}, after),
		stack.Build.Add(agent, after),
		stack.Build.Add(&awsmiddleware.RecursionDetection{}, after),
		stack.Finalize.Add(attempt, after),
		stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("Signing", c.sign), after),
		stack.Deserialize.Add(&awsmiddleware.AddRawResponse{}, after),
		stack.Deserialize.Add(&awshttp.ResponseErrorWrapper{}, after),
		stack.Deserialize.Add(&awsmiddleware.RequestIDRetriever{}, after),
		stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("OperationDeserializer", deserialize), after),
		stack.Deserialize.Add(&awsmiddleware.RecordResponseTiming{
			DisableClockSkewCorrection: c.config.DisableClockSkewCorrection,
		}, after),
		stack.Deserialize.Add(&smithyhttp.RequestResponseLogger{
			LogRequest:         mode.IsRequest(),
			LogRequestWithBody: mode.IsRequestWithBody(), LogResponse: mode.IsResponse(),
			LogResponseWithBody: mode.IsResponseWithBody(),
		}, after),
	}
	for _, option := range c.config.APIOptions {
		errs = append(errs, option(stack))
	}
	return errors.Join(errs...)
}

func (c *Client) serialize(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
	out middleware.SerializeOutput, metadata middleware.Metadata, err error,
) {
	r, ours := in.Parameters.(*Request)
	request, isHTTP := in.Request.(*smithyhttp.Request)
	if !ours || !isHTTP {
		return out, metadata, &smithy.SerializationError{Err: fmt.Errorf("unknown request %T", in.Parameters)}
	}
	request.URL, err = c.endpoint.address(r)
	if err == nil {
		request, err = request.SetStream(bytes.NewReader(r.Body))
	}
	if err != nil {
		return out, metadata, &smithy.SerializationError{Err: err}
	}
	request.Method = http.MethodPost
	if r.Method != "" {
		request.Method = r.Method
	}
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	in.Request = request
	return next.HandleSerialize(ctx, in)
}

// sign signs one attempt, at the time by the clock of AWS.
func (c *Client) sign(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	out middleware.FinalizeOutput, metadata middleware.Metadata, err error,
) {
	request, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return out, metadata, fmt.Errorf("unknown request %T", in.Request)
	}
	if c.config.Credentials == nil {
		return out, metadata, errors.New("get identity: there are no credentials")
	}
	credentials, err := c.config.Credentials.Retrieve(ctx)
	if err != nil {
		return out, metadata, fmt.Errorf("get identity: get credentials: %w", err)
	}
	hash, err := hashOf(request)
	if err != nil {
		return out, metadata, &v4.SigningError{Err: err}
	}
	s3 := c.service == S3 // S3 wants the hash in a header, and does not escape the path twice
	if s3 {
		request.Header.Set("X-Amz-Content-Sha256", hash)
	}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s3 })
	now := time.Now().Add(time.Duration(c.skew.Load()))
	if err := signer.SignHTTP(ctx, credentials, request.Request, hash, c.service.Name, c.endpoint.region,
		now); err != nil {
		return out, metadata, &v4.SigningError{Err: err}
	}
	out, metadata, err = next.HandleFinalize(ctx, in)
	if skew, known := awsmiddleware.GetAttemptSkew(metadata); known {
		c.skew.Store(int64(skew)) // for the next attempt; the retries store it for the next call
	}
	return out, metadata, err
}

// hashOf returns the hash of the body, and leaves the body at its start.
func hashOf(request *smithyhttp.Request) (string, error) {
	digest := sha256.New()
	if body := request.GetStream(); body != nil {
		if _, err := io.Copy(digest, body); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(digest.Sum(nil)), request.RewindStream()
}

func deserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
) {
	out, metadata, err = next.HandleDeserialize(ctx, in)
	response, ok := out.RawResponse.(*smithyhttp.Response)
	if !ok {
		return out, metadata, err
	}
	defer response.Body.Close() //nolint:errcheck // the body has been read
	if err != nil {
		return out, metadata, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, maxResponse))
	switch {
	case err != nil:
		return out, metadata, &smithy.DeserializationError{Err: fmt.Errorf("reading the response: %w", err)}
	case response.StatusCode/100 != 2:
		return out, metadata, refusal(response.Header, body)
	}
	out.Result = &Response{Header: response.Header, Body: body}
	return out, metadata, nil
}

// refusal returns the error of a response. XML and JSON have their codes in different places. A service of the
// query protocol has them in an element Error, and S3 has them outside. A response of another server, such as a
// proxy, is no error of the service.
func refusal(header http.Header, body []byte) error {
	code := header.Get("X-Amzn-ErrorType")
	var text string
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		var found struct {
			Code, Message string
			Error         struct{ Code, Message string }
		}
		err = xml.Unmarshal(body, &found)
		code = strings.TrimSpace(found.Code + found.Error.Code)
		text = found.Message + found.Error.Message
		if err == nil && code == "" { // a page of a proxy can be valid XML
			err = errors.New("it has no code")
		}
	} else {
		var inBody string
		inBody, text, err = restjson.GetErrorInfo(json.NewDecoder(bytes.NewReader(body)))
		if code == "" {
			code = inBody
		}
		code = restjson.SanitizeErrorCode(code)
	}
	if err != nil {
		return &smithy.DeserializationError{Err: fmt.Errorf("reading the error: %w", err)}
	}
	if code == "" {
		code = "UnknownError"
	}
	if text == "" {
		text = code
	}
	return &smithy.GenericAPIError{Code: code, Message: text}
}
