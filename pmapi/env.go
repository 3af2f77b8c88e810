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

// DialerFromEnv makes a Dialer from the environment variables that the C library reads, and one
// more, and from /etc/pcp.conf for the paths of the socket and of tls.conf:
//
//	PMCD_CONNECT_TIMEOUT     ConnectTimeout, in seconds; 0 means no limit; see below
//	PMCD_REQUEST_TIMEOUT     RequestTimeout, likewise
//	PMCD_MAX_REPLY           MaxReply, in bytes; the C library has no such limit
//	PMCD_RECONNECT_TIMEOUT   Backoff, in seconds, separated by commas
//	PMCD_PORT                Ports, separated by commas
//	PMCD_SOCKET              Socket
//	PMPROXY_HOST             Proxy
//	PMPROXY_PORT             its port, for the first of several
//	PCP_SECURE_SOCKETS       encryption of connections whose specification does not say: "", "1"
//	                         and "enforce" enforce it, "relaxed" uses it if the collector can
//	PCP_TLSCONF_PATH         where the certificates of TLS are, if TLS is nil; see below
//	PCP_CONTAINER            Container
//
// In tls.conf, /etc/pcp/tls.conf by default, clients find certificates, those of authorities, and
// whether to look at a collector's at all: as in the C library they do so only with
// tls-verify-clients, and then not at the name of the host, unless there is "tls-verify-host =
// true", which the C library ignores.
//
// HandshakeTimeout is 10 seconds: as with the tools of PCP, neither PMCD_CONNECT_TIMEOUT nor
// PMCD_REQUEST_TIMEOUT limits the wait for the greeting of a collector that has accepted the
// connection.
//
// A value that cannot be used is ignored. The error then names all such values, and the Dialer is
// valid.
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

// parseSeconds reads a time-out: a number of seconds, 0 for none.
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

// parsePositive reads numbers from 1 to most, separated by commas; nil if one is
// none. As in the C library, blanks may precede a number, and a comma may be last.
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
