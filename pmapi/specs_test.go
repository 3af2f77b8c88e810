package pmapi_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// metricSpecs are specifications with their parts, or with the text of the error.
var metricSpecs = []struct {
	text string
	want pmapi.MetricSpec
	err  string
}{
	{text: " m ", want: pmapi.MetricSpec{Source: "default", Metric: "m"}},
	{text: "m(n)%\"", want: pmapi.MetricSpec{Source: "default", Metric: `m(n)%"`}},
	{text: "load[1 minute]", want: pmapi.MetricSpec{Source: "default", Metric: "load", Instances: []string{"1", "minute"}}},
	{text: `load ["1 minute","5 minute"] `, want: pmapi.MetricSpec{Source: "default", Metric: "load", Instances: []string{"1 minute", "5 minute"}}},
	{text: "m[a,b c]", want: pmapi.MetricSpec{Source: "default", Metric: "m", Instances: []string{"a", "b", "c"}}},
	{text: "m[ ]", want: pmapi.MetricSpec{Source: "default", Metric: "m"}},
	{text: "m[,a]", want: pmapi.MetricSpec{Source: "default", Metric: "m", Instances: []string{"", "a"}}},
	{text: "m[a,,b,]", want: pmapi.MetricSpec{Source: "default", Metric: "m", Instances: []string{"a", "b"}}},
	{text: `m[""a]`, want: pmapi.MetricSpec{Source: "default", Metric: "m", Instances: []string{"", "a"}}},
	{text: `m[a\,b \] "c\"d"]`, want: pmapi.MetricSpec{Source: "default", Metric: "m", Instances: []string{"a,b", "]", `c"d`}}},
	{text: `m["a]"]`, want: pmapi.MetricSpec{Source: "default", Metric: "m", Instances: []string{"a]"}}},
	{text: `m[a"]"b c"d]`, err: "m[a\"]\"b c\"d]\n            ^ -- closing \" and ] expected"},
	{text: `m[a"b c"d]`, want: pmapi.MetricSpec{Source: "default", Metric: "m", Instances: []string{`a"b`, `c"d`}}},
	{text: "m[a:b/c]", want: pmapi.MetricSpec{Source: "default", Metric: "m", Instances: []string{"a:b/c"}}},
	{text: " web1 : m ", want: pmapi.MetricSpec{Source: "web1", Metric: "m"}},
	{text: "web1:44321@proxy:m", want: pmapi.MetricSpec{Source: "web1:44321@proxy", Metric: "m"}},
	{text: "/tmp/foo/m[1]", want: pmapi.MetricSpec{Kind: pmapi.SourceArchive, Source: "/tmp/foo", Metric: "m", Instances: []string{"1"}}},
	{text: "pcp://host/m", want: pmapi.MetricSpec{Kind: pmapi.SourceArchive, Source: "pcp://host", Metric: "m"}},
	{text: " @ : m", want: pmapi.MetricSpec{Kind: pmapi.SourceLocal, Source: "@", Metric: "m"}},
	{text: "@/m", want: pmapi.MetricSpec{Kind: pmapi.SourceArchive, Source: "@", Metric: "m"}},
	{text: `\@:m`, want: pmapi.MetricSpec{Source: "@", Metric: "m"}},
	{text: `a\:b\/c:m\,n`, want: pmapi.MetricSpec{Source: "a:b/c", Metric: "m,n"}},
	{text: `a\ :m\`, want: pmapi.MetricSpec{Source: `a\`, Metric: `m\`}},
	{text: "", err: "\n^ -- performance metric name expected"},
	{text: "host:", err: "host:\n     ^ -- performance metric name expected"},
	{text: "[::1]:m", err: "[::1]:m\n^ -- performance metric name expected"},
	{text: " :m", err: " :m\n ^ -- host name expected"},
	{text: "/m", err: "/m\n^ -- archive name expected"},
	{text: "met,ric", err: "met,ric\n   ^ -- unexpected character in metric name"},
	{text: "m]", err: "m]\n ^ -- unexpected character in metric name"},
	{text: "m n", err: "m n\n  ^ -- unexpected extra characters"},
	{text: "m\té\tn", err: "m\té\tn\n \t^ -- unexpected extra characters"},
	{text: "m[a] n", err: "m[a] n\n     ^ -- unexpected extra characters"},
	{text: "m[a", err: "m[a\n   ^ -- closing ] expected"},
	{text: `m["a`, err: "m[\"a\n    ^ -- closing \" and ] expected"},
	{text: `m[x" "y]`, err: "m[x\" \"y]\n       ^ -- closing \" expected"},
	{text: `é]`, err: "é]\né^ -- unexpected character in metric name"},
}

func TestParseMetricSpec(t *testing.T) {
	for _, tt := range metricSpecs {
		got, err := pmapi.ParseMetricSpec(tt.text, pmapi.SourceHost, "default")
		checkSpec(t, tt.text, tt.want, got, tt.err, err)
	}
	got, err := pmapi.ParseMetricSpec("m", pmapi.SourceArchive, "a")
	checkSpec(t, "m", pmapi.MetricSpec{Kind: pmapi.SourceArchive, Source: "a", Metric: "m"}, got, "", err)
}

func checkSpec(t *testing.T, text string, want, got any, wantErr string, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q (-want +got):\n%s", text, diff)
	}
	gotErr := ""
	if err != nil {
		gotErr = pmapi.CaretText(err)
		if !errors.Is(err, pdu.ErrGeneric) && !errors.Is(err, pdu.Error(-22)) {
			t.Errorf("%q: error %v wraps neither ErrGeneric nor EINVAL", text, err)
		}
	}
	if diff := cmp.Diff(wantErr, gotErr); diff != "" {
		t.Errorf("%q: error (-want +got):\n%s", text, diff)
	}
}

// hostSpecs are specifications with their parts, or with the text of the error.
var hostSpecs = []struct {
	text string
	want hostspec.Spec
	err  string
}{
	{text: ""},
	{text: "pcp://"},
	{text: "?secure", want: hostspec.Spec{Attrs: []hostspec.Attr{{Name: "secure", Value: ""}}}},
	{text: "web1", want: at("web1")},
	{text: "pcp:web1/foo", want: at("web1")},
	{text: "pcp", want: at("pcp")},
	{text: "[pcp]:1", want: at("pcp", 1)},
	{text: "web1:1,02,65535", want: at("web1", 1, 2, 65535)},
	{text: "[::1]", want: at("::1")},
	{text: "[fe80::1%eth0]:44321", want: at("fe80::1%eth0", 44321)},
	{text: "[a b@/?]/x", want: at("a b@/?")},
	{text: "[[]", want: at("[")},
	{text: "web1:1@p@[::2]:3,4", want: hostspec.Spec{
		Host:    hostspec.HostPort{Name: "web1", Ports: []int{1}},
		Proxies: []hostspec.HostPort{{Name: "p"}, {Name: "::2", Ports: []int{3, 4}}},
	}},
	{text: "pcps:web1?secure=relaxed&user=a+b&pass=%41%2b&&nosuch=1&container=c=d&container/x=y", want: hostspec.Spec{
		Protocol: hostspec.PCPS, Host: hostspec.HostPort{Name: "web1"},
		Attrs: []hostspec.Attr{{Name: "secure", Value: "relaxed"}, {Name: "username", Value: "a b"}, {Name: "password", Value: "A+"}, {Name: "container", Value: ""}},
	}},
	{text: "unix:", want: hostspec.Spec{Protocol: hostspec.Unix}},
	{text: "unix:///run/x y@z?container=c", want: hostspec.Spec{
		Protocol: hostspec.Unix, Path: "/run/x y@z", Attrs: []hostspec.Attr{{Name: "container", Value: "c"}},
	}},
	{text: "local:s", want: hostspec.Spec{Protocol: hostspec.Local, Path: "/s"}},
	{text: "web1:", err: "web1:\n     ^ -- missing port"},
	{text: "web1:1,", err: "web1:1,\n       ^ -- missing port"},
	{text: "http://a", err: "http://a\n     ^ -- missing port"},
	{text: "web1:1x", err: "web1:1x\n      ^ -- non-numeric port"},
	{text: "web1::1", err: "web1::1\n     ^ -- non-numeric port"},
	{text: "\té:x", err: "\té:x\n\té ^ -- non-numeric port"},
	{text: "web1:1,65536", err: "web1:1,65536\n       ^ -- port out of range"},
	{text: ":1", err: ":1\n^ -- unexpected terminal character"},
	{text: "pcp://@b", err: "pcp://@b\n      ^ -- unexpected terminal character"},
	{text: "a@", err: "a@\n  ^ -- unexpected terminal character"},
	{text: "[]", err: "[]\n ^ -- unexpected terminal character"},
	{text: "unix:///run/x:1", err: "unix:///run/x:1\n             ^ -- unexpected terminal character"},
	{text: "[a", err: "[a\n  ^ -- missing closing ']' for host spec"},
	{text: "[a]b", err: "[a]b\n   ^ -- extra characters after host spec"},
}

func at(name string, ports ...int) hostspec.Spec {
	return hostspec.Spec{Host: hostspec.HostPort{Name: name, Ports: ports}}
}

func TestParseHost(t *testing.T) {
	for _, tt := range hostSpecs {
		got, err := hostspec.Parse(tt.text)
		checkSpec(t, tt.text, tt.want, got, tt.err, err)
	}
	for _, value := range []string{"%", "%4", "%zz", "a%00b"} {
		spec := "a?container=" + value
		_, err := hostspec.Parse(spec)
		want := "bad host specification: " + strconv.Quote(spec) + ": container=" + value + ": Invalid argument"
		checkSpec(t, spec, nil, nil, want, err)
	}
}

func TestHostSpecAttr(t *testing.T) {
	h, err := hostspec.Parse("a?container=b&container=c&secure")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"container": "c", "secure": "", "realm": "none"} {
		got, ok := h.Attr(name)
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("Attr(%q): got %q, want %q", name, got, want)
		}
	}
}

// drawHost draws a Spec that hostspec.Parse can return.
func drawHost(t *rapid.T) hostspec.Spec {
	names := rapid.OneOf(
		rapid.SampledFrom([]string{"pcp", "pcps", "unix", "local", "web1.example.com", "::1"}),
		rapid.StringMatching(`[^]\[:@/?][^]:@/?]*`),
		rapid.StringMatching(`[^]]+`),
		rapid.StringMatching(`[^\[:@/?][^:@/?]*`),
		rapid.StringMatching(`\[[^]]*`),
	)
	host := func(what string) hostspec.HostPort {
		h := hostspec.HostPort{Name: names.Draw(t, what)}
		for range rapid.IntRange(0, 3).Draw(t, "ports") {
			h.Ports = append(h.Ports, rapid.IntRange(0, 65535).Draw(t, "port"))
		}
		return h
	}
	h := hostspec.Spec{Protocol: hostspec.Protocol(rapid.IntRange(0, 3).Draw(t, "protocol"))}
	switch {
	case h.Protocol >= hostspec.Unix:
		h.Path = rapid.StringMatching(`(/[^/:?][^:?]*)?`).Draw(t, "path")
	case rapid.Bool().Draw(t, "named"):
		h.Host = host("host")
		for range rapid.IntRange(0, 2).Draw(t, "proxies") {
			h.Proxies = append(h.Proxies, host("proxy"))
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "attrs") {
		h.Attrs = append(h.Attrs, hostspec.Attr{
			Name:  rapid.SampledFrom([]string{"compress", "username", "secure", "container", "unixsock", "processid"}).Draw(t, "name"),
			Value: rapid.StringMatching("[^\x00]*").Draw(t, "value"),
		})
	}
	return h
}

func TestHostSpecString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawHost(t)
		got, err := hostspec.Parse(want.String())
		if err != nil {
			t.Fatalf("%+v is %q: %v", want, want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", want, diff)
		}
	})
}

// FuzzSpecs parses a text as a metric and as a host specification. An error comes with a zero value
// and quotes the text; the String of a host specification parses to the same again.
func FuzzSpecs(f *testing.F) {
	for _, s := range metricSpecs {
		f.Add(s.text)
	}
	for _, s := range hostSpecs {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := pmapi.ParseMetricSpec(text, pmapi.SourceHost, "h")
		switch {
		case err != nil && (!cmp.Equal(m, pmapi.MetricSpec{}) || !strings.Contains(err.Error(), strconv.Quote(text))):
			t.Errorf("metric %q: got %+v and error %q", text, m, err)
		case err == nil && (m.Metric == "" || m.Source == ""):
			t.Errorf("metric %q: got %+v", text, m)
		}
		h, err := hostspec.Parse(text)
		if err != nil {
			if !cmp.Equal(h, hostspec.Spec{}) || !strings.HasPrefix(err.Error(), "bad host specification") {
				t.Errorf("host %q: got %+v and error %q", text, h, err)
			}
			return
		}
		again, err := hostspec.Parse(h.String())
		if diff := cmp.Diff(h, again); diff != "" || err != nil {
			t.Errorf("host %q, printed as %q: %v (-want +got):\n%s", text, h, err, diff)
		}
	})
}

// libraryResults returns the C library's results for specifications: the fields that the oracle
// prints for each.
func libraryResults(t *testing.T, subject string, texts []string) []string {
	t.Helper()
	hexTexts := make([]string, len(texts))
	for i, text := range texts {
		hexTexts[i] = hexText(text)
	}
	return pcptest.Oracle(t, subject, hexTexts)
}

func hexText(s string) string {
	if s == "" {
		return "-"
	}
	return hex.EncodeToString([]byte(s))
}

// randomTexts makes texts of the characters of an alphabet.
func randomTexts(r *rand.Rand, n int, alphabet string) []string {
	texts := make([]string, n)
	for i := range texts {
		b := make([]byte, r.IntN(12))
		for j := range b {
			b[j] = alphabet[r.IntN(len(alphabet))]
		}
		texts[i] = string(b)
	}
	return texts
}

// fields are the fields of an oracle's result.
type fields []string

func (f *fields) add(name, value string) { *f = append(*f, " "+name+"="+hexText(value)) }

func (f *fields) number(name string, value int) { *f = append(*f, fmt.Sprintf(" %s=%d", name, value)) }

func TestInteropMetricSpec(t *testing.T) {
	r, n := pcptest.Inputs(t, 30_000)
	texts := slices.Concat(randomTexts(r, n, `aab:/[]", \@`+"\t"), randomTexts(r, n, `a["], \`))
	for _, s := range metricSpecs {
		texts = append(texts, s.text)
	}
	for i, want := range libraryResults(t, "metricspec", texts) {
		var got fields
		if s, err := pmapi.ParseMetricSpec(texts[i], pmapi.SourceHost, "default"); err != nil {
			text := pmapi.CaretText(err)
			if strings.HasSuffix(text, `closing " expected`) {
				text += " (pmParseMetricSpec botch?)"
			}
			got.add("error", text+"\n")
		} else {
			got.number("kind", int(s.Kind))
			got.add("source", s.Source)
			got.add("metric", s.Metric)
			for _, inst := range s.Instances {
				got.add("instance", inst)
			}
		}
		if g := strings.Join(got, ""); g != want {
			t.Errorf("%q: got %q, C has %q", texts[i], g, want)
		}
	}
}

// TestInteropHost leaves out the texts that hostspec.Parse refuses on purpose, and paths of one
// character before a question mark, which the library ignores.
func TestInteropHost(t *testing.T) {
	r, n := pcptest.Inputs(t, 30_000)
	texts := randomTexts(r, n, "aab:::1,@@[]/?=&")
	for i, s := range randomTexts(r, n, "ab:1,@?/=&%4") {
		texts = append(texts, []string{"pcp:", "unix://a", "local:", "a?", "a?user=", "a:1?container=", "pcps:a?secure&pass="}[i%7]+s)
	}
	for _, s := range hostSpecs {
		texts = append(texts, s.text)
	}
	stricter := 0
	for i, want := range libraryResults(t, "hostspec", texts) {
		text := texts[i]
		h, err := hostspec.Parse(text)
		if refusedHere(text, err) || len(h.Path) == 2 && strings.ContainsRune(text, '?') {
			stricter++
			continue
		}
		wanted := strings.Fields(want)
		slices.Sort(wanted)
		got := strings.Fields(strings.Join(hostFields(text, h, err), ""))
		slices.Sort(got)
		if !slices.Equal(wanted, got) {
			t.Errorf("%q: got %q, C has %q", text, got, wanted)
		}
	}
	if stricter > len(texts)/4 {
		t.Errorf("%d of %d texts not compared", stricter, len(texts))
	}
}

// refusedHere reports whether an error is one that the library does not have, according to the
// comment of hostspec.Parse: an empty name in brackets or of a proxy, and a port that is too great.
func refusedHere(text string, err error) bool {
	if err == nil {
		return false
	}
	e, ok := errors.AsType[*hostspec.Error](err)
	if !ok {
		return strings.Contains(text, "%00")
	}
	before := text[:e.Offset]
	return e.Msg == "port out of range" || e.Msg == "unexpected terminal character" &&
		(strings.HasSuffix(before, "[") || strings.HasSuffix(before, "@"))
}

// hostFields is what the oracle prints: the protocol as an attribute, and a path as a host.
func hostFields(text string, h hostspec.Spec, err error) fields {
	var f fields
	if err != nil {
		msg := "Invalid argument"
		if _, ok := errors.AsType[*hostspec.Error](err); ok {
			msg = pmapi.CaretText(err) + "\n"
		}
		f.add("error", msg)
		return f
	}
	switch {
	case h.Protocol == hostspec.Unix:
		f.add("unixsock", "unix")
	case h.Protocol == hostspec.Local:
		f.add("local", "local")
	case h.Protocol == hostspec.PCPS, strings.HasPrefix(text, "pcp:"):
		f.add("protocol", h.Protocol.String())
	}
	all := append([]hostspec.HostPort{h.Host}, h.Proxies...)
	if h.Protocol >= hostspec.Unix {
		all = []hostspec.HostPort{{Name: h.Path}}
		if h.Path == "" {
			all[0].Name = pcptest.Conf("PCP_RUN_DIR") + "/pmcd.socket"
		}
	}
	for _, hp := range all {
		if hp.Name == "" {
			continue
		}
		f.add("host", hp.Name)
		for _, port := range hp.Ports {
			f.number("port", port)
		}
	}
	for _, a := range h.Attrs {
		f.add(a.Name, a.Value)
	}
	return f
}

// A password is in no text that programs print, whether the specification is valid or not.
func TestRedactHost(t *testing.T) {
	for spec, want := range map[string]string{
		"web1":                                   "web1",
		"web1?user=pass":                         "web1?user=pass",
		"web1?user=joe&pass=s3cret":              "web1?user=joe&pass=***",
		"unix:///s?password=s3cret x&user=joe":   "unix:///s?password=***&user=joe",
		"web1:x?pass=s3cret&pass=s3cret":         "web1:x?pass=***&pass=***",
		"web1?pass=s3cret%ZZ":                    "web1?pass=***",
		"web1?pass=a=s3cret/s3cret&container=db": "web1?pass=***&container=db",
		"[web1?pass=s3cret":                      "[web1?pass=***",
		"web1:?pass=s3cret":                      "web1:?pass=***",
		"web1@?pass=s3cret":                      "web1@?pass=***",
	} {
		if got := hostspec.Redact(spec); got != want {
			t.Errorf("RedactHost(%q) = %q, want %q", spec, got, want)
		}
		if _, err := hostspec.Parse(spec); err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("ParseHost(%q): %v", spec, err)
		}
		d := pmapi.Dialer{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }}
		if _, err := d.Dial(t.Context(), spec); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Dial(%q): %v", spec, err)
		}
	}
}
