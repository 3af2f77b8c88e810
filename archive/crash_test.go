package archive_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

var kills = flag.Int("kills", 30, "how often to kill a writer")

// childEnv is the environment variable with the base name and version for the process that runs
// TestWriterChild.
const childEnv = "ARCHIVE_TEST_WRITER"

// TestWriterChild writes a new or existing archive until it is killed.
func TestWriterChild(t *testing.T) {
	version, base, ok := strings.Cut(os.Getenv(childEnv), " ")
	if !ok {
		t.Skip("runs as a process of TestWriterKilled")
	}
	v, err := strconv.Atoi(version)
	if err != nil {
		t.Fatal(err)
	}
	w, from, err := resumeOrCreate(base, v)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	for i := from; ; i++ {
		writeAll(t, w, i, 1)
	}
}

// resumeOrCreate opens an archive of writeAll and returns the number of its next record.
func resumeOrCreate(base string, version int) (w *archive.Writer, next int, err error) {
	o := archive.WriterOptions{
		Label:      archive.Label{Version: version, Host: "web1", TimeZone: "UTC", Start: at(0), PID: 7},
		VolumeSize: 40_000, IndexEvery: 5_000,
	}
	w, err = o.Append(base)
	if errors.Is(err, fs.ErrNotExist) {
		w, err = o.Create(base)
	}
	if err == nil && !w.Last().IsZero() {
		next = int(w.Last().Sub(at(0)).Seconds()) + 1
		if i := next - 1; i%7 == 6 && w.Last().Equal(at(float64(i))) {
			err = w.WriteMark(w.Last().Add(time.Millisecond))
		}
	}
	return w, next, err
}

// TestWriterKilled kills writers. Each one leaves an archive from its start to some record, and the
// next writer continues it.
func TestWriterKilled(t *testing.T) {
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			for left := (*kills + 1) / 2; left > 0; left -= 30 { // a long archive takes long to check
				killAll(t, version, min(left, 30), func(string) {})
			}
		})
	}
}

// TestInteropWriterKilled is like TestWriterKilled with C programs as readers.
func TestInteropWriterKilled(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", "pmdumplog")
	for _, version := range []int{2, 3} {
		base := killAll(t, version, min((*kills+9)/10, 50), func(base string) {
			out, stderr, status := pcptest.Run(t, nil, "", "pmdumplog", "-mx", base)
			s, err := archive.Open(t.Context(), base)
			if err != nil {
				return // torn metadata
			}
			defer s.Close()
			end, err := s.End()
			if err != nil {
				t.Fatal(err)
			}
			last := dateText(s, end)
			if stderr != "" && !strings.Contains(stderr, "Corrupted record") || !strings.Contains(strings.Join(strings.Fields(out), " "), last) {
				t.Errorf("pmdumplog: %d %s; last record is of %s", status, stderr, last)
			}
		})
		checkWithC(t, base)
	}
}

// killAll repeatedly kills a writer of an archive and checks what it left. At the end it closes the
// archive.
func killAll(t *testing.T, version, times int, check func(base string)) (base string) {
	base = filepath.Join(t.TempDir(), "a")
	torn := 0
	for range times {
		killed(t, base, version)
		if _, err := os.Stat(base + ".0"); errors.Is(err, fs.ErrNotExist) {
			continue // before the first data record
		}
		torn += checkLeft(t, base)
		check(base)
	}
	w, next, err := resumeOrCreate(base, version)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, w, next, 3)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := checkLeft(t, base); n != 0 {
		t.Error("the metadata is torn after Close")
	}
	if stray, _ := filepath.Glob(base + "*.tmp"); len(stray) > 0 {
		t.Errorf("left over: %v", stray)
	}
	t.Logf("%d records after %d kills; %d times the metadata was torn", next+3, times, torn)
	return base
}

// killed runs a writer and kills it after it has written something.
func killed(t *testing.T, base string, version int) {
	t.Helper()
	before := sizes(t, base)
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriterChild$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", childEnv, version, base))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	ended := make(chan string)
	go func() {
		rest, _ := io.ReadAll(r)
		ended <- string(rest)
	}()
	for more := rand.Int64N(60_000); sizes(t, base) < before+more; {
		select {
		case rest := <-ended:
			cmd.Wait()
			t.Fatalf("the writer ends by itself, %v: %s%s", err, line, rest)
		default:
		}
	}
	cmd.Process.Kill()
	<-ended
	cmd.Wait()
	if err != nil || line != "ready\n" {
		t.Fatalf("the writer says %q, %v", line, err)
	}
}

// sizes returns the size of all files of an archive.
func sizes(t *testing.T, base string) int64 {
	t.Helper()
	files, err := filepath.Glob(base + ".*")
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, path := range files {
		if info, err := os.Stat(path); err == nil { // a temporary file may have gone
			total += info.Size()
		}
	}
	return total
}

// checkLeft checks that an archive has what writeAll wrote, from the start to some record. It
// returns 1 if the last metadata record is incomplete.
func checkLeft(t *testing.T, base string) (torn int) {
	t.Helper()
	s, err := archive.Open(t.Context(), base)
	if err != nil {
		torn = 1
		s, err = archive.Options{Growing: true}.Open(t.Context(), base)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	end, err := s.End()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cursor()
	n := int(end.Sub(at(0)).Seconds()) + 1
	for i := range n {
		checkRecord(t, c, i)
		if end.After(at(float64(i))) && i%7 == 6 {
			if err := c.Next(); err != nil || !c.Mark() {
				t.Fatalf("record after %d: %v, want a mark", i, err)
			}
		}
		if got := s.Metadata().InDom(writtenInDom).At(at(float64(i))); fmt.Sprint(got) != fmt.Sprint(instancesAt(i)) {
			t.Fatalf("instances at %d: %v", i, got)
		}
	}
	if err := c.Next(); !errors.Is(err, pdu.ErrEOL) && !errors.Is(err, pdu.ErrLogRec) {
		t.Fatalf("after the end: %v", err)
	}
	for i, e := range s.Archives()[0].Index() {
		if err := c.SeekNext(e.Time); err != nil {
			t.Fatal(err)
		}
		if err := c.Next(); err != nil || !c.Time().Equal(e.Time) {
			t.Fatalf("index entry %d of %v leads to %v, %v", i, e.Time, c.Time(), err)
		}
	}
	return torn
}
