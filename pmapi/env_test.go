package pmapi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// clearEnv leaves the environment without what DialerFromEnv reads.
func clearEnv(t *testing.T) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "pcp.conf")
	if err := os.WriteFile(conf, []byte("PCP_RUN_DIR=/there\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, kv := range os.Environ() {
		if k, _, _ := strings.Cut(kv, "="); strings.HasPrefix(k, "PMCD_") || strings.HasPrefix(k, "PCP_") || strings.HasPrefix(k, "PMPROXY_") {
			t.Setenv(k, "") // to be restored
			os.Unsetenv(k)
		}
	}
	t.Setenv("PCP_CONF", conf)
}

func TestDialerFromEnv(t *testing.T) {
	s := time.Second
	with := func(change func(d *pmapi.Dialer)) pmapi.Dialer {
		d := pmapi.Dialer{Socket: "/there/pmcd.socket", HandshakeTimeout: 10 * s}
		if change != nil {
			change(&d)
		}
		return d
	}
	connect := func(t time.Duration) pmapi.Dialer {
		return with(func(d *pmapi.Dialer) { d.ConnectTimeout = t })
	}
	request := func(t time.Duration) pmapi.Dialer {
		return with(func(d *pmapi.Dialer) { d.RequestTimeout = t })
	}
	backoff := func(list ...time.Duration) pmapi.Dialer {
		return with(func(d *pmapi.Dialer) { d.Backoff = list })
	}
	secure := func(s pmapi.Secure) pmapi.Dialer { return with(func(d *pmapi.Dialer) { d.SetSecure(s) }) }
	maxReply := func(n int) pmapi.Dialer { return with(func(d *pmapi.Dialer) { d.MaxReply = n }) }
	ports := func(list ...int) pmapi.Dialer { return with(func(d *pmapi.Dialer) { d.Ports = list }) }
	ignored := func(name, value string) string { return fmt.Sprintf("ignored bad %s = '%s'", name, value) }
	tests := []struct {
		env  string
		want pmapi.Dialer
		err  string
		dial error // of contexts
	}{
		{env: "NOTHING=1", want: with(nil)},
		{env: "PMCD_CONNECT_TIMEOUT=2", want: connect(2 * s)},
		{env: "PMCD_CONNECT_TIMEOUT= 2", want: connect(2 * s)},
		{env: "PMCD_CONNECT_TIMEOUT=0.25", want: connect(s / 4)},
		{env: "PMCD_CONNECT_TIMEOUT=1e-30", want: connect(1)},
		{env: "PMCD_CONNECT_TIMEOUT=0", want: connect(-1)},
		{env: "PMCD_CONNECT_TIMEOUT=1e30", want: connect(-1)},
		{env: "PMCD_CONNECT_TIMEOUT=", want: with(nil)},
		{env: "PMCD_CONNECT_TIMEOUT=-1", want: with(nil), err: ignored("PMCD_CONNECT_TIMEOUT", "-1")},
		{env: "PMCD_CONNECT_TIMEOUT=soon", want: with(nil), err: ignored("PMCD_CONNECT_TIMEOUT", "soon")},
		{env: "PMCD_CONNECT_TIMEOUT=2s", want: with(nil), err: ignored("PMCD_CONNECT_TIMEOUT", "2s")},
		{env: "PMCD_CONNECT_TIMEOUT=nan", want: with(nil), err: ignored("PMCD_CONNECT_TIMEOUT", "nan")},
		{env: "PMCD_REQUEST_TIMEOUT=30", want: request(30 * s)},
		{env: "PMCD_REQUEST_TIMEOUT=0", want: request(-1)},
		{env: "PMCD_REQUEST_TIMEOUT=3 ", want: with(nil), err: ignored("PMCD_REQUEST_TIMEOUT", "3 ")},
		{env: "PMCD_MAX_REPLY=1000", want: maxReply(1000)},
		{env: "PMCD_MAX_REPLY=9999999999", want: maxReply(pdu.MaxLen)},
		{env: "PMCD_MAX_REPLY=0", want: with(nil), err: ignored("PMCD_MAX_REPLY", "0")},
		{env: "PMCD_MAX_REPLY=1M", want: with(nil), err: ignored("PMCD_MAX_REPLY", "1M")},
		{env: "PMCD_RECONNECT_TIMEOUT=1", want: backoff(s)},
		{env: "PMCD_RECONNECT_TIMEOUT=1,2,600,", want: backoff(s, 2*s, 600*s)},
		{env: "PMCD_RECONNECT_TIMEOUT=0", want: with(nil), err: ignored("PMCD_RECONNECT_TIMEOUT", "0")},
		{env: "PMCD_RECONNECT_TIMEOUT=1,foo", want: with(nil), err: ignored("PMCD_RECONNECT_TIMEOUT", "1,foo")},
		{env: "PMCD_RECONNECT_TIMEOUT=1,-2", want: with(nil), err: ignored("PMCD_RECONNECT_TIMEOUT", "1,-2")},
		{env: "PMCD_PORT=4321", want: ports(4321)},
		{env: "PMCD_PORT=4321, 44321", want: ports(4321, 44321)},
		{env: "PMCD_PORT=0", want: with(nil), err: ignored("PMCD_PORT", "0")},
		{env: "PMCD_PORT=65536", want: with(nil), err: ignored("PMCD_PORT", "65536")},
		{env: "PMCD_PORT=http", want: with(nil), err: ignored("PMCD_PORT", "http")},
		{env: "PMCD_PORT=1,,2", want: with(nil), err: ignored("PMCD_PORT", "1,,2")},
		{env: "PMCD_SOCKET=/here", want: with(func(d *pmapi.Dialer) { d.Socket = "/here" })},
		{env: "PMCD_SOCKET=", want: with(nil)},
		{env: "PCP_RUN_DIR=/over", want: with(func(d *pmapi.Dialer) { d.Socket = "/over/pmcd.socket" })},
		{env: "PMPROXY_HOST=gate", want: with(func(d *pmapi.Dialer) { d.Proxy = "gate" })},
		{env: "PMPROXY_PORT=80", want: with(nil)},
		{env: "PMPROXY_HOST=::1 PMPROXY_PORT=80,81", want: with(func(d *pmapi.Dialer) { d.Proxy = "[::1]:80,81" })},
		{env: "PMPROXY_PORT=x", want: with(nil), err: ignored("PMPROXY_PORT", "x")},
		{env: "PCP_SECURE_SOCKETS=", want: secure(pmapi.SecureEnforce)},
		{env: "PCP_SECURE_SOCKETS=1", want: secure(pmapi.SecureEnforce)},
		{env: "PCP_SECURE_SOCKETS=enforce", want: secure(pmapi.SecureEnforce)},
		{env: "PCP_SECURE_SOCKETS=relaxed", want: secure(pmapi.SecureRelaxed)},
		{env: "PCP_SECURE_SOCKETS=yes", want: with(nil)},
		{env: "PCP_CONTAINER=box", want: with(func(d *pmapi.Dialer) { d.Container = "box" })},
		{env: "PCP_CONTAINER=", want: with(nil)},
		{env: "PMCD_PORT=x PMCD_CONNECT_TIMEOUT=y PMCD_REQUEST_TIMEOUT=3", want: request(3 * s),
			err: ignored("PMCD_CONNECT_TIMEOUT", "y") + "\n" + ignored("PMCD_PORT", "x")},
	}
	for _, tt := range tests {
		t.Run(tt.env, func(t *testing.T) {
			clearEnv(t)
			settings := []string{tt.env}
			if strings.Count(tt.env, "=") > 1 {
				settings = strings.Fields(tt.env)
			}
			for _, kv := range settings {
				k, v, _ := strings.Cut(kv, "=")
				t.Setenv(k, v)
			}
			d, err := pmapi.DialerFromEnv()
			if got := fmt.Sprint(err); err != nil && got != tt.err || err == nil && tt.err != "" {
				t.Errorf("error %q, want %q", got, tt.err)
			}
			if diff := cmp.Diff(&tt.want, d, cmpopts.IgnoreUnexported(pmapi.Dialer{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got, want := pmapi.SecureOf(d), pmapi.SecureOf(&tt.want); got != want {
				t.Errorf("secure %d, want %d", got, want)
			}
			dial := *d
			dial.ConnectTimeout, dial.Proxy = 0, ""
			c, err := dial.Dial(t.Context(), "unix:"+filepath.Join(t.TempDir(), "nobody"))
			if c != nil || errors.Is(err, errors.ErrUnsupported) != (tt.dial != nil) {
				t.Errorf("%v, want %v", err, tt.dial)
			}
		})
	}
}

// An unreadable pcp.conf is an error, and the other settings of the Dialer are valid.
func TestDialerFromEnvWithoutConf(t *testing.T) {
	clearEnv(t)
	t.Setenv("PCP_CONF", filepath.Join(t.TempDir(), "none"))
	t.Setenv("PMCD_REQUEST_TIMEOUT", "3")
	d, err := pmapi.DialerFromEnv()
	if !errors.Is(err, os.ErrNotExist) || d.RequestTimeout != 3*time.Second || d.Socket != "" {
		t.Errorf("%+v, %v", d, err)
	}
}

// Both libraries report the same invalid settings in the same words.
func TestDialerFromEnvAsC(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}})
	for _, name := range []string{"PMCD_CONNECT_TIMEOUT", "PMCD_REQUEST_TIMEOUT"} {
		for _, v := range []string{"soon", "-1", "2s", "3 ", "0x", "1,2", " 2", "2", "0.5"} {
			t.Run(name+"="+v, func(t *testing.T) {
				_, complaint, _ := pcptest.Run(t, []string{name + "=" + v}, "", "pminfo", "-h", pmcd.Host(), "pmcd.version")
				if _, after, ok := strings.Cut(complaint, "ignored bad "); ok {
					complaint, _, _ = strings.Cut("ignored bad "+after, "\n")
				} else {
					complaint = ""
				}
				clearEnv(t)
				t.Setenv(name, v)
				_, err := pmapi.DialerFromEnv()
				if got := strings.TrimPrefix(fmt.Sprint(err), "<nil>"); got != complaint {
					t.Errorf("%q, want %q", got, complaint)
				}
			})
		}
	}
}
