package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/tracewire"
)

// A Config describes an agent and how to send to it. Its zero value means the agent of this host,
// with the time limits of the C library.
type Config struct {
	Host string // of the agent; "" means localhost
	Port int    // of the agent; 0 means 4323

	ConnectTimeout time.Duration // limits the wait for a connection; 0 means 3 s
	RequestTimeout time.Duration // limits the wait for an Ack; 0 means 10 s

	// Reconnect lists the waits before the next attempt to connect: after the first failure, the
	// second, and so on. The last one serves for all further failures. Empty means 5, 10, 20, 40,
	// 80 seconds. Less than a millisecond counts as one.
	Reconnect []time.Duration

	// NoAgent switches communication off: calls succeed and send nothing. A Client counts data as
	// Stats.Accepted.
	NoAgent bool

	// DialContext makes the connection; nil means that of a net.Dialer.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// Logger logs when the agent becomes unreachable and reachable again; nil means slog.Default().
	Logger *slog.Logger
}

// The defaults of the C library.
const (
	defaultPort           = 4323
	defaultConnectTimeout = 3 * time.Second
	defaultRequestTimeout = 10 * time.Second
)

// minBackOff limits how often a Client tries to connect.
const minBackOff = time.Millisecond

var defaultReconnect = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}

// FromEnv returns the Config that the environment variables of the C library describe: see
// pmdatrace(3).
//
//	PCP_TRACE_HOST        Host
//	PCP_TRACE_PORT        Port, in decimal, octal (0...) or hexadecimal (0x...)
//	PCP_TRACE_TIMEOUT     ConnectTimeout, in seconds, possibly with a fraction
//	PCP_TRACE_REQTIMEOUT  RequestTimeout, the same
//	PCP_TRACE_RECONNECT   Reconnect: whole seconds, separated by commas
//	PCP_TRACE_NOAGENT     NoAgent, if it is set to any value
//
// A malformed variable is ignored. The error, which wraps ErrEnvFormat, reports each; the Config
// is valid nevertheless.
func FromEnv() (Config, error) {
	var c Config
	var errs []error
	get := func(name, want string, parse func(string) bool) {
		if s, ok := os.LookupEnv(name); ok && !parse(s) {
			errs = append(errs, fmt.Errorf("trace: %s=%q, want %s: %w", name, s, want, ErrEnvFormat))
		}
	}
	const seconds = "seconds, such as 2 or 0.5"
	c.Host = os.Getenv("PCP_TRACE_HOST")
	_, c.NoAgent = os.LookupEnv("PCP_TRACE_NOAGENT")
	get("PCP_TRACE_PORT", "a number up to 65535", func(s string) bool {
		n, err := strconv.ParseUint(strings.TrimSpace(s), 0, 16)
		if err == nil {
			c.Port = int(n)
		}
		return err == nil
	})
	get("PCP_TRACE_TIMEOUT", seconds, func(s string) bool { return parseSeconds(s, &c.ConnectTimeout) })
	get("PCP_TRACE_REQTIMEOUT", seconds, func(s string) bool { return parseSeconds(s, &c.RequestTimeout) })
	get("PCP_TRACE_RECONNECT", "whole seconds, such as 5,10,20", func(s string) bool { return parseReconnect(s, &c.Reconnect) })
	return c, errors.Join(errs...)
}

// parseSeconds parses a number of seconds that is greater than zero and fits a Duration.
func parseSeconds(s string, d *time.Duration) bool {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(f > 0) || f >= time.Duration(1<<63-1).Seconds() {
		return false
	}
	*d = max(time.Duration(f*float64(time.Second)), 1)
	return true
}

func parseReconnect(s string, list *[]time.Duration) bool {
	var l []time.Duration
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 31)
		if err != nil || n == 0 {
			return false
		}
		l = append(l, time.Duration(n)*time.Second)
	}
	*list = l
	return true
}

func (c *Config) address() string {
	return net.JoinHostPort(cmp.Or(c.Host, "localhost"), strconv.Itoa(cmp.Or(c.Port, defaultPort)))
}

func (c *Config) requestTimeout() time.Duration {
	return cmp.Or(c.RequestTimeout, defaultRequestTimeout)
}

// backOff returns the wait after a number of failures in a row. There has been at least one.
func (c *Config) backOff(failures int) time.Duration {
	l := c.Reconnect
	if len(l) == 0 {
		l = defaultReconnect
	}
	return max(l[min(failures, len(l))-1], minBackOff)
}

func (c *Config) logger() *slog.Logger { return cmp.Or(c.Logger, slog.Default()) }

// dial connects. It does not wait for a message of the agent.
func (c *Config) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.ConnectTimeout, defaultConnectTimeout))
	defer cancel()
	dial := c.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return dial(ctx, "tcp", c.address())
}

// readAck reads an Ack. The error of a malformed PDU wraps ErrIPC.
func readAck(d *tracewire.Decoder) (tracewire.Ack, error) {
	ack, err := d.Ack()
	if errors.Is(err, tracewire.ErrMalformed) {
		err = &codedError{ErrIPC, err}
	}
	return ack, err
}

// greet waits for the Ack that accepts or refuses a connection.
func (c *Config) greet(ctx context.Context, conn net.Conn, d *tracewire.Decoder) error {
	if err := conn.SetReadDeadline(time.Now().Add(c.requestTimeout())); err != nil {
		return err
	}
	defer watch(ctx, conn)()
	ack, err := readAck(d)
	switch {
	case err != nil:
		return err
	case ack.Code < 0:
		return Error(ack.Code)
	case ack.Code == 0:
		return fmt.Errorf("agent greets with 0, want version %d: %w", tracewire.Version, ErrIPC)
	}
	return conn.SetReadDeadline(time.Time{})
}

// watch interrupts reads and writes of conn when ctx ends. It sets no deadline after stop has
// returned.
func watch(ctx context.Context, conn net.Conn) (stop func()) {
	ended := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(ended)
		conn.SetDeadline(time.Unix(1, 0))
	})
	return func() {
		if !cancel() {
			<-ended
		}
	}
}
