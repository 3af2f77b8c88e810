//go:build unix

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
)

// saslUsers makes a configuration of the Cyrus library with the user root, whose password is
// secret, and returns the setting of the environment for it.
func saslUsers(t *testing.T) []string {
	t.Helper()
	pcptest.Need(t, "saslpasswd2")
	dir := pcptest.ShortDir(t)
	db := filepath.Join(dir, "passwd.db")
	if _, errs, status := pcptest.Run(t, nil, "secret", "saslpasswd2", "-a", "pmcd", "-c", "-p", "-f", db, "root"); status != 0 {
		t.Fatalf("saslpasswd2: %s", errs)
	}
	conf := "mech_list: plain login scram-sha-256\nsasldb_path: " + db + "\n"
	if err := os.WriteFile(filepath.Join(dir, "pmcd.conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"PCP_SASL2_CONFIG_PATH=" + dir}
}

// TestInteropHello compares the first PDU of C's pmcd and of ours, which says what they can do.
func TestInteropHello(t *testing.T) {
	pcptest.Need(t, "pmcd")
	ca := tlstest.NewCA(t, "ca")
	with, without := tlsFile(t, "%s", pair("tls-", ca.Issue(t, "server", tlstest.Leaf{}))), tlsFile(t, "")
	users := saslUsers(t)
	cases := []struct {
		tls  []string
		args []string
		want string
	}{
		{without, nil, "02010e44"}, {without, []string{"-S"}, "02010e4c"}, {without, []string{"-Q"}, "02010ec4"},
		{with, nil, "02010e55"}, {with, []string{"-S"}, "02010e5d"}, {with, []string{"-Q"}, "02010ed5"},
	}
	for i := rand.IntN(*secureEvery); i < len(cases); i += *secureEvery {
		c := cases[i]
		env := append(users[:1:1], c.tls...)
		for _, program := range []string{"", pcptest.Build(t, "./examples/pmcd")} {
			p := pcptest.StartPMCD(t, pcptest.Config{Program: program, Shipped: []string{"pmcd"}, Env: env, Args: c.args})
			conn, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			hello := make([]byte, 20)
			_, err = io.ReadFull(conn, hello)
			conn.Close()
			if got, want := fmt.Sprintf("%x", hello), "000000140000700000000000"+"00000000"+c.want; err != nil || got != want {
				t.Errorf("%s %q: %s, %v, want %s", program, c.args, got, err, want)
			}
		}
	}
}

// TestInteropSecureProxy has C's pminfo and ours ask C's pmcd and ours through PCP's pmproxy and
// ours, which pass on TLS and logins as they are.
func TestInteropSecureProxy(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmproxy")
	ca, stranger := tlstest.NewCA(t, "ca"), tlstest.NewCA(t, "stranger")
	env := append(saslUsers(t), tlsFile(t, "%stls-ca-cert-file = %s\n", pair("tls-", ca.Issue(t, "server", tlstest.Leaf{})), ca.CertFile)...)
	cHost := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Env: env}).Host()
	host := pcptest.StartPMCD(t, pcptest.Config{Program: pcptest.Build(t, "./examples/pmcd"), Shipped: []string{"pmcd"}, Env: env}).Host()
	proxies := []string{pcptest.StartPMProxy(t, tlsFile(t, "")...), startOurs(t)}
	verify := "tls-verify-clients = true\ntls-ca-cert-file = "
	cases := []struct {
		spec string // HOST stands for the address of the collector, PROXY for that of the proxy
		env  string
		conf string
		want string
	}{
		{"pcps://HOST@PROXY", "", "", "value 1"},
		{"pcps://HOST@PROXY", "", verify + ca.CertFile + "\n", "value 1"},
		{"pcps://HOST@PROXY", "", verify + stranger.CertFile + "\n", "TLS protocol failure"},
		{"pcps://HOST@PROXY", "", pair("tls-", ca.Issue(t, "client", tlstest.Leaf{})), "value 1"},
		{"pcps://HOST@PROXY", "", pair("tls-", stranger.Issue(t, "client", tlstest.Leaf{})), "IPC protocol failure"},
		{"pcps://HOST@PROXY?user=root&pass=secret", "", verify + ca.CertFile + "\n", "value 1"},
		{"pcps://HOST@PROXY?user=root&pass=secret&method=plain", "", "", "value 1"},
		{"pcps://HOST@PROXY?user=root&pass=bad", "", verify + ca.CertFile + "\n", "Authentication - authentication failure"},
		{"pcps://HOST", "PMPROXY_HOST=PROXY", "", "value 1"},
		{"HOST@PROXY?user=root&pass=secret", "", "", "value 1"},
		{"HOST@PROXY", "PCP_SECURE_SOCKETS=1", "", "value 1"},
	}
	pminfo := pcptest.Build(t, "./examples/pminfo")
	every := min(*secureEvery, 3)
	for i := rand.IntN(every); i < len(cases); i += every {
		c, proxy := cases[i], proxies[i%len(proxies)]
		env := append(tlsFile(t, "%s", c.conf), "PCP_CONSOLE=none")
		if c.env != "" {
			name, port, _ := net.SplitHostPort(proxy)
			env = append(env, strings.Replace(c.env, "PROXY", name, 1), "PMPROXY_PORT="+port)
		}
		var commands [][]string
		for _, h := range []string{cHost, host} {
			for _, program := range []string{"pminfo", pminfo} {
				spec := strings.NewReplacer("HOST", h, "PROXY", proxy).Replace(c.spec)
				commands = append(commands, []string{program, "-h", spec, "-f", "pmcd.feature.secure"})
			}
		}
		var got []string
		for i, o := range pcptest.RunAll(t, env, commands...) {
			got = append(got, alikeTLS(o, []string{cHost, cHost, host, host}[i]))
		}
		if !strings.Contains(got[0], c.want) {
			t.Errorf("%s %s %q: C's pminfo at C's pmcd: %s, want %s", c.env, c.spec, c.conf, got[0], c.want)
		}
		for i, who := range []string{"our pminfo at C's pmcd", "C's pminfo at ours", "our pminfo at ours"} {
			if diff := cmp.Diff(got[0], got[i+1]); diff != "" {
				t.Errorf("%s %s %q, %s (-C +ours):\n%s", c.env, c.spec, c.conf, who, diff)
			}
		}
	}
}

// startOurs runs our pmproxy, which connects to all ports of this computer, and returns its
// address.
func startOurs(t *testing.T) string {
	t.Helper()
	port := strconv.Itoa(pcptest.FreePort(t))
	addr := "127.0.0.1:" + port
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmproxy"), Args: []string{"-p", port, "-i", "127.0.0.1", "--allow", "localhost:*", "--allow", "127.0.0.1:*"},
		Env: tlsFile(t, ""), Addr: addr, Dir: t.TempDir()})
	return addr
}
