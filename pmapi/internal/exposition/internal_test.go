package exposition

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzNegotiate: any Accept header leads to an existing format.
func FuzzNegotiate(f *testing.F) {
	for _, header := range []string{"", "*/*", "text/plain;version=0.0.4;q=0.2", "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain", ";;,=;q=x,\"", "text/*;q=NaN"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		for _, plain := range []Format{Prometheus, PCP} {
			kind := negotiate(header, plain)
			if kind.Format != OpenMetrics && kind.Format != Prometheus && kind.Format != plain {
				t.Errorf("format %d", kind.Format)
			}
			if !kind.named && kind.Escaping != Underscores || kind.named && kind.Format == PCP {
				t.Errorf("escaping %v, named %v, in format %d", kind.Escaping, kind.named, kind.Format)
			}
			// The resulting Content-Type, as an Accept header, leads to the same style.
			if again := negotiate(kind.ContentType(), plain); again != kind && kind.Format != PCP {
				t.Errorf("%v is taken for %v", kind, again)
			}
		}
	})
}

// unescapeValues undoes the escaping "values" as Prometheus does.
func unescapeValues(s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "U__")
	if !ok {
		return s, true
	}
	var b strings.Builder
	for rest != "" {
		if rest[0] != '_' {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		hex, after, ok := strings.Cut(rest[1:], "_")
		if rest = after; hex == "" && ok {
			b.WriteByte('_')
			continue
		}
		r, err := strconv.ParseUint(hex, 16, 32)
		if err != nil || !ok || !utf8.ValidRune(rune(r)) {
			return "", false
		}
		b.WriteRune(rune(r))
	}
	return b.String(), true
}

// FuzzEscape: escaped names are valid, and names in "values" can be unescaped.
func FuzzEscape(f *testing.F) {
	for _, name := range []string{"disk.dev.read", "a_b", "9", "ü", "\xff", "U__a", "U__x_2e_", "a b", "__", "a\x00b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" {
			return
		}
		for e := Underscores; e < UTF8; e++ {
			if got := e.escape(name); !isPlainName(got) {
				t.Errorf("%v of %q is %q, which is no name", e, name, got)
			}
		}
		got := valuesEscape(name)
		if !isPlainName(got) {
			t.Errorf("%q is %q, which is no name", name, got)
		}
		if back, ok := unescapeValues(got); !ok || back != string([]rune(name)) {
			t.Errorf("%q is %q and back %q", name, got, back)
		}
	})
}

// TestEscape: names are escaped as by Prometheus' library, except that it loses a leading digit in
// "underscores".
func TestEscape(t *testing.T) {
	for _, c := range []struct{ name, underscores, dots, values string }{
		{"disk.dev.rd_x", "disk_dev_rd_x", "disk_dot_dev_dot_rd__x", "U__disk_2e_dev_2e_rd__x"},
		{"plain_name", "plain_name", "plain__name", "plain_name"},
		{"a/b", "a_b", "a__b", "U__a_2f_b"},
		{"ü-é", "___", "______", "U___fc__2d__e9_"},
		{"4x", "_4x", "__x", "U___34_x"},
		{"x\xff", "x_", "x__", "U__x_fffd_"},
		{"日", "_", "__", "U___65e5_"},
	} {
		for e, want := range []string{c.underscores, c.dots, c.values, strings.ToValidUTF8(c.name, "\uFFFD")} {
			if got := Escaping(e).escape(c.name); got != want {
				t.Errorf("%q in %v: %q, want %q", c.name, Escaping(e), got, want)
			}
		}
	}
}

// FuzzQuoted: quoted texts are on one line, and can be unquoted.
func FuzzQuoted(f *testing.F) {
	for _, text := range []string{"", "a\nb", `\n"`, "ü\xff", `\\`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted := string(appendQuoted(nil, text))
		inner, back := quoted[1:len(quoted)-1], strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`)
		if strings.Contains(inner, "\n") || back.Replace(inner) != strings.ToValidUTF8(text, "\uFFFD") {
			t.Errorf("%q is %s", text, quoted)
		}
	})
}
