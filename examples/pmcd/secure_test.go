//go:build unix

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
)

// tlsFile writes a tls.conf, and returns the setting of the environment for it.
func tlsFile(t testing.TB, format string, args ...any) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tls.conf")
	if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"PCP_TLSCONF_PATH=" + path}
}

// pair is the lines of tls.conf for a certificate.
func pair(prefix string, c *tlstest.Cert) string {
	return fmt.Sprintf("%scert-file = %s\n%skey-file = %s\n", prefix, c.CertFile, prefix, c.KeyFile)
}

// alikeTLS is the output of a tool, without what differs between two runs.
func alikeTLS(o pcptest.Output, host string) string {
	text := strings.ReplaceAll(o.Stdout+o.Stderr, host, "HOST")
	text = regexp.MustCompile(`(?m)^\[[^]]*\] pminfo\(\d+\) `).ReplaceAllString(text, "")
	text = regexp.MustCompile(`([?&]pass=)[^&"]*`).ReplaceAllString(text, "${1}***") // which C's pminfo prints
	return fmt.Sprintf("%sexit status %d", text, o.Status)
}

var secureEvery = flag.Int("secure.every", 7, "of TestInteropSecure's clients of each collector, run one of so many")

// A collectorTLS is a collector of TestInteropSecure.
type collectorTLS struct {
	name string
	conf string // tls.conf
	args []string
}

// TestInteropSecure has C's pminfo and ours, with TLS in every way, ask C's pmcd and ours, and
// compares what they print.
func TestInteropSecure(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	ca, stranger := tlstest.NewCA(t, "ca"), tlstest.NewCA(t, "stranger")
	self := tlstest.SelfSigned(t, "self", tlstest.Leaf{})
	usual, named := ca.Issue(t, "server", tlstest.Leaf{}), ca.Issue(t, "named", tlstest.Leaf{Hosts: []string{"other.example.org"}})
	expired := ca.Issue(t, "expired", tlstest.Leaf{Expired: true})
	client := ca.Issue(t, "client", tlstest.Leaf{})
	caLine := "tls-ca-cert-file: " + ca.CertFile + "\n"
	verify := "tls-verify-clients = true\n"
	servers := []collectorTLS{
		{"TLS", pair("tls-", usual) + caLine, nil},
		{"no TLS", "", nil},
		{"another name", pair("tls-", named) + caLine, nil},
		{"expired", pair("tls-", expired) + caLine, nil},
		{"RSA", pair("tls-", ca.Issue(t, "rsa", tlstest.Leaf{RSA: true})) + caLine + "tls-ciphers = ECDHE+AESGCM\n", nil},
		{"certificates", pair("tls-", usual) + caLine, []string{"-Q"}},
		{"certificates in tls.conf, which does not ask clients for them", pair("tls-", usual) + caLine + verify, nil},
		{"for clients", pair("tls-", ca.Issue(t, "netscape", tlstest.Leaf{Netscape: 0x80})) + caLine, nil},
	}
	clients := []struct {
		spec string // HOST stands for the address
		env  string
		conf string
	}{
		{"HOST", "", ""},
		{"pcp://HOST?secure=enforce", "", ""},
		{"pcps://HOST", "", ""},
		{"pcps://HOST?secure=relaxed", "", ""},
		{"HOST", "PCP_SECURE_SOCKETS=", ""},
		{"HOST", "PCP_SECURE_SOCKETS=1", ""},
		{"HOST", "PCP_SECURE_SOCKETS=relaxed", ""},
		{"HOST", "PCP_SECURE_SOCKETS=yes", ""},
		{"pcps://HOST", "", verify + caLine},
		{"pcps://HOST", "", "tls-verify-clients: yes\ntls-ca-cert-file = " + stranger.CertFile + "\n"},
		{"pcps://HOST", "", "tls-verify-clients = 1\ntls-ca-cert-file = " + stranger.CertFile + "\n"},
		{"pcps://HOST", "", verify},
		{"pcps://HOST", "", pair("tls-", client)},
		{"pcps://HOST", "", pair("tls-client-", client) + caLine + verify},
		{"pcps://HOST", "", pair("tls-", self)},
		{"pcps://HOST", "", pair("tls-", ca.Issue(t, "for clients", tlstest.Leaf{Netscape: 0x80})) + caLine + verify},
		{"pcps://HOST", "", pair("tls-", ca.Issue(t, "for servers", tlstest.Leaf{Netscape: 0x40}))},
		{"pcps://HOST", "", pair("tls-", self) + "tls-ciphers = ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256\n"},
		{"pcps://HOST", "", "tls-ca-cert-file = /none\n"},
		{"pcps://HOST", "", "tls-client-cert-file = /none\ntls-client-key-file = /none\n"},
		{"pcps://HOST", "", "tls-ciphers = foo\n"},
		{"pcps://HOST", "", "tls-ciphersuites = foo\n"},
	}
	pminfo := pcptest.Build(t, "./examples/pminfo")
	if *secureEvery > 1 {
		servers = []collectorTLS{servers[0], servers[2+rand.IntN(len(servers)-2)]}
	}
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			env := tlsFile(t, "%s", server.conf)
			cHost := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Env: env, Args: server.args}).Host()
			_, host, _ := start(t, env, server.args...)
			for i := rand.IntN(*secureEvery); i < len(clients); i += *secureEvery {
				c := clients[i]
				env := append(tlsFile(t, "%s", c.conf), "PCP_CONSOLE=none")
				if c.env != "" {
					env = append(env, c.env)
				}
				var commands [][]string
				for _, h := range []string{cHost, host} {
					for _, program := range []string{"pminfo", pminfo} {
						commands = append(commands, []string{program, "-h", strings.Replace(c.spec, "HOST", h, 1), "-f", "pmcd.feature.secure"})
					}
				}
				var got []string
				for i, o := range pcptest.RunAll(t, env, commands...) {
					got = append(got, alikeTLS(o, []string{cHost, cHost, host, host}[i]))
				}
				for i, who := range []string{"our pminfo at C's pmcd", "C's pminfo at ours", "our pminfo at ours"} {
					if diff := cmp.Diff(got[0], got[i+1]); diff != "" {
						t.Errorf("%s %s %q, %s (-C +ours):\n%s", c.env, c.spec, c.conf, who, diff)
					}
				}
			}
		})
	}
}

// TestInteropSecureStart: a tls.conf that cannot be used keeps the collector from starting, in C's
// words.
func TestInteropSecureStart(t *testing.T) {
	pcptest.Need(t, "pmcd")
	ca := tlstest.NewCA(t, "ca")
	good, other := ca.Issue(t, "good", tlstest.Leaf{}), ca.Issue(t, "other", tlstest.Leaf{})
	for conf, want := range map[string]string{
		"tls-cert-file = " + good.CertFile:                                       "no private key found",
		"tls-cert-file = /none\ntls-key-file = " + good.KeyFile:                  "Cannot load certificate chain from /none",
		"tls-cert-file = " + good.CertFile + "\ntls-key-file = /none":            "Cannot load private key from /none",
		"tls-cert-file = " + good.CertFile + "\ntls-key-file = " + other.KeyFile: "Cannot load private key from " + other.KeyFile,
		pair("tls-", good) + "tls-ca-cert-file = /none":                          "Cannot load the client CA list from /none",
		pair("tls-", good) + "tls-ciphers = foo":                                 "Cannot set the cipher list from foo",
		pair("tls-", good) + "tls-ciphersuites = foo":                            "Cannot set the cipher suites from foo",
	} {
		env := tlsFile(t, "%s\n", conf) // C does not see a last line without an end
		dir := pcptest.ShortDir(t)
		socket := filepath.Join(dir, "s")
		port := fmt.Sprint(pcptest.FreePort(t))
		_, errs, status := pcptest.Run(t, env, "", pcptest.Build(t, "./examples/pmcd"), "-p", port, "-s", socket)
		if status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%q: exit status %d, %s, want %q", conf, status, errs, want)
		}
		if _, err := os.Lstat(socket); err == nil {
			t.Errorf("%q: the socket is left", conf)
		}
		empty := filepath.Join(dir, "conf")
		if err := os.WriteFile(empty, []byte("pmcd 2 dso pmcd_init "+filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "pmcd", "pmda_pmcd.so")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		out, errs, status := pcptest.Run(t, append(env, "PCP_RUN_DIR="+dir, "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0"), "",
			pcptest.Tool(t, "pmcd"), "-f", "-A", "-i", "127.0.0.1", "-p", port, "-s", socket, "-c", empty, "-l", "-", "-x", filepath.Join(dir, "x"))
		if status != 1 || !strings.Contains(out+errs, want) {
			t.Errorf("%q: C's pmcd: exit status %d, %s%s, want %q", conf, status, out, errs, want)
		}
	}
}

// TestSecureReload: certificates that have changed are in use at once, and a tls.conf that comes,
// goes or is bad after SIGHUP.
func TestSecureReload(t *testing.T) {
	first, second := tlstest.NewCA(t, "first"), tlstest.NewCA(t, "second")
	env := tlsFile(t, "")
	path := strings.TrimPrefix(env[0], "PCP_TLSCONF_PATH=")
	p, host, _ := start(t, env)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(pair("tls-", first.Issue(t, "server", tlstest.Leaf{})))
	if got := presented(t, host, first); got != "no TLS" {
		t.Errorf("before SIGHUP: %s", got)
	}
	hup := func() {
		if err := syscall.Kill(p.PID(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	hup()
	awaitTLS(t, host, first, "good")
	write(pair("tls-", second.Issue(t, "server", tlstest.Leaf{}))) // without a signal
	awaitTLS(t, host, second, "good")
	write("tls-cert-file=/none\ntls-key-file=/none\n")
	hup()
	awaitLog(t, p, "TLS is left unchanged")
	if got := presented(t, host, second); got != "good" {
		t.Errorf("a bad file: %s", got)
	}
	write("")
	hup()
	awaitTLS(t, host, second, "no TLS")
}

// awaitTLS waits until the collector has, or has not, a certificate of an authority.
func awaitTLS(t *testing.T, host string, ca *tlstest.CA, want string) {
	t.Helper()
	const tries = 600
	got := ""
	for range tries {
		if got = presented(t, host, ca); got == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s, want %s", got, want)
}

func awaitLog(t *testing.T, p *pcptest.Process, want string) {
	t.Helper()
	for range 600 {
		if strings.Contains(p.Log(), want) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("the log has not %q:\n%s", want, p.Log())
}
