package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// texts returns both texts of a metric or an instance domain, or their errors.
func texts(a *pmda.Agent, of pdu.TextTarget) string {
	r := &pmda.Request{Client: pmda.NewClient(0, 0)}
	line, err1 := a.Text(context.Background(), r, of, pdu.TextOneLine)
	help, err2 := a.Text(context.Background(), r, of, pdu.TextHelp)
	if err := errors.Join(err1, err2); err != nil {
		return err1.Error()
	}
	return line + "|" + help
}

func TestUseHelpSource(t *testing.T) {
	a := clockAgent()
	var log pcptest.LogBuffer
	a.Logger = log.Logger(slog.LevelInfo)
	files := fstest.MapFS{"texts/help": {Data: []byte(`# texts
@ CLOCK.0 of the file
help
@ clock.angle from the file
@ clock.later registered later
later
@ clock.nosuch x
@ clock.dynamic.name x
@ 9.1.2 of another agent
`)}}
	if err := a.UseHelp(files, "texts/help"); err != nil {
		t.Fatal(err)
	}
	later := func() error {
		return pmda.Register(a, pmda.Metric[int32]{Name: "clock.later", Text: "its own", ID: pmda.Item(3, 4), Value: always[int32](1)})
	}
	register(t, a, pmda.Metric[int32]{Name: "clock.plain", Text: "own line", Help: "own help", ID: pmda.Item(3, 5), Value: always[int32](1)})
	if err := a.AddDynamic("clock.dynamic"); err != nil {
		t.Fatal(err)
	}
	for _, domain := range []pdu.Domain{251, 300} { // as option -d sets it
		a.Domain = domain
		angle, err := a.Namespace().Lookup("clock.angle")
		if err != nil {
			t.Fatal(err)
		}
		for of, want := range map[pdu.TextTarget]string{
			pdu.TextOfInDom(pdu.MakeInDom(domain, 0)):     "of the file|help",
			pdu.TextOfMetric(angle):                       "from the file|",
			pdu.TextOfMetric(pdu.MakePMID(domain, 3, 5)):  "own line|own help",
			pdu.TextOfMetric(pdu.MakePMID(domain, 3, 4)):  map[pdu.Domain]string{251: pdu.ErrText.Error(), 300: "registered later|later"}[domain],
			pdu.TextOfMetric(pdu.MakePMID(9, 1, 2)):       "of another agent|",
			pdu.TextOfMetric(pdu.MakePMID(domain, 99, 9)): pdu.ErrText.Error(),
		} {
			if got := texts(a, of); got != want {
				t.Errorf("%v: %q, want %q", of, got, want)
			}
		}
		if domain == 251 {
			if err := later(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := `level=WARN msg="help texts left out" agent=clock file=texts/help err="[texts/help:5] clock.later: Unknown metric name, entry abandoned\n` +
		`[texts/help:7] clock.nosuch: Unknown metric name, entry abandoned\n` +
		`[texts/help:8] clock.dynamic.name: a name at or below a dynamic root has its text from its Metric, or a wrapper, entry abandoned"` + "\n"
	want += strings.Replace(want, `[texts/help:5] clock.later: Unknown metric name, entry abandoned\n`, "", 1)
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// compiledClock has the compiled texts of an agent like clock.
func compiledClock(t *testing.T) (dir, pag []byte) {
	t.Helper()
	dir, pag, err := helptext.Compile([]helptext.Entry{
		{Key: "clock.angle", Of: pdu.TextOfMetric(pdu.MakePMID(251, 0, 0)), OneLine: "compiled", Help: "pair"},
		{Key: "251.0", Of: pdu.TextOfInDom(pdu.MakeInDom(251, 0)), Help: "indom"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, pag
}

func TestUseHelpCompiled(t *testing.T) {
	dir, pag := compiledClock(t)
	a := clockAgent()
	files := fstest.MapFS{"help": {Data: []byte("@ clock.angle source\n")}, "help.dir": {Data: dir}, "help.pag": {Data: pag}}
	if err := a.UseHelp(files, "help"); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[pdu.TextTarget]string{
		pdu.TextOfMetric(pdu.MakePMID(251, 0, 0)): "compiled|pair", pdu.TextOfInDom(pdu.MakeInDom(251, 0)): "|indom",
	} {
		if got := texts(a, of); got != want {
			t.Errorf("%v: %q, want %q", of, got, want)
		}
	}
	source := ""
	files2, err := pmda.InstallFilesOf(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files2 {
		if f.Name == "help" {
			source = string(f.Data)
		}
	}
	if want := "@ CLOCK.0 \nindom\n@ clock.angle compiled\npair\n"; source != want {
		t.Errorf("source %q, want %q", source, want)
	}
}

func TestUseHelpErrors(t *testing.T) {
	dir, _ := compiledClock(t)
	for name, want := range map[string]string{
		"nosuch": `pmda: agent clock: read help texts "nosuch": open nosuch: file does not exist`,
		"bad":    `pmda: agent clock: read help texts "bad": Bad format, not version 2 PCP help text`,
		"folder": `pmda: agent clock: read help texts "folder": folder is no regular file`,
	} {
		a := clockAgent()
		err := a.UseHelp(fstest.MapFS{"bad.dir": {Data: dir}, "bad.pag": {}, "folder": {Mode: fs.ModeDir}}, name)
		if err == nil || err.Error() != want || a.Err() != err {
			t.Errorf("%s: error %v, Err %v, want %s", name, err, a.Err(), want)
		}
		if _, malformed := errors.AsType[*helptext.FormatError](err); malformed == (name == "nosuch") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestRunCompiledHelp: a Daemon serves the pair of files that -h or HelpPath names, without
// a source beside it; one that is malformed is logged.
func TestRunCompiledHelp(t *testing.T) {
	dir, pag := compiledClock(t)
	path := filepath.Join(t.TempDir(), "help")
	for suffix, b := range map[string][]byte{".dir": dir, ".pag": pag} {
		if err := os.WriteFile(path+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []*pmda.Daemon{{Agent: clockAgent(), HelpOption: true}, {Agent: clockAgent(), HelpPath: path}} {
		in, toAgent := io.Pipe()
		fromAgent, out := io.Pipe()
		var args []string
		if d.HelpOption {
			args = []string{"-h", path}
		}
		r := run(t, d, in, out, args...)
		p := hello(t, pipes{fromAgent, toAgent})
		id := uint32(pdu.MakePMID(251, 0, 0))
		want := encoded(t, pdu.TextReply{Ident: id, Text: "compiled"})
		if diff := cmp.Diff(want, encoded(t, p.request(0, pdu.TextReq{Ident: id, Text: pdu.TextPMID | pdu.TextOneLine}))); diff != "" {
			t.Errorf("text (-want +got):\n%s", diff)
		}
		toAgent.Close()
		r.end(0)
	}
	if err := os.WriteFile(path+".pag", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, &pmda.Daemon{Agent: clockAgent(), HelpPath: path}, bytes.NewReader(nil), io.Discard)
	r.end(0)
	if log := r.stderr.Take(); !strings.Contains(log, `Unable to open help text file(s) from "`+path+`": Invalid argument err="Bad format, not version 2 PCP help text"`) {
		t.Errorf("log %q", log)
	}
}
