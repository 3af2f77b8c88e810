// Package hint finds advice on the mistakes that users of command-line programs make most.
package hint

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// maxNames is how many archives a hint names.
const maxNames = 3

// Dial returns advice on a failed connection to the collector of a host specification, or "".
func Dial(spec string, err error) string {
	if isArchive(spec) {
		return fmt.Sprintf("there is an archive %s: -a %s reads it", spec, spec)
	}
	dns, noAddress := errors.AsType[*net.DNSError](err)
	switch {
	case noAddress:
		return fmt.Sprintf("the host name %s does not resolve: check its spelling, or use an IP address", dns.Name)
	case TLS(err) != "":
		return TLS(err)
	case errors.Is(err, syscall.ECONNREFUSED) || isMissingSocket(err):
		return fmt.Sprintf("no program listens on %s: start pmcd there, or name its host and port as in -h HOST:PORT", address(err))
	case errors.Is(err, errors.ErrUnsupported):
		return "the collector does not offer what the host specification or the options request: " + innermost(err) + withoutTLS(spec)
	case errors.Is(err, pdu.ErrTimeout):
		return "the host does not answer: it may be down, or a firewall drops what it gets"
	case errors.Is(err, pdu.ErrPermission):
		return "the access rules of the collector exclude this host or user: log in with -h 'HOST?user=NAME', or change its pmcd.conf"
	case errors.Is(err, pdu.ErrIPC) && strings.Contains(spec, "@"):
		return "the gateway has closed the connection: it may not let clients connect to this host (pmproxy --allow), or its port is wrong"
	case errors.Is(err, pdu.ErrIPC):
		return "the program on this port is not a collector, or it has closed the connection: check the port"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EACCES):
		return "this user may not open the socket of the collector: try -h localhost"
	}
	return ""
}

// A withHint is an error with advice.
type withHint struct {
	error
	hint string
}

func (e *withHint) Unwrap() error { return e.error }

// With returns an error that has the text of err. Of returns its advice.
func With(err error, advice string) error { return &withHint{err, advice} }

// Of returns the advice of an error, or "".
func Of(err error) string {
	if e, ok := errors.AsType[*withHint](err); ok {
		return e.hint
	}
	if e, ok := errors.AsType[*getopt.UnknownError](err); ok && len(e.Similar) > 0 {
		return fmt.Sprintf("there is no option %s: similar: --%s", e.Word, strings.Join(e.Similar, ", --"))
	}
	return ""
}

// Forms of what users mistype.
const (
	Interval = "an interval is a number and a unit, such as 5sec, 10min or 30days"
	Time     = "a time is such as @10:30, '@2026-11-23 10:30:00', +1hour or -10min"
)

// Words returns advice on a misspelt word in the place of some words of a language, or "".
func Words(word string, allowed []string) string {
	if near := wording.Similar(word, allowed); len(near) > 0 {
		return "similar words: " + strings.Join(near, ", ")
	}
	if len(allowed) > 0 {
		return "expected here: " + strings.Join(allowed, ", ")
	}
	return ""
}

// Listen returns the error of a program that cannot listen on an address, with what helps. The
// option is the one that chooses another address or port.
func Listen(addr string, err error, program, option string) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("cannot listen on %s: the port is in use, perhaps by another %s: end that or choose a port with %s", addr, program, option)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot listen on %s: no permission: choose a port above 1023 with %s", addr, option)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("cannot listen on %s: this host does not have the address: choose another", addr)
	}
	return fmt.Errorf("cannot listen on %s: %w", addr, err)
}

// withoutTLS says how to connect without TLS to a host whose specification asks for it.
func withoutTLS(spec string) string {
	if rest, ok := strings.CutPrefix(spec, "pcps://"); ok {
		return ": pcp://" + hostspec.Redact(rest) + " connects without"
	}
	return ""
}

// innermost returns the text of an error without the operation.
func innermost(err error) string {
	if op, ok := errors.AsType[*pmapi.OpError](err); ok {
		err = op.Err
	}
	return err.Error()
}

// isMissingSocket reports whether a unix socket does not exist.
func isMissingSocket(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && errors.Is(err, fs.ErrNotExist)
}

// address returns the addresses that were dialed.
func address(err error) string {
	var all []string
	var visit func(error)
	visit = func(err error) {
		if op, ok := err.(*net.OpError); ok && op.Addr != nil {
			if a := op.Addr.String(); !slices.Contains(all, a) {
				all = append(all, a)
			}
			return
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			visit(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, err := range e.Unwrap() {
				visit(err)
			}
		}
	}
	visit(err)
	slices.Sort(all)
	return cmp.Or(strings.Join(all, " or "), "its address")
}

// TLS returns why a TLS handshake with a collector failed, and what helps, or "" for other errors.
func TLS(err error) string {
	if errors.Is(err, pdu.ErrTLS) || tlsError(err) != nil {
		return "TLS: " + tlsReason(err)
	}
	return ""
}

// tlsError returns what crypto/tls has reported, or nil.
func tlsError(err error) error {
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return e
	}
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return e
	}
	return nil
}

// tlsReason returns why a TLS handshake failed, and what helps.
func tlsReason(err error) string {
	if e, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return e.Error() + ": set tls-ca-cert-file in tls.conf to the certificate of the authority"
	}
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return e.Error() + ": use a name that the certificate has"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the collector does not speak TLS on this port: use pcp:// in place of pcps://"
	}
	if cause := tlsError(err); cause != nil {
		return cause.Error()
	}
	return innermost(err)
}

// Archive returns advice on an archive that cannot be opened, or "".
func Archive(path string, err error) string {
	if !isMissing(err) {
		return Damage(err)
	}
	first, _, _ := strings.Cut(path, ",")
	dir := filepath.Dir(first)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Sprintf("there is no directory %s", dir)
	}
	files, err := filepath.Glob(filepath.Join(quoted(dir), "*.meta*"))
	if err != nil || len(files) == 0 {
		return fmt.Sprintf("there are no archives in %s", dir)
	}
	var names []string
	for _, file := range files {
		base, _, _ := strings.Cut(filepath.Base(file), ".meta")
		names = append(names, base)
	}
	names = slices.Compact(names)
	if near := wording.Similar(filepath.Base(first), names); len(near) > 0 {
		return fmt.Sprintf("similar archives in %s: %s", dir, strings.Join(near, ", "))
	}
	return fmt.Sprintf("archives in %s: %s", dir, some(names))
}

// Damage returns the file of an archive and the place in it that an error is about, or "".
func Damage(err error) string {
	e, ok := errors.AsType[*archive.Error](err)
	if !ok || isMissing(err) {
		return ""
	}
	return strings.TrimPrefix(e.Error(), "archive: ")
}

// isMissing reports whether a file does not exist.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || pdu.FromError(err) == pdu.FromError(syscall.ENOENT)
}

// quoted is a path in a pattern of package filepath that stands for itself.
func quoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// some lists the first few names.
func some(names []string) string {
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

// Metric returns advice on a metric name that is not among names.
func Metric(name string, names []string) string {
	if isArchive(name) {
		return fmt.Sprintf("there is an archive %s: -a %s reads it", name, name)
	}
	if near := wording.Similar(name, withParents(names)); len(near) > 0 {
		return "similar names: " + strings.Join(near, ", ")
	}
	// The longest beginning that exists.
	for prefix := name; ; {
		i := strings.LastIndexByte(prefix, '.')
		if i < 0 {
			return "pminfo without a name lists all metrics"
		}
		prefix = prefix[:i]
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix+".") }) {
			return fmt.Sprintf("pminfo %s lists the metrics below %s", prefix, prefix)
		}
	}
}

// withParents returns metric names and the names above them in the name space.
func withParents(names []string) []string {
	all := slices.Clone(names)
	seen := map[string]bool{}
	for _, name := range names {
		for i := strings.LastIndexByte(name, '.'); i >= 0; i = strings.LastIndexByte(name, '.') {
			if name = name[:i]; seen[name] {
				break
			}
			seen[name] = true
			all = append(all, name)
		}
	}
	return all
}

// isArchive reports whether there is an archive at a path.
func isArchive(path string) bool {
	for _, suffix := range []string{".meta", ".meta.xz", ".meta.gz", ".meta.zst"} {
		if info, err := os.Stat(path + suffix); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}
