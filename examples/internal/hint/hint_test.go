package hint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

func TestMetric(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "web1")
	if err := os.WriteFile(path+".meta", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{"disk.dev.read", "kernel.all.load"}
	for name, want := range map[string]string{
		"kernel.all.laod":  "similar names: kernel.all.load",
		"disk.dev.nosuch":  "pminfo disk.dev lists the metrics below disk.dev",
		"kernl.all":        "similar names: kernel.all",
		"disk.nosuch.here": "pminfo disk lists the metrics below disk",
		"nosuch":           "pminfo without a name lists all metrics",
		path:               "there is an archive " + path + ": -a " + path + " reads it",
	} {
		if got := Metric(name, names); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestArchive(t *testing.T) {
	dir := t.TempDir()
	missing := fmt.Errorf("open: %w", os.ErrNotExist)
	check := func(path string, err error, want string) {
		t.Helper()
		if got := Archive(path, err); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	check(filepath.Join(dir, "web1"), missing, "there are no archives in "+dir)
	for _, name := range []string{"web1.meta", "web2.meta.xz", "mail.meta", "db.meta", "x.0"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check(filepath.Join(dir, "wbe1"), missing, "similar archives in "+dir+": web1")
	check(filepath.Join(dir, "monday,tuesday"), missing, "archives in "+dir+": db, mail, web1 and 1 more")
	check(filepath.Join(dir, "no", "web1"), pdu.FromError(syscall.ENOENT), "there is no directory "+filepath.Join(dir, "no"))
	check(filepath.Join(dir, "web1"), pdu.ErrLogRec, "")
}

func TestDial(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: syscall.ECONNREFUSED}
	socket := &net.OpError{Op: "dial", Net: "unix", Addr: &net.UnixAddr{Name: "/no", Net: "unix"}, Err: syscall.ENOENT}
	for _, test := range []struct {
		err  error
		want string
	}{
		{refused, "no program listens on 127.0.0.1:1: start pmcd there"},
		{errors.Join(refused, socket), "no program listens on /no or 127.0.0.1:1: start pmcd there"},
		{&net.DNSError{Name: "web9"}, "the host name web9 does not resolve"},
		{pdu.ErrTimeout, "the host does not answer"},
		{pdu.ErrPermission, "the access rules of the collector exclude this host or user"},
		{fmt.Errorf("%w in the handshake", pdu.ErrIPC), "the program on this port is not a collector"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "TLS: x509: certificate signed by unknown authority: set tls-ca-cert-file"},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"a"}}, Host: "b"}}, "TLS: x509: certificate is valid for a, not b: use a name"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, "TLS: x509: certificate has expired"},
		{fmt.Errorf("%w: %w", pdu.ErrTLS, x509.UnknownAuthorityError{}), "TLS: x509: certificate signed by unknown authority: set tls-ca-cert-file"},
		{tls.RecordHeaderError{}, "TLS: the collector does not speak TLS on this port"},
		{fmt.Errorf("x: %w", pdu.ErrTLS), "TLS: x: "},
		{fmt.Errorf("TLS: %w", errors.ErrUnsupported), "the collector does not offer what the host specification or the options request: TLS"},
		{pdu.ErrConnLimit, ""},
	} {
		got := Dial("web9", &pmapi.OpError{Op: "dial", Host: "web9", Err: test.err})
		if got != test.want && (test.want == "" || !strings.HasPrefix(got, test.want)) {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}
