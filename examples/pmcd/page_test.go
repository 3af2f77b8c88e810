package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmapi"
)

// With -w there is a page of the metrics, derived ones included. The collector serves without one
// if the address is taken.
func TestPage(t *testing.T) {
	addr := fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	derived := filepath.Join(t.TempDir(), "derived")
	if err := os.WriteFile(derived, []byte("page.twenty = 20 * defined(pmcd.numagents)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	first, _, _ := start(t, []string{"PCP_DERIVED_CONFIG=" + derived}, "-w", addr)
	for path, want := range map[string]string{
		"/":                                 "page/main.js",
		"/page/main.js":                     "new Page()",
		"/pmapi/fetch?names=pmcd.numagents": `"name":"pmcd.numagents","instances":[{"instance":null,"value":`,
		"/pmapi/fetch?names=page.twenty":    `"name":"page.twenty","instances":[{"instance":null,"value":20}]`,
		"/metrics?names=pmproxy.gateway.live.viewers":               "\npmproxy_gateway_live_viewers{",
		"/pmapi/fetch?names=pmcd.numagents&hostspec=localhost:1":    "host is not allowed: localhost:1: the gateway's list of hosts",
		"/pmapi/fetch?names=pmcd.numagents&hostspec=localhost:4330": "host is not allowed",
		"/pmapi/store?name=pmcd.control.debug&value=1":              "a store needs a login",
		"/pmapi/_store?name=pmcd.control.debug&value=1":             "a store needs a login",
	} {
		pcptest.Retry(t, func() string { // it may not listen yet
			r, err := http.Get("http://" + addr + path)
			if err != nil {
				return err.Error()
			}
			defer r.Body.Close()
			if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), want) {
				return fmt.Sprintf("%s: %s, want %s: %v", path, b, want, err)
			}
			return ""
		})
	}
	second, _, _ := start(t, nil, "-w", addr)
	pcptest.Retry(t, func() string {
		if !strings.Contains(second.Log(), "no page of metrics") {
			return "the log of a collector whose port for the page is taken: " + second.Log()
		}
		return ""
	})
	if strings.Contains(first.Log(), "no page of metrics") {
		t.Error(first.Log())
	}
}

// TestDefaultProcesses: the collector without a configuration shows processes to a client with a
// known user, and only their number to others.
func TestDefaultProcesses(t *testing.T) {
	pcptest.Need(t, "/proc/self/stat")
	_, host, socket := start(t, nil)
	for _, test := range []struct {
		host string
		sees bool
	}{{"unix:" + socket, true}, {host, false}} {
		c, err := pmapi.Dial(t.Context(), test.host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ids, err := c.Lookup(t.Context(), []string{"proc.nprocs", "proc.psinfo.pid"})
		if err != nil {
			t.Fatal(err)
		}
		var r pdu.Result
		if err := c.Fetch(t.Context(), ids, &r); err != nil {
			t.Fatal(err)
		}
		if n := r.At(0).Len(); n != 1 {
			t.Errorf("%s: %d values of proc.nprocs", test.host, n)
		}
		switch all := r.At(1); {
		case test.sees && all.Len() == 0:
			t.Errorf("%s: no processes: %v", test.host, all.Err())
		case !test.sees && !errors.Is(all.Err(), pdu.ErrPermission):
			t.Errorf("%s: %d processes, error %v", test.host, all.Len(), all.Err())
		}
	}
}

// TestPageEnvironment: clients of the page without a login, and pages of other origins, do not see
// the environment of processes, which a local user with the rights for it does.
func TestPageEnvironment(t *testing.T) {
	pcptest.Need(t, "/proc/self/stat", "sleep")
	const secret = "PAGE_TEST_SECRET=s3cret"
	victim := exec.Command("sleep", "1000")
	victim.Env = []string{secret}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer victim.Wait()
	defer victim.Process.Kill()
	addr := fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	_, _, socket := start(t, nil, "-w", addr)
	c, err := pmapi.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Lookup(t.Context(), []string{"proc.psinfo.environ"})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	if err := c.Fetch(t.Context(), ids, &r); err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, v := range r.At(0).All(pdu.TypeString) {
		seen = seen || strings.Contains(v.String(), secret)
	}
	if !seen {
		t.Error("a local user does not see the environment of the user's own process")
	}
	get := func(path, origin string) (status int, body string, header http.Header, err error) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+path, nil)
		if err != nil {
			return 0, "", nil, err
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		reply, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, "", nil, err
		}
		defer reply.Body.Close()
		b, err := io.ReadAll(reply.Body)
		return reply.StatusCode, string(b), reply.Header, err
	}
	pcptest.Retry(t, func() string { // it may not listen yet
		_, _, _, err := get("/", "")
		if err != nil {
			return err.Error()
		}
		return ""
	})
	paths := []string{"/pmapi/fetch?names=proc.psinfo.environ", "/metrics?names=proc.psinfo.environ", "/metrics?names=proc",
		"/pmapi/fetch?names=proc.psinfo.environ&hostspec=localhost", "/pmapi/metric?names=proc.psinfo.environ"}
	many := pcptest.AttackSize(2, 500)
	pcptest.Attack(t, func() {
		for i := range many * len(paths) {
			path, origin := paths[i/2%len(paths)], []string{"", "https://evil.example"}[i%2]
			status, body, header, err := get(path, origin)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(body, "s3cret") || header.Get("Access-Control-Allow-Origin") != "" {
				t.Fatalf("%s for the origin %q: %d %v %.500s", path, origin, status, header, body)
			}
		}
	}, func() {
		if status, body, _, err := get("/", ""); status != http.StatusOK {
			t.Errorf("another client: %d %s, %v", status, body, err)
		}
	})
	t.Logf("refused: the environment in %d requests", many*len(paths))
}

// The page may have TLS and a login.
func TestSecurePage(t *testing.T) {
	dir := t.TempDir()
	v, err := sasl.NewVerifier("secret")
	if err != nil {
		t.Fatal(err)
	}
	cert := tlstest.SelfSigned(t, "self", tlstest.Leaf{})
	users, conf := filepath.Join(dir, "users"), filepath.Join(dir, "tls.conf")
	for name, text := range map[string]string{
		"users":     "ann:" + v.String() + "\n",
		"pmcd.conf": "mech_list: scram-sha-256\nsasldb_path: " + users + "\n",
		"tls.conf":  "tls-cert-file = " + cert.CertFile + "\ntls-key-file = " + cert.KeyFile + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addr := fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	start(t, []string{"PCP_SASL2_CONFIG_PATH=" + dir, "PCP_TLSCONF_PATH=" + conf}, "-w", addr, "--web-tls", "--web-login")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, c := range []struct {
		url, password string
		status        int
	}{
		{"https://" + addr + "/pmapi/fetch?names=pmcd.numagents", "secret", 200},
		{"https://" + addr + "/", "secret", 200},
		{"https://" + addr + "/", "", 401},
		{"https://" + addr + "/pmapi/fetch?names=pmcd.numagents", "wrong", 401},
		{"https://" + addr + "/metrics", "", 401},
		{"http://" + addr + "/metrics", "secret", 400},
	} {
		pcptest.Retry(t, func() string { // it may not listen yet
			r, err := http.NewRequestWithContext(t.Context(), "GET", c.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.password != "" {
				r.SetBasicAuth("ann", c.password)
			}
			reply, err := client.Do(r)
			if err != nil {
				return err.Error()
			}
			reply.Body.Close()
			if reply.StatusCode != c.status {
				return fmt.Sprintf("%s with password %q: %d, want %d", c.url, c.password, reply.StatusCode, c.status)
			}
			return ""
		})
	}
}
