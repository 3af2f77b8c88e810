package record_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logger/record"
	"github.com/pcp-go/pcp/internal/recordpipe"
	"github.com/pcp-go/pcp/pdu"
)

// asLogger in the environment makes the test program a logger.
const asLogger = "RECORD_TEST_LOGGER"

// runLogger records the metric of dial, like pmlogger. It logs its arguments and commands. The
// argument -fail makes it exit at once.
func runLogger(args []string) int {
	option := map[string]string{}
	for i := len(args) - 1; i > 0; i-- {
		option[args[i-1]] = args[i]
	}
	if _, fails := option["-fail"]; fails {
		return 3
	}
	var log strings.Builder
	say := func(format string, a ...any) {
		fmt.Fprintf(&log, format+"\n", a...)
		if err := os.WriteFile(option["-l"]+".new", []byte(log.String()), 0o644); err == nil {
			os.Rename(option["-l"]+".new", option["-l"])
		}
	}
	say("%q", args)
	config, err := os.ReadFile(option["-c"])
	if err != nil {
		return 4
	}
	fd, err := strconv.Atoi(option["-x"])
	if err != nil {
		return 6
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go control(recordpipe.Read(os.NewFile(uintptr(fd), "control")), stop, say)
	src, err := dial(ctx, option["-h"])
	if err != nil {
		return 7
	}
	if err := logger.Run(ctx, src, logger.Options{Config: string(config), Base: args[len(args)-1]}); err != nil {
		return 8
	}
	return 0
}

// control executes the commands of the launcher.
func control(c *recordpipe.Control, stop func(), say func(string, ...any)) {
	for {
		command, err := c.Next()
		switch {
		case err != nil:
			say("%v", err)
			stop()
			return
		case command == recordpipe.Status:
			say("status of %s of %s, replay %v", c.Folio, c.Creator, c.Replay)
		case command == recordpipe.Detach:
			say("detached")
			return
		case command == recordpipe.Stop:
			say("stopped")
			stop()
			return
		}
	}
}

// asLauncher in the environment makes the test program a launcher.
const asLauncher = "RECORD_TEST_LAUNCHER"

// runLauncher records a host until it is killed. Its arguments are the folio, the program, the host
// and the configuration.
func runLauncher(args []string) int {
	s, err := record.Create(args[0], record.Options{Program: args[1]})
	if err == nil {
		_, err = s.Add(record.Host{Name: args[2], Config: args[3]})
	}
	if err == nil {
		err = s.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.Loggers()[0].Archive())
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// createProgram is like create, with this program as the logger.
func createProgram(t *testing.T, o record.Options, hosts ...record.Host) (*record.Session, []*record.Logger) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("programs do not inherit pipes here")
	}
	t.Setenv(asLogger, "1")
	o.Program = os.Args[0]
	return create(t, o, hosts...)
}

// until waits until check returns "".
func until(t *testing.T, check func() (wrong string)) {
	t.Helper()
	wrong := check()
	for end := time.Now().Add(time.Minute); wrong != "" && time.Now().Before(end); wrong = check() {
		time.Sleep(10 * time.Millisecond)
	}
	if wrong != "" {
		t.Fatal(wrong)
	}
}

// await waits until the log of a logger contains line.
func await(t *testing.T, l *record.Logger, line string) {
	t.Helper()
	until(t, func() string {
		if log, _ := os.ReadFile(l.LogFile()); !strings.Contains(string(log), line+"\n") {
			return fmt.Sprintf("%q is not in the log:\n%s", line, log)
		}
		return ""
	})
}

// awaitArchive waits until a logger has recorded a value of test.load.
func awaitArchive(t *testing.T, l *record.Logger) {
	t.Helper()
	awaitValues(t, l, "test.load", 1)
}

// awaitValues waits until a logger has recorded a number of values of a metric.
func awaitValues(t *testing.T, l *record.Logger, metric string, values int) {
	t.Helper()
	until(t, func() string {
		select {
		case <-l.Done():
			t.Fatalf("the logger of %s has ended: %v", l.Host(), l.Err())
		default:
		}
		if n, err := countRecords(t.Context(), l.Archive(), metric); n < values {
			return fmt.Sprintf("%d values of %s in %s, %v", n, metric, l.Archive(), err)
		}
		return ""
	})
}

// TestProgram records two hosts with programs.
func TestProgram(t *testing.T) {
	s, ls := createProgram(t, record.Options{Replay: true, Args: []string{"-V3", "-v"}},
		record.Host{Name: "web1", Args: []string{"10MB"}}, record.Host{Name: "web1", Args: []string{"100"}, Default: true})
	start(t, s)
	for _, l := range ls {
		awaitArchive(t, l)
	}
	all, err := s.Status()
	if err != nil || len(all) != 2 || all[0].Size == 0 {
		t.Errorf("status %+v, %v", all, err)
	}
	folio := filepath.Join(filepath.Dir(ls[0].Archive()), "folio")
	await(t, ls[0], "status of "+folio+" of tool, replay true")
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`["-V3" "-v" "10MB" "-x" "3" "-h" "web1" "-l" "BASE.web1.log" "-c" "BASE.web1.config" "BASE.web1"]`,
		`["-V3" "-v" "100" "-x" "3" "-h" "web1" "-l" "BASEa.web1.log" "-c" "BASEa.web1.config" "BASEa.web1"]`,
	} {
		want += "\nstatus of " + folio + " of tool, replay true\nstopped\n"
		if diff := cmp.Diff(want, normalised(t, s, ls[i].LogFile())); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if n := records(t, ls[i].Archive()); n == 0 || ls[i].Err() != nil || ls[i].PID() == os.Getpid() {
			t.Errorf("%d records, %v", n, ls[i].Err())
		}
	}
	want := fmt.Sprintf(preamble, " BASE") + "Archive:        web1                    BASEa.web1\nArchive:        web1                    BASE.web1\n"
	if diff := cmp.Diff(want, normalised(t, s, folio)); diff != "" {
		t.Errorf("folio (-want +got):\n%s", diff)
	}
}

// TestProgramEnds checks a program that fails, one that is killed, and one that stops because the
// context of the session ends.
func TestProgramEnds(t *testing.T) {
	s, ls := createProgram(t, record.Options{}, record.Host{Name: "web1", Args: []string{"-fail"}}, record.Host{Name: "web2"}, record.Host{Name: "web3"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(ls[0].Archive()), s.Base())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the control file is left: %v", err)
	}
	awaitArchive(t, ls[1])
	awaitArchive(t, ls[2])
	p, err := os.FindProcess(ls[1].PID())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"exit status 3", "signal: killed"} {
		<-ls[i].Done()
		var exit *exec.ExitError
		if err := ls[i].Err(); !errors.As(err, &exit) || err.Error() != want {
			t.Errorf("%s ended with %v, want %s", ls[i].Host(), err, want)
		}
		if _, err := ls[i].Status(); !errors.Is(err, pdu.ErrIPC) || !errors.As(err, &exit) {
			t.Errorf("status of %s: %v", ls[i].Host(), err)
		}
	}
	cancel()
	<-ls[2].Done()
	if err := ls[2].Err(); err != nil || records(t, ls[2].Archive()) == 0 {
		t.Errorf("ended with %v", err)
	}
}

// TestProgramDetached checks that a detached program continues.
func TestProgramDetached(t *testing.T) {
	s, ls := createProgram(t, record.Options{}, record.Host{Name: "web1"}, record.Host{Name: "web2"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(ls[0].PID())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill() // does nothing if it has ended
	if err := ls[0].Detach(); err != nil {
		t.Fatal(err)
	}
	await(t, ls[0], "detached")
	awaitArchive(t, ls[1])
	cancel()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-ls[1].Done()
	awaitArchive(t, ls[0])
	select {
	case <-ls[0].Done():
		t.Fatalf("the detached logger has ended: %v", ls[0].Err())
	default:
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ls[0].Done()
	if n := records(t, ls[0].Archive()); n == 0 || ls[0].Err() != nil {
		t.Errorf("%d records, %v", n, ls[0].Err())
	}
}

// TestNoProgram starts a program that does not exist.
func TestNoProgram(t *testing.T) {
	s, ls := create(t, record.Options{Program: filepath.Join(t.TempDir(), "pmlogger")}, record.Host{Name: "web1"})
	if err := s.Start(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("start: %v", err)
	}
	if _, err := s.Status(); !errors.Is(err, record.ErrNotRunning) {
		t.Errorf("status: %v", err)
	}
	if _, err := ls[0].Status(); !errors.Is(err, record.ErrNotStarted) {
		t.Errorf("status of the logger: %v", err)
	}
}
