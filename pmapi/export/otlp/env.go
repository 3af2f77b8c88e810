package otlp

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/send"
)

// FromEnv returns an Exporter without a Reader, with the settings of the environment variables of
// OpenTelemetry. An empty variable counts as not set. [_METRICS] is an optional part of a name; the
// form with it has precedence. These variables begin with OTEL_EXPORTER_OTLP:
//
//	[_METRICS]_ENDPOINT                 a URL; without METRICS, v1/metrics is appended
//	[_METRICS]_PROTOCOL                 http/protobuf, the default, or http/json
//	[_METRICS]_HEADERS                  k1=v1,k2=v2 with percent-encoded values
//	[_METRICS]_COMPRESSION              gzip or none
//	[_METRICS]_TIMEOUT                  milliseconds; 0 means no limit
//	[_METRICS]_CERTIFICATE              a PEM file: the authorities for the receiver
//	[_METRICS]_CLIENT_CERTIFICATE       a PEM file
//	[_METRICS]_CLIENT_KEY               a PEM file
//	_METRICS_TEMPORALITY_PREFERENCE     cumulative
//	_METRICS_DEFAULT_HISTOGRAM_AGGREGATION   explicit_bucket_histogram
//
// The others are:
//
//	OTEL_METRIC_EXPORT_INTERVAL         milliseconds
//	OTEL_METRIC_EXPORT_TIMEOUT          milliseconds, for an attempt, if less than TIMEOUT
//	OTEL_RESOURCE_ATTRIBUTES            k1=v1,k2=v2 with percent-encoded keys and values
//	OTEL_SERVICE_NAME                   the attribute service.name
//	OTEL_SDK_DISABLED                   true makes Run return at once
//
// Other values, such as the protocol grpc, are errors. The error names all invalid variables.
func FromEnv() (*Exporter, error) {
	e := &Exporter{Disabled: strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true")}
	var errs []error
	for _, set := range []func(*Exporter) error{endpointFromEnv, protocolFromEnv, headersFromEnv, compressionFromEnv, timesFromEnv, resourceFromEnv, tlsFromEnv} {
		errs = append(errs, set(e))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return e, nil
}

// variable returns the value and the name of a variable, preferably of the form with METRICS.
func variable(what string) (value, name string) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_METRICS_" + what, "OTEL_EXPORTER_OTLP_" + what} {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" {
			return v, name
		}
	}
	return "", ""
}

func endpointFromEnv(e *Exporter) error {
	v, name := variable("ENDPOINT")
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s: want a URL of http or https", name)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1/metrics")
	} else if u.Path == "" {
		u.Path = "/"
	}
	e.Endpoint = u.String()
	return nil
}

func protocolFromEnv(e *Exporter) error {
	v, name := variable("PROTOCOL")
	switch strings.ToLower(v) {
	case "", "http/protobuf":
	case "http/json":
		e.JSON = true
	default:
		return fmt.Errorf("%s: %q is not supported, only http/protobuf and http/json", name, v)
	}
	for _, preference := range [][2]string{{"TEMPORALITY_PREFERENCE", "cumulative"}, {"DEFAULT_HISTOGRAM_AGGREGATION", "explicit_bucket_histogram"}} {
		name := "OTEL_EXPORTER_OTLP_METRICS_" + preference[0]
		if v := strings.TrimSpace(os.Getenv(name)); v != "" && !strings.EqualFold(v, preference[1]) {
			return fmt.Errorf("%s: %q is not supported, only %s", name, v, preference[1])
		}
	}
	return nil
}

func headersFromEnv(e *Exporter) error {
	v, name := variable("HEADERS")
	list, err := pairs(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, a := range list {
		if e.Header == nil {
			e.Header = http.Header{}
		}
		e.Header.Set(a.Name, a.Value)
	}
	return nil
}

// pairs parses k1=v1,k2=v2. Its errors do not contain values, which may be secrets.
func pairs(list string) (all []export.Label, err error) {
	for i, item := range strings.Split(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		key, value, ok := strings.Cut(item, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("item %d: want key=value", i+1)
		}
		for _, s := range []*string{&key, &value} {
			if *s, err = url.PathUnescape(strings.TrimSpace(*s)); err != nil {
				return nil, fmt.Errorf("item %d: a percent sign that begins no escape", i+1)
			}
		}
		all = append(all, export.Label{Name: key, Value: value})
	}
	return all, nil
}

func compressionFromEnv(e *Exporter) error {
	switch v, name := variable("COMPRESSION"); strings.ToLower(v) {
	case "", "none":
	case "gzip":
		e.Gzip = true
	default:
		return fmt.Errorf("%s: %q is neither gzip nor none", name, v)
	}
	return nil
}

func timesFromEnv(e *Exporter) (err error) {
	const total, interval = "OTEL_METRIC_EXPORT_TIMEOUT", "OTEL_METRIC_EXPORT_INTERVAL"
	text, name := variable("TIMEOUT")
	if e.Timeout, err = timeLimit(name, text); err != nil {
		return err
	}
	whole, err := timeLimit(total, os.Getenv(total))
	if err != nil {
		return err
	}
	if whole > 0 && whole < cmp.Or(e.Timeout, send.DefaultTimeout) {
		e.Timeout = whole
	}
	e.Interval, err = milliseconds(interval, os.Getenv(interval))
	return err
}

// noLimit stands for no limit: 24 days.
const noLimit = math.MaxInt32 * time.Millisecond

// timeLimit parses a time limit. It returns 0 for "" and noLimit for 0.
func timeLimit(name, text string) (time.Duration, error) {
	d, err := milliseconds(name, text)
	if err == nil && d == 0 && strings.TrimSpace(text) != "" {
		d = noLimit
	}
	return d, err
}

func milliseconds(name, text string) (time.Duration, error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no number of milliseconds", name, text)
	}
	return time.Duration(n) * time.Millisecond, nil
}

func resourceFromEnv(e *Exporter) (err error) {
	const attributes = "OTEL_RESOURCE_ATTRIBUTES"
	if e.Resource, err = pairs(os.Getenv(attributes)); err != nil {
		return fmt.Errorf("%s: %w", attributes, err)
	}
	if v := os.Getenv("OTEL_SERVICE_NAME"); v != "" {
		e.Resource = append(e.Resource, export.Label{Name: "service.name", Value: v})
	}
	return nil
}

func tlsFromEnv(e *Exporter) error {
	ca, caName := variable("CERTIFICATE")
	cert, certName := variable("CLIENT_CERTIFICATE")
	key, keyName := variable("CLIENT_KEY")
	if ca == "" && cert == "" && key == "" {
		return nil
	}
	config, err := tlsconf.Files(ca, cert, key)
	if err != nil {
		names := slices.DeleteFunc([]string{caName, certName, keyName}, func(name string) bool { return name == "" })
		return fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	e.Client = &http.Client{Transport: transport}
	return nil
}
