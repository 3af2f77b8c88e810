package record_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logger/record"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// everySecond is a configuration for the metrics of dial.
const everySecond = "log mandatory on every 1 sec { test.load }\n"

var errUnreachable = errors.New("no route to host")

// dial returns a context on a host with one metric. One host does not exist.
func dial(_ context.Context, host string) (*pmapi.Context, error) {
	if host == "none" {
		return nil, errUnreachable
	}
	src := &pmapitest.Source{Host: host}
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "test.load"}).Set(0.5)
	return src.Context(), nil
}

// create makes a session in a new directory, with hosts that record everySecond.
func create(t *testing.T, o record.Options, hosts ...record.Host) (*record.Session, []*record.Logger) {
	t.Helper()
	if o.Dial == nil {
		o.Dial = dial
	}
	o.Creator = "tool"
	s, err := record.Create(filepath.Join(t.TempDir(), "folio"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, h := range hosts {
		if h.Config == "" {
			h.Config = everySecond
		}
		if _, err := s.Add(h); err != nil {
			t.Fatal(err)
		}
	}
	return s, s.Loggers()
}

func start(t *testing.T, s *record.Session) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// files returns the files beside a logger's archive by name, with the content of text files. The
// base name is replaced by BASE.
func files(t *testing.T, s *record.Session, l *record.Logger) map[string]string {
	t.Helper()
	dir := filepath.Dir(l.Archive())
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		name := strings.ReplaceAll(e.Name(), s.Base(), "BASE")
		all[name] = ""
		switch filepath.Ext(name) {
		case "", ".config":
			all[name] = normalised(t, s, filepath.Join(dir, e.Name()))
		}
	}
	return all
}

var created = regexp.MustCompile(`(?m)^Created: on \S+ at [A-Z][a-z]{2} [A-Z][a-z]{2} [ 123][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}$`)

// normalised returns the text of a file without parts that differ between sessions.
func normalised(t *testing.T, s *record.Session, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return created.ReplaceAllString(strings.ReplaceAll(string(b), s.Base(), "BASE"), "Created: on HOST at DATE")
}

// records returns the number of records with values of test.load in an archive.
func records(t *testing.T, path string) int {
	t.Helper()
	n, err := countRecords(t.Context(), path, "test.load")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// countRecords returns the number of records with values of a metric in an archive.
func countRecords(ctx context.Context, path, metric string) (n int, err error) {
	set, err := archive.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer set.Close()
	id, err := set.Metadata().Names().Lookup(metric)
	if err != nil {
		return 0, err
	}
	values := pdu.NewSelection([]pdu.PMID{id})
	c := set.Cursor()
	for err = c.SeekNext(set.Start()); err == nil; err = c.Next() {
		if found, err := c.Select(values); err == nil && found && values.At(0).Len() > 0 {
			n++
		}
	}
	if err != pdu.ErrEOL {
		return 0, err
	}
	return n, nil
}

const preamble = `PCPFolio
Version: 1
# use pmafm(1) to process this PCP Archive Folio
#
Created: on HOST at DATE
Creator: tool%s
#               Host                    Basename
#
`

// TestSession records three hosts for a few seconds.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ls := create(t, record.Options{Replay: true}, record.Host{Name: "web1"}, record.Host{Name: "web2", Default: true}, record.Host{Name: "web1"})
		if _, err := io.WriteString(s.Replay(), "view load\n"); err != nil {
			t.Fatal(err)
		}
		start(t, s)
		time.Sleep(3500 * time.Millisecond)
		all, err := s.Status()
		if err != nil || len(all) != 3 || all[1].Host != "web2" || all[0].Elapsed != 3500*time.Millisecond || all[0].Size == 0 {
			t.Errorf("status %+v, %v", all, err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"folio": fmt.Sprintf(preamble, " BASE") + `Archive:        web2                    BASE.web2
Archive:        web1                    BASEa.web1
Archive:        web1                    BASE.web1
`,
			"BASE": "view load\n",
		}
		for _, base := range []string{"BASE.web1", "BASEa.web1", "BASE.web2"} {
			for _, suffix := range []string{".0", ".index", ".meta", ".log"} {
				want[base+suffix] = ""
			}
			want[base+".config"] = everySecond
		}
		if diff := cmp.Diff(want, files(t, s, ls[0])); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		for _, l := range ls {
			if n := records(t, l.Archive()); n != 4 {
				t.Errorf("%s: %d records of values", l.Archive(), n)
			}
			log, err := os.ReadFile(l.LogFile())
			if err != nil || !strings.Contains(string(log), "host="+l.Host()) || !strings.Contains(string(log), "recording ended") {
				t.Errorf("log of %s: %q, %v", l.Host(), log, err)
			}
			if l.Err() != nil || l.PID() != os.Getpid() {
				t.Errorf("%s ended with %v, process %d", l.Host(), l.Err(), l.PID())
			}
		}
	})
}

// TestOrder makes calls in the wrong order.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := create(t, record.Options{})
		check := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		status := func() error { _, err := s.Status(); return err }
		add := func(h record.Host) error { _, err := s.Add(h); return err }
		check("Start without hosts", s.Start(t.Context()), record.ErrNoHosts)
		check("Status", status(), record.ErrNotStarted)
		check("Add", add(record.Host{Name: "web1", Default: true, Config: everySecond}), nil)
		check("second default", add(record.Host{Name: "web2", Default: true}), record.ErrDefault)
		check("Add", add(record.Host{Name: "web2", Config: everySecond}), nil)
		l := s.Loggers()[1]
		check("Stop before Start", s.Stop(t.Context()), record.ErrNotStarted)
		check("Stop of one before Start", l.Stop(t.Context()), record.ErrNotStarted)
		check("Detach before Start", s.Detach(), record.ErrNotStarted)
		if l.PID() != 0 || l.Err() != nil {
			t.Errorf("before Start: process %d, %v", l.PID(), l.Err())
		}
		start(t, s)
		synctest.Wait()
		check("Start again", s.Start(t.Context()), record.ErrStarted)
		check("Add after Start", add(record.Host{Name: "web3"}), record.ErrStarted)
		check("Stop of one", l.Stop(t.Context()), nil)
		check("Stop again", l.Stop(t.Context()), record.ErrNotRunning)
		_, err := l.Status()
		check("Status after Stop", err, record.ErrNotRunning)
		check("Detach after Stop", l.Detach(), record.ErrNotRunning)
		check("Status of the other", status(), nil)
		check("Stop", s.Stop(t.Context()), nil)
		check("Stop again", s.Stop(t.Context()), record.ErrNotRunning)
		check("Status after Stop", status(), record.ErrNotRunning)
		check("Detach after Stop", s.Detach(), record.ErrNotRunning)
		check("Close", s.Close(), nil)
		check("Close again", s.Close(), nil)
	})
}

// TestBadArguments checks that invalid arguments leave no files behind.
func TestBadArguments(t *testing.T) {
	dir := t.TempDir()
	folio := filepath.Join(dir, "folio")
	s, err := record.Create(folio, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.Create(folio, record.Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("another folio of that name: %v", err)
	}
	if _, err := record.Create(filepath.Join(dir, "none", "folio"), record.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folio in no directory: %v", err)
	}
	for _, o := range []record.Options{{Creator: "two words"}, {Creator: "two\nlines"}} {
		if _, err := record.Create(filepath.Join(dir, "other"), o); err == nil {
			t.Errorf("creator %q", o.Creator)
		}
	}
	if _, err := record.Create(filepath.Join(dir, "two\nlines"), record.Options{}); err == nil {
		t.Error("folio with two lines")
	}
	for _, host := range []string{"", "two words", "two\nlines", "\x00"} {
		if _, err := s.Add(record.Host{Name: host}); err == nil {
			t.Errorf("host %q", host)
		}
	}
	var bad *logconf.SyntaxError
	if _, err := s.Add(record.Host{Name: "web1", Config: "log often"}); !errors.As(err, &bad) {
		t.Errorf("bad configuration: %v", err)
	}
	for i := range 28 {
		l, err := s.Add(record.Host{Name: "unix:///run/pmcd.socket", Config: everySecond})
		if i == 27 {
			if !errors.Is(err, fs.ErrExist) {
				t.Errorf("one logger of a host more than there are letters: %v", err)
			}
			break
		}
		letter := ""
		if i > 0 {
			letter = string(rune('a' + i - 1))
		}
		if want := filepath.Join(dir, s.Base()+letter+".unix:___run_pmcd.socket"); err != nil || l.Archive() != want {
			t.Fatalf("%d: %v, want %s", i, err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Add(record.Host{Name: "web1"}); !errors.Is(err, record.ErrStarted) {
		t.Errorf("Add after Close: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestUnreachable records an unreachable host together with a reachable one.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ls := create(t, record.Options{}, record.Host{Name: "none"}, record.Host{Name: "web1"})
		start(t, s)
		<-ls[0].Done()
		if !errors.Is(ls[0].Err(), errUnreachable) {
			t.Errorf("ended with %v", ls[0].Err())
		}
		time.Sleep(time.Second)
		check := func(err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "logger of none has ended") || !errors.Is(err, pdu.ErrIPC) || !errors.Is(err, errUnreachable) {
				t.Errorf("error %v", err)
			}
		}
		for range 2 {
			_, err := ls[0].Status()
			check(err)
		}
		all, err := s.Status()
		check(err)
		if len(all) != 1 || all[0].Host != "web1" {
			t.Errorf("status of others: %v", all)
		}
		check(s.Stop(t.Context()))
		if err := ls[0].Stop(t.Context()); !errors.Is(err, record.ErrNotRunning) {
			t.Errorf("Stop again: %v", err)
		}
		<-ls[1].Done()
		if records(t, ls[1].Archive()) == 0 {
			t.Error("nothing of the host that is there")
		}
	})
}

// TestDetach checks that the end of a session does not stop a detached logger.
func TestDetach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, ls := create(t, record.Options{}, record.Host{Name: "web1"}, record.Host{Name: "web2"})
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := ls[0].Detach(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n := records(t, ls[1].Archive()); n > 2 {
			t.Errorf("the other has %d records", n)
		}
		time.Sleep(5 * time.Second)
		select {
		case <-ls[0].Done():
			t.Fatalf("the detached logger has ended: %v", ls[0].Err())
		default:
		}
		cancel()
		<-ls[0].Done()
		if n := records(t, ls[0].Archive()); n < 6 || ls[0].Err() != nil {
			t.Errorf("the detached logger has %d records, %v", n, ls[0].Err())
		}
	})
}

// TestContext checks loggers that end with the context of Start, and at a limit of the options.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		events := make(chan logger.Event, 100)
		o := record.Options{Logger: logger.Options{EndRecords: 3}, Report: func(host string, e logger.Event) {
			if host == "web1" {
				events <- e
			}
		}}
		s, ls := create(t, o, record.Host{Name: "web1"}, record.Host{Name: "web2", Config: "log mandatory on every 1 hour { test.load }"})
		if err := s.Start(ctx); err != nil {
			t.Fatal(err)
		}
		<-ls[0].Done()
		if n := records(t, ls[0].Archive()); n != 3 || ls[0].Err() != nil {
			t.Errorf("%d records, %v", n, ls[0].Err())
		}
		_, err := ls[0].Status()
		if !errors.Is(err, pdu.ErrIPC) || err.Error() != "record: the logger of web1 has ended" {
			t.Errorf("status at an end of the options: %v", err)
		}
		cancel()
		<-ls[1].Done()
		if ls[1].Err() != nil {
			t.Errorf("ended with %v", ls[1].Err())
		}
		var last logger.Event
		for len(events) > 0 {
			last = <-events
		}
		if (last != logger.Ended{Reason: logger.EndRecords}) {
			t.Errorf("the last event is %v", last)
		}
		if err := ls[1].Stop(context.Background()); !errors.Is(err, record.ErrNotRunning) {
			t.Errorf("Stop after the context: %v", err)
		}
	})
}

// TestCloseWaits checks that Close waits for a slow logger that Stop did not wait for.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, loggers := create(t, record.Options{Report: func(_ string, e logger.Event) {
			if _, ok := e.(logger.Ended); ok {
				time.Sleep(time.Second)
			}
		}}, record.Host{Name: "web1"})
		start(t, s)
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := loggers[0].Stop(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		select {
		case <-loggers[0].Done():
		default:
			t.Error("Close has left a logger")
		}
	})
}
