package pmapi

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pdu"
)

// DialerFromEnv makes a Dialer from environment variables: those that the C library reads, and
// PMCD_MAX_REPLY. The default paths of the socket and of tls.conf are from /etc/pcp.conf.
//
//	PMCD_CONNECT_TIMEOUT     ConnectTimeout, in seconds; 0 means no limit; see below
//	PMCD_REQUEST_TIMEOUT     RequestTimeout, likewise
//	PMCD_MAX_REPLY           MaxReply, in bytes; the C library has no such limit
//	PMCD_RECONNECT_TIMEOUT   Backoff, in seconds, separated by commas
//	PMCD_PORT                Ports, separated by commas
//	PMCD_SOCKET              Socket
//	PMPROXY_HOST             Proxy
//	PMPROXY_PORT             the port of Proxy; the first one if there are several
//	PCP_SECURE_SOCKETS       encryption of connections whose specification does not say: "", "1"
//	                         and "enforce" enforce it, "relaxed" uses it if the collector can
//	PCP_TLSCONF_PATH         the path of tls.conf, which is used if TLS is nil; see below
//	PCP_CONTAINER            Container
//
// The file tls.conf, by default /etc/pcp/tls.conf, names the client's certificate and the trusted
// authorities. As in the C library, a client verifies the certificate of a collector only if the
// file has "tls-verify-clients = true", and then not the name of the host in it. With
// "tls-verify-host = true", which the C library ignores, a client verifies both.
//
// HandshakeTimeout is 10 seconds: as with the tools of PCP, neither PMCD_CONNECT_TIMEOUT nor
// PMCD_REQUEST_TIMEOUT limits the wait for the greeting of a collector that has accepted the
// connection.
//
// Invalid values are ignored, and the error names all of them. The Dialer is valid even then.
func DialerFromEnv() (*Dialer, error) {
	d := &Dialer{HandshakeTimeout: envHandshakeTimeout}
	var errs []error
	ignored := func(name, value string) {
		errs = append(errs, fmt.Errorf("ignored bad %s = '%s'", name, value))
	}
	seconds := func(name string, to *time.Duration) {
		if v := os.Getenv(name); v != "" {
			if t, ok := parseSeconds(v); ok {
				*to = t
			} else {
				ignored(name, v)
			}
		}
	}
	seconds("PMCD_CONNECT_TIMEOUT", &d.ConnectTimeout)
	seconds("PMCD_REQUEST_TIMEOUT", &d.RequestTimeout)
	if v := os.Getenv("PMCD_MAX_REPLY"); v != "" {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 {
			d.MaxReply = int(min(n, pdu.MaxLen))
		} else {
			ignored("PMCD_MAX_REPLY", v)
		}
	}
	if v := os.Getenv("PMCD_RECONNECT_TIMEOUT"); v != "" {
		for _, n := range parsePositive(v, math.MaxInt32) {
			d.Backoff = append(d.Backoff, time.Duration(n)*time.Second)
		}
		if d.Backoff == nil {
			ignored("PMCD_RECONNECT_TIMEOUT", v)
		}
	}
	if v := os.Getenv("PMCD_PORT"); v != "" {
		if d.Ports = parsePositive(v, math.MaxUint16); d.Ports == nil {
			ignored("PMCD_PORT", v)
		}
	}
	proxy := hostspec.HostPort{Name: os.Getenv("PMPROXY_HOST")}
	if v := os.Getenv("PMPROXY_PORT"); v != "" {
		if proxy.Ports = parsePositive(v, math.MaxUint16); proxy.Ports == nil {
			ignored("PMPROXY_PORT", v)
		}
	}
	if proxy.Name != "" {
		d.Proxy = proxy.String()
	}
	conf, err := pcpconf.Load("")
	if err != nil {
		errs = append(errs, err)
		conf = new(pcpconf.Conf)
	}
	if d.Socket = os.Getenv("PMCD_SOCKET"); d.Socket == "" && err == nil {
		d.Socket = filepath.Join(conf.Get("PCP_RUN_DIR"), "pmcd.socket")
	}
	d.tlsFile = tlsconf.NewClient(conf.Get("PCP_TLSCONF_PATH"))
	if os.Getenv("PCP_TLSCONF_PATH") != "" {
		d.tlsFile.Require()
	}
	switch v, set := os.LookupEnv("PCP_SECURE_SOCKETS"); {
	case set && (v == "" || v == "1" || v == "enforce"):
		d.secure = secureEnforce
	case v == "relaxed":
		d.secure = secureRelaxed
	}
	d.Container = os.Getenv("PCP_CONTAINER")
	return d, errors.Join(errs...)
}

// envHandshakeTimeout is how long the C library waits for the greeting of a collector.
const envHandshakeTimeout = 10 * time.Second

// parseSeconds parses a time-out in seconds; 0 means no limit, which is returned as -1.
func parseSeconds(text string) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimLeft(text, " \t"), 64)
	switch {
	case err != nil || !(f >= 0):
		return 0, false
	case f == 0 || f > math.MaxInt64/1e9:
		return -1, true
	}
	return max(time.Duration(f*float64(time.Second)), 1), true
}

// parsePositive parses numbers from 1 to most, separated by commas. It returns nil if any is
// invalid. As in the C library, blanks may precede a number, and a comma may be last.
func parsePositive(text string, most int) []int {
	var list []int
	for part := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		n, err := strconv.Atoi(strings.TrimLeft(part, " \t"))
		if err != nil || n < 1 || n > most {
			return nil
		}
		list = append(list, n)
	}
	return list
}
