package logconf

import (
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var (
	seed  = flag.Uint64("seed", rand.Uint64(), "of the random configurations")
	count = flag.Int("configurations", 200, "how many random configurations are compared with pmlogger's")
)

func parse(text string) (*Config, error) {
	return Options{Default: time.Minute}.Parse("f", strings.NewReader(text))
}

func TestParse(t *testing.T) {
	got, err := parse(`# everything
%define short "500 msec"
log mandatory on once { hinv.ncpu, log }
mandatory on %short { kernel.all.load [ "1 minute" 5, fifteen ] kernel.all.pswitch }
log advisory on default mem.util
on every 2 hours disk.dev
log mandatory maybe a.b.c off {
 proc }
[access]
disallow .* : all;
allow localhost, 1.2.*,fe80:* : enquire, advisory;
allow unix:/a*:all except mandatory;
`)
	at := func(line int) Place { return Place{"f", line} }
	want := &Config{
		Requests: []Request{
			{Control: Mandatory, State: On, Metrics: []Metric{{"hinv.ncpu", nil, at(3)}, {"log", nil, at(3)}}},
			{Control: Mandatory, State: On, Interval: 500 * time.Millisecond,
				Metrics: []Metric{{"kernel.all.load", []Instance{{Name: "1 minute"}, {ID: 5}, {Name: "fifteen"}}, at(4)}, {"kernel.all.pswitch", nil, at(4)}}},
			{State: On, Interval: time.Minute, Metrics: []Metric{{"mem.util", nil, at(6)}}},
			{State: On, Interval: 2 * time.Hour, Metrics: []Metric{{"disk.dev", nil, at(7)}}},
			{Control: Mandatory, State: Maybe, Metrics: []Metric{{"a.b.c", nil, at(7)}}},
			{State: Off, Metrics: []Metric{{"proc", nil, at(8)}}},
		},
		Rules: []Rule{
			{false, []string{".*"}, OpAll, at(10)},
			{true, []string{"localhost", "1.2.*", "fe80:*"}, OpEnquire | OpAdvisory, at(11)},
			{true, []string{"unix:/a*"}, OpAll &^ OpMandatory, at(12)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestDefault checks that the interval of "default" is that of the options, in whole milliseconds
// and within limits.
func TestDefault(t *testing.T) {
	for _, tt := range []struct {
		every time.Duration
		want  time.Duration
		err   string
	}{
		{0, 0, ""},
		{1600 * time.Microsecond, time.Millisecond, ""},
		{MaxInterval, MaxInterval, ""},
		{-time.Second, 0, "f:2: Logging delta (-1000 msec) must be positive"},
		{MaxInterval + time.Millisecond, 0, "f:2: Logging delta (268435456 msec) cannot be bigger than 268435455 msec"},
	} {
		c, err := Options{Default: tt.every}.Parse("f", strings.NewReader("log on\ndefault\n\na"))
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%v: error %v, want %s", tt.every, err, tt.err)
			}
			continue
		}
		if err != nil || len(c.Requests) != 1 || c.Requests[0].Interval != tt.want || c.Requests[0].State != On {
			t.Errorf("%v: %+v, %v", tt.every, c, err)
		}
	}
}

// TestErrors has invalid configurations, with the errors and lines of pmlogger.
func TestErrors(t *testing.T) {
	tests := map[string]string{
		"log advisory\n":                                    "f:2: syntax error",
		"log advisory on 5 foo { a }":                       "f:1: syntax error",
		"log advisory maybe a\n":                            "f:1: syntax error",
		"on 268435456 msec a":                               "f:1: Logging delta (268435456 msec) cannot be bigger than 268435455 msec",
		"on 99999999999999999999 hour a":                    "f:1: Logging delta (18446744073709551615 msec) cannot be bigger than 268435455 msec",
		"log on once { a $ }":                               "f:1: Unexpected character '$'",
		"log on once { a [ \"\" ] }":                        "f:1: Unexpected character '\"'",
		"log on once { a [ 4294967296 ] }":                  "f:1: Instance number 4294967296 is too great",
		"log on every 2 seconds { a\n\n\n":                  "f:4: syntax error",
		"# 12 \"foo\"\nlog on every a\n":                    "foo:12: syntax error",
		"log on once { a }\n[access]\nallow foo: bar;\n":    "f:3: syntax error",
		"log on once { a }\n%include \"nosuch\"\n":          "f:2: Cannot open file for %include",
		"[access]\n":                                        "f:2: syntax error",
		"[access]\nallow localhost : all\nallow * : all;\n": "f:3: syntax error",
		"log on once { }":                                   "f:1: syntax error",
		"log on once { a,,b }":                              "f:1: syntax error",
		"log on once a [access]":                            "f:1: syntax error",
		"log on once every":                                 "f:1: syntax error",
	}
	for text, want := range tests {
		_, err := parse(text)
		if wrong := (*SyntaxError)(nil); !errors.As(err, &wrong) || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestBeforeError checks that Parse returns the requests before an error.
func TestBeforeError(t *testing.T) {
	c, err := parse("log on once { a }\nlog off { b c } }")
	if err == nil || len(c.Requests) != 2 || len(c.Requests[1].Metrics) != 2 {
		t.Error(c, err)
	}
}

// TestInteropSyntax compares random configurations with pmlogger -C: both must accept the same
// ones, and report the same error in the same line.
func TestInteropSyntax(t *testing.T) {
	pcptest.Need(t, "pmlogger")
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	t.Chdir(t.TempDir())
	refused := 0
	for i := range *count {
		text := randomConfig(random)
		if err := os.WriteFile("f", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, stderr, status := pcptest.Run(t, nil, "", "pmlogger", "-C", "-o", "-c", "f")
		stderr = stderr[max(0, len(stderr)-300):]
		if strings.Contains(stderr, "Unknown host") {
			continue // a matter of what the names stand for
		}
		_, err := parse(text)
		if (err != nil) != (status != 0) {
			t.Fatalf("%d: pmlogger says %q, we %v of\n%s", i, stderr, err, text)
		}
		if err == nil {
			continue
		}
		refused++
		var wrong *SyntaxError
		if !errors.As(err, &wrong) {
			t.Fatal(err)
		}
		want := "Specification error in configuration file (" + wrong.File + ")\n[line " + strconv.Itoa(wrong.Line) + "] " + wrong.Msg + "\n"
		if !strings.HasSuffix(stderr, want) {
			t.Fatalf("%d: pmlogger says %q, we %q of\n%s", i, stderr, want, text)
		}
	}
	t.Logf("%d of %d are wrong", refused, *count)
}

// randomConfig is a configuration that is right more often than not.
func randomConfig(random *rand.Rand) string {
	var b strings.Builder
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	put := func(words ...string) {
		for _, w := range words {
			if random.IntN(60) == 0 {
				w = pick("log", "on", "{", "}", "[", "]", ",", "12", "\"a\"", "foo", "every", "$", "a-b", "1.2.*", "allow", ";", "", "access", "once", "::1", "sec", "-", "*", ":")
			}
			b.WriteString(w + pick(" ", " ", "\n", " # x\n"))
		}
	}
	metric := func() {
		put(pick("no.such", "none", "not.at.all", "nor_this")) // pmlogger crashes of some that there are
		if random.IntN(4) == 0 {
			put("[", pick("1", "5", "\"1 minute\"", "sda"))
			for range random.IntN(3) {
				put(pick(",", ""), pick("1", "5", "\"1 minute\"", "sda"))
			}
			put("]")
		}
	}
	for range random.IntN(4) {
		put(pick("log", ""), pick("mandatory", "advisory", ""), pick("on", "on", "off", "on"))
		if strings.Contains(lastWord(b.String()), "on") {
			put(pick("once", "default", "every 2 sec", "5 minutes", "500 msec", "every 1 hour"))
		}
		if random.IntN(3) == 0 {
			metric()
			continue
		}
		put("{")
		for range 1 + random.IntN(3) {
			metric()
			put(pick("", "", ","))
		}
		metric()
		put("}")
	}
	if random.IntN(3) == 0 {
		put("[", "access", "]")
		// A second rule might contradict the first.
		put(pick("allow", "disallow"), pick("localhost", "1.2.3.*", ".*", ":*", "*", "127.0.0.1"), pick("", ", ::1", ", fe80:*"), ":", pick("all", "enquire", "all except enquire", "advisory, mandatory"), ";")
	}
	b.WriteByte('\n') // pmcpp drops a line without
	return b.String()
}

var lastWords = regexp.MustCompile(`\w+\s*(# x\s*)?$`)

func lastWord(s string) string { return lastWords.FindString(s) }

// FuzzParse parses anything.
func FuzzParse(f *testing.F) {
	f.Add("log mandatory on once { hinv.ncpu [ \"a\" 1 ] }\n[access]\nallow ::1 : all except enquire;\n")
	f.Add("%define a b\n%ifdef a\non %a { %{a} }\n%endif\n%include \"x\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		o := Options{Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("on once { x }\n")), nil }}
		c, err := o.Parse("f", strings.NewReader(text))
		if c == nil {
			t.Error("no configuration", err)
		}
		for _, r := range c.Requests {
			if len(r.Metrics) == 0 || r.Interval < 0 || r.Interval > MaxInterval || r.State == Maybe && r.Control != Mandatory {
				t.Errorf("%+v", r)
			}
		}
	})
}
