package tlsconf

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tlstest"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Conf{
		"": {},
		"tls-cert-file = /a\ntls-key-file: /b # key\n \ttls-ca-cert-file=/c":                  {CertFile: "/a", KeyFile: "/b", CAFile: "/c"},
		"tls-cert-file = /a b\n#tls-key-file = /b\ntls-ca-cert-dir /c\ntls-ciphers=":          {CertFile: "/a"},
		"tls-cert-file=/a\ntls-cert-file=/b\ntls-cert-file=\ntls-cert=/c\ntls-cert-file x=/d": {CertFile: "/b"},
		"tls-client-cert-file:/a\r\ntls-client-key-file:/b#c\ntls-ciphers=A:B\ntls-ciphersuites=C=D\ntls-verify-clients=yes\ntls-verify-host=no": {
			ClientCertFile: "/a", ClientKeyFile: "/b", Ciphers: "A:B", CipherSuites: "C=D", VerifyClients: "yes", VerifyHost: "no"},
		"TLS-CERT-FILE=/a\n=\n:\n==\ntls-ca-cert-dir==x": {CADir: "=x"},
	} {
		if diff := cmp.Diff(want, Parse(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if got := Load(filepath.Join(t.TempDir(), "none")); got != (Conf{}) {
		t.Errorf("no file: %+v", got)
	}
}

// FuzzParse checks that the parsed settings, written again, parse as the same settings, and that
// crypto/tls has the ciphers that any list selects.
func FuzzParse(f *testing.F) {
	f.Add("tls-cert-file = /a # b\ntls-ciphers=HIGH:!aNULL:-AES128+SHA\ntls-verify-clients: true")
	f.Fuzz(func(t *testing.T, text string) {
		c := Parse(text)
		again := fmt.Sprintf("tls-cert-file=%s\ntls-key-file=%s\ntls-client-cert-file=%s\ntls-client-key-file=%s\ntls-ca-cert-file=%s\ntls-ca-cert-dir=%s\n"+
			"tls-ciphers=%s\ntls-ciphersuites=%s\ntls-verify-clients=%s\ntls-verify-host=%s", c.CertFile, c.KeyFile, c.ClientCertFile, c.ClientKeyFile,
			c.CAFile, c.CADir, c.Ciphers, c.CipherSuites, c.VerifyClients, c.VerifyHost)
		if got := Parse(again); got != c {
			t.Errorf("%+v, again %+v", c, got)
		}
		config := new(tls.Config)
		if err := c.setCiphers(config); err == nil && c.Ciphers != "" && len(config.CipherSuites) == 0 && config.MinVersion != tls.VersionTLS13 {
			t.Errorf("%q selects nothing", c.Ciphers)
		}
	})
}

// TestCiphers: the names of OpenSSL are those of suites that crypto/tls has, each once.
func TestCiphers(t *testing.T) {
	known := map[uint16]string{}
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		known[s.ID] = s.Name
	}
	for _, c := range ciphers {
		name := strings.NewReplacer("TLS_", "", "_WITH", "", "AES_", "AES", "RSA_AES", "AES", "CBC_", "", "_", "-").Replace(known[c.id])
		name = strings.NewReplacer("RSA-AES", "AES").Replace(name)
		plain := strings.ReplaceAll(strings.TrimPrefix(c.name, "ECDHE-"), "RSA-AES", "AES")
		if known[c.id] == "" || !strings.HasPrefix(strings.TrimPrefix(name, "ECDHE-"), plain) {
			t.Errorf("%s is %s", c.name, known[c.id])
		}
		delete(known, c.id)
	}
	for list, want := range map[string]string{
		"ECDHE-RSA-AES128-GCM-SHA256":                         "ECDHE-RSA-AES128-GCM-SHA256",
		"foo:ECDHE-RSA-AES128-GCM-SHA256,AES128-SHA":          "ECDHE-RSA-AES128-GCM-SHA256 AES128-SHA",
		"ECDHE+AESGCM:!ECDSA:@STRENGTH":                       "ECDHE-RSA-AES256-GCM-SHA384 ECDHE-RSA-AES128-GCM-SHA256",
		"AES128:-kRSA:!SHA:!SHA256:+ECDSA":                    "ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-RSA-AES128-GCM-SHA256",
		"!AES128-SHA:AES128-SHA:AES256-SHA:-AES256-SHA:kEDH":  "",
		"HIGH:!aNULL:!kRSA:!AES:!ECDSA":                       "ECDHE-RSA-CHACHA20-POLY1305",
		"RSA+AES256+kRSA+SHA":                                 "AES256-SHA",
		"DHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-SHA256": "ECDHE-ECDSA-AES128-SHA256",
	} {
		var got []string
		for _, id := range selectCiphers(list) {
			for _, c := range ciphers {
				if c.id == id {
					got = append(got, c.name)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", list, got, want)
		}
	}
}

// What cannot be used, in PCP's words.
func TestErrors(t *testing.T) {
	ca := tlstest.NewCA(t, "ca")
	good, other := ca.Issue(t, "good", tlstest.Leaf{}), ca.Issue(t, "other", tlstest.Leaf{})
	none := filepath.Join(t.TempDir(), "none")
	pair := Conf{CertFile: good.CertFile, KeyFile: good.KeyFile}
	with := func(change func(*Conf)) Conf {
		c := pair
		change(&c)
		return c
	}
	for _, test := range []struct {
		name           string
		c              Conf
		server, client string // empty for none
	}{
		{"nothing", Conf{}, "", ""},
		{"good", pair, "", ""},
		{"no key", Conf{CertFile: good.CertFile}, "no private key found", ""},
		{"key alone", Conf{KeyFile: good.KeyFile}, "", ""},
		{"no certificate", with(func(c *Conf) { c.CertFile = none }), "Cannot load certificate chain from " + none, "Cannot load certificate chain from " + none},
		{"a key for a certificate", with(func(c *Conf) { c.CertFile = good.KeyFile }), "Cannot load certificate chain from " + good.KeyFile, "Cannot load certificate chain from " + good.KeyFile},
		{"another key", with(func(c *Conf) { c.KeyFile = other.KeyFile }), "Cannot load private key from " + other.KeyFile, "Cannot load private key from " + other.KeyFile},
		{"no key file", with(func(c *Conf) { c.KeyFile = none }), "Cannot load private key from " + none, "Cannot load private key from " + none},
		{"authorities", with(func(c *Conf) { c.CAFile = none }), "Cannot load the client CA list from " + none, "Cannot load the CA Certificate list from " + none},
		{"a directory of authorities", with(func(c *Conf) { c.CADir = none }), "Cannot load the client CA list from " + none, "Cannot load the CA Certificate list from " + none},
		{"a client's certificate", with(func(c *Conf) { c.ClientCertFile, c.ClientKeyFile = none, none }), "", "Cannot load client certificate chain from " + none},
		{"a client's key", with(func(c *Conf) { c.ClientCertFile, c.ClientKeyFile = good.CertFile, other.KeyFile }), "", "Cannot load client private key from " + other.KeyFile},
		{"both pairs", with(func(c *Conf) { c.ClientCertFile, c.ClientKeyFile = other.CertFile, other.KeyFile }), "", ""},
		{"ciphers", with(func(c *Conf) { c.Ciphers = "foo" }), "Cannot set the cipher list from foo", "Cannot set the cipher list from foo"},
		{"ciphers that crypto/tls lacks", with(func(c *Conf) { c.Ciphers = "DHE-RSA-AES256-GCM-SHA384" }), "", ""},
		{"suites", with(func(c *Conf) { c.CipherSuites = "foo" }), "Cannot set the cipher suites from foo", "Cannot set the cipher suites from foo"},
		{"one suite", with(func(c *Conf) { c.CipherSuites = "foo:TLS_AES_256_GCM_SHA384" }), "", ""},
	} {
		_, err := test.c.Server()
		checkError(t, test.name+", server", err, test.server)
		_, err = test.c.Client()
		checkError(t, test.name+", client", err, test.client)
	}
	if w := with(func(c *Conf) { c.CipherSuites = "TLS_AES_256_GCM_SHA384" }).Warnings(); len(w) != 1 {
		t.Errorf("one suite: warnings %q", w)
	}
	if w := pair.Warnings(); w != nil {
		t.Errorf("warnings %q", w)
	}
}

func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// connect does a handshake, and returns what the client sees.
func connect(t *testing.T, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	addr := pcptest.Serve(t, func(conn net.Conn) {
		s := tls.Server(conn, server)
		if s.Handshake() == nil {
			s.Write([]byte{1})
		}
		s.Close()
	})
	a, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	client = client.Clone()
	client.ServerName = "localhost"
	c := tls.Client(a, client)
	_, err = c.Read(make([]byte, 1)) // with TLS 1.3 a client learns of a refusal only then
	return c.ConnectionState(), err
}

// TestVerify checks which peers accept which certificates.
func TestVerify(t *testing.T) {
	ca, stranger := tlstest.NewCA(t, "ca"), tlstest.NewCA(t, "stranger")
	dir := t.TempDir()
	if err := os.Symlink(ca.CertFile, filepath.Join(dir, "1234.0")); err != nil {
		t.Skip(err)
	}
	server := func(l tlstest.Leaf) Conf {
		c := ca.Issue(t, "server", l)
		return Conf{CertFile: c.CertFile, KeyFile: c.KeyFile, CAFile: ca.CertFile}
	}
	usual, elsewhere, expired := server(tlstest.Leaf{}), server(tlstest.Leaf{Hosts: []string{"other.example.org"}}), server(tlstest.Leaf{Expired: true})
	self := tlstest.SelfSigned(t, "self", tlstest.Leaf{})
	bySelf := Conf{CertFile: self.CertFile, KeyFile: self.KeyFile}
	mine, foreign := ca.Issue(t, "mine", tlstest.Leaf{}), stranger.Issue(t, "foreign", tlstest.Leaf{})
	forServers, forBoth := ca.Issue(t, "s", tlstest.Leaf{Netscape: 0x40}), ca.Issue(t, "b", tlstest.Leaf{Netscape: 0xc0})
	for i, test := range []struct {
		server, client Conf
		ok             bool
	}{
		{bySelf, Conf{}, true},
		{expired, Conf{VerifyClients: "1", CAFile: stranger.CertFile}, true},
		{usual, Conf{VerifyClients: "true", CAFile: ca.CertFile}, true},
		{usual, Conf{VerifyClients: "yes", CADir: dir}, true},
		{usual, Conf{VerifyClients: "true", CAFile: stranger.CertFile}, false},
		{usual, Conf{VerifyClients: "true"}, false},
		{expired, Conf{VerifyClients: "true", CAFile: ca.CertFile}, false},
		{elsewhere, Conf{VerifyClients: "true", CAFile: ca.CertFile}, true},
		{elsewhere, Conf{VerifyHost: "true", CAFile: ca.CertFile}, false},
		{usual, Conf{VerifyHost: "true", CAFile: ca.CertFile}, true},
		{bySelf, Conf{VerifyClients: "true", CAFile: self.CertFile}, true},
		{usual, Conf{CertFile: mine.CertFile, KeyFile: mine.KeyFile}, true},
		{usual, Conf{ClientCertFile: mine.CertFile, ClientKeyFile: mine.KeyFile, CertFile: foreign.CertFile, KeyFile: foreign.KeyFile}, true},
		{usual, Conf{CertFile: foreign.CertFile, KeyFile: foreign.KeyFile}, false},
		{bySelf, Conf{CertFile: foreign.CertFile, KeyFile: foreign.KeyFile}, true}, // it asks for none
		{server(tlstest.Leaf{Netscape: 0x80}), Conf{VerifyClients: "true", CAFile: ca.CertFile}, false},
		{server(tlstest.Leaf{Netscape: 0x80}), Conf{}, true},
		{server(tlstest.Leaf{Netscape: 0x40}), Conf{VerifyClients: "true", CAFile: ca.CertFile}, true},
		{usual, Conf{CertFile: forServers.CertFile, KeyFile: forServers.KeyFile}, false},
		{usual, Conf{CertFile: forBoth.CertFile, KeyFile: forBoth.KeyFile}, true},
		{with13(usual), Conf{Ciphers: "AES128-SHA"}, true},
	} {
		s, err := test.server.Server()
		if err != nil {
			t.Fatal(err)
		}
		c, err := test.client.Client()
		if err != nil {
			t.Fatal(err)
		}
		state, err := connect(t, s, c)
		if (err == nil) != test.ok {
			t.Errorf("%d: %v", i, err)
		}
		if test.server.Ciphers != "" && state.Version != tls.VersionTLS13 {
			t.Errorf("%d: version %s", i, tls.VersionName(state.Version))
		}
	}
}

func with13(c Conf) Conf {
	c.Ciphers = "DHE-RSA-AES256-GCM-SHA384"
	return c
}

// A server goes on with what it has when its files become bad, and has the new ones when they are
// good again.
func TestFollow(t *testing.T) {
	first, second := tlstest.NewCA(t, "first"), tlstest.NewCA(t, "second")
	path := filepath.Join(t.TempDir(), "tls.conf")
	var failed []error
	f := NewServer(path, func(err error) { failed = append(failed, err) })
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.looked = f.looked.Add(-2 * lookAgain)
		f.mu.Unlock()
	}
	if err := f.Reload(); err != nil || f.Serving() != nil {
		t.Fatalf("no file: %v", err)
	}
	of := func(ca *tlstest.CA) string {
		c := ca.Issue(t, "server", tlstest.Leaf{})
		return fmt.Sprintf("tls-cert-file=%s\ntls-key-file=%s\n", c.CertFile, c.KeyFile)
	}
	write(of(first))
	if err := f.Reload(); err != nil {
		t.Fatal(err)
	}
	serving := f.Serving()
	check := func(what string, want *tlstest.CA, failures int) {
		t.Helper()
		if _, err := connect(t, serving, &tls.Config{RootCAs: want.Pool()}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		bad := 0
		for _, err := range failed {
			if err != nil {
				bad++
			}
		}
		if bad != failures {
			t.Errorf("%s: %d failures: %v", what, bad, failed)
		}
	}
	check("at first", first, 0)
	write("tls-cert-file=" + path + "\ntls-key-file=" + path)
	check("bad", first, 1)
	write(of(second) + "# longer")
	check("good again", second, 1)
}
