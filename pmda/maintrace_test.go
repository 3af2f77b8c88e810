package pmda_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// traced is what an agent logs with debug options while a collector speaks with it, without what
// differs from run to run.
func traced(t *testing.T, options string) string {
	t.Helper()
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	a := clockAgent()
	a.ClientAttributes = true
	r := run(t, &pmda.Daemon{Agent: a}, in, out, "-D", options)
	p := hello(t, pipes{fromAgent, toAgent})
	p.send(7, pdu.Attr{Key: pdu.AttrUsername, Value: []byte("me\x00")})
	p.request(7, pdu.DescReq{PMID: pdu.MakePMID(251, 0, 0)})
	for _, of := range []pdu.LabelTarget{pdu.LabelsOfContext(), pdu.LabelsOfDomain(251), pdu.LabelsOfCluster(pdu.MakePMID(251, 1, 0)),
		pdu.LabelsOfItem(pdu.MakePMID(251, 0, 0)), pdu.LabelsOfInDom(pdu.MakeInDom(251, 0)), pdu.LabelsOfInstances(pdu.MakeInDom(251, 0))} {
		p.request(7, of.Request())
	}
	p.send(7, pdu.Status{Code: pdu.ErrNotConn})
	toAgent.Close()
	r.end(0)
	return plainLog(processID.ReplaceAllString(r.stderr.Take(), "[PID]$1"))
}

var processID = regexp.MustCompile(`(?m)^\[\d+\](pm)`)

// TestTrace has what each debug option logs, and that the others log nothing.
func TestTrace(t *testing.T) {
	libpmda := line("Info", "name        = clock") + line("Info", "domain      = 251") + line("Info", "num metrics = 1") +
		line("Info", "num indom   = 1") + line("Debug", "pmdaConnect: PMDA clock: opened pipe to pmcd, infd = 0, outfd = 1") +
		line("Debug", "Received PDU_ATTR") + line("Debug", "Received PDU_DESC_REQ") + strings.Repeat(line("Debug", "Received PDU_LABEL_REQ"), 6)
	attribute := line("Info", "Attribute: ctx=7 username=me")
	for options, want := range map[string]string{
		"0":       "",
		"fetch":   "",
		"libpmda": libpmda,
		"32768":   libpmda,
		"attr":    attribute,
		"auth":    attribute,
		"context": line("Debug", "Received PDU_ERROR (end context 7)"),
		"labels": `pmdaLabel: context 7 labels request
pmdaLabel: domain 251 labels request
pmdaLabel: cluster 251.1 labels request
pmdaLabel: item 251.0.0 labels request
pmdaLabel: InDom 251.0 labels request
pmdaLabel: InDom 251.0 instance labels request
`,
	} {
		if diff := cmp.Diff(want, traced(t, options)); diff != "" {
			t.Errorf("-D %s (-want +got):\n%s", options, diff)
		}
	}
	all := traced(t, "pdu,libpmda")
	for _, want := range []string{"[PID]pmXmitPDU: CREDS fd=1 len=20\n000:       14     700c ", "[PID]pmGetPDU: DESC_REQ fd=0 len=16 from=7\n000: ",
		"Debug: Received PDU_DESC_REQ\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("-D pdu,libpmda: no %q in\n%s", want, all)
		}
	}
}

// TestTraceBesides: a program's own option -D gets the options too.
func TestTraceBesides(t *testing.T) {
	got := ""
	d := pmda.Daemon{Agent: clockAgent(), Options: []pmda.Option{{Short: 'D', Long: "debug", Arg: "SPEC", Help: "set debug options",
		Set: func(v string) error { got = v; return nil }}}}
	r := run(t, &d, strings.NewReader(""), io.Discard, "-D", "libpmda")
	r.end(0)
	if log := r.stderr.Take(); got != "libpmda" || !strings.Contains(log, "Info: name        = clock\n") {
		t.Errorf("it gets %q; log:\n%s", got, log)
	}
}

// traceScript has dbpmda ask an agent for all sorts of things.
const traceScript = `open pipe ./pmdasimple -d 253 -l LOG -D OPTION
getdesc off
fetch simple.numfetch simple.color
fetch 253.9.9
profile 253.0 none
profile 253.0 add 1
fetch simple.color
desc simple.color
desc 253.9.9
instance 253.0
instance 253.0 1
instance 253.0 "red"
instance 253.9
store simple.numfetch "42"
name 253.0.0
pmid simple.numfetch
label context
label cluster 253.1
label item 253.0.1
label indom 253.0
label instances 253.0
attr "username" "me"
attr "userid" "17"
desc simple.color
quit
`

// finishedLog is the log of an agent that is about to end: dbpmda does not wait for it.
func finishedLog(t *testing.T, path string) string {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(path)
		switch {
		case err != nil:
			t.Fatal(err)
		case bytes.Contains(b, []byte("\nLog finished ")):
			return string(b)
		case time.Since(begin) > 30*time.Second:
			t.Fatalf("the log has no end:\n%s", b)
		}
	}
}

// TestInteropTrace compares the lines of PCP's simple with those of ours.
func TestInteropTrace(t *testing.T) {
	pcptest.Need(t, "dbpmda")
	log := func(program, option string, lines *regexp.Regexp) string {
		dir, env := pcptest.AgentDir(t, "simple", program)
		path := filepath.Join(dir, "log")
		pcptest.DBPMDA(t, pcptest.Session{Dir: dir, Env: env, Script: strings.NewReplacer("LOG", path, "OPTION", option).Replace(traceScript)})
		s := processID.ReplaceAllString(finishedLog(t, path), "[PID]$1")
		s = regexp.MustCompile(`(?m)^\[.*\] pmdasimple\(\d+\)`).ReplaceAllString(s, "[DATE]")
		s = regexp.MustCompile(`(?m)^(000: +14 +700c) +[0-9a-f]+`).ReplaceAllString(s, "$1 PID") // of a version exchange
		s = regexp.MustCompile(`(pmGetPDU: CREDS .* from=)\d+`).ReplaceAllString(s, "${1}PID")
		s = regexp.MustCompile(` \d+ instance labels`).ReplaceAllString(s, " instance labels")
		return strings.Join(lines.FindAllString(s, -1), "\n")
	}
	ours := pcptest.Build(t, "./examples/simple")
	for option, lines := range map[string]string{
		"pdu":     `(?m)^(\[PID\]|\d\d\d: ).*$`,
		"libpmda": `(?m)^\[DATE\] (Debug: Received|Info: (name|domain|num)).*$`,
		"attr":    `(?m)^\[DATE\] Info: Attribute.*$`,
		"auth":    `(?m)^\[DATE\].*$`,
		"context": `(?m)^\[DATE\] Debug: Received.*$`,
		"labels":  `(?m)^pmdaLabel.*$`,
	} {
		re := regexp.MustCompile(lines)
		want, got := log("", option, re), log(ours, option, re)
		if option != "context" && want == "" {
			t.Errorf("-D %s: PCP's agent logs nothing", option)
		}
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("-D %s (-C +Go):\n%s", option, diff)
		}
	}
}
