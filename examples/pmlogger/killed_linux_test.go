package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
)

var (
	kills = flag.Int("kills", 2, "how often to kill a logger")
	fulls = flag.Int("sizes", 2, "for how many sizes of files to have a full disk")
)

// TestInteropLeftBehind looks at what loggers leave behind that end at a random moment.
func TestInteropLeftBehind(t *testing.T) {
	pcptest.Need(t, "prlimit")
	l := newLab(t)
	t.Run("killed", l.testKilled)
	t.Run("disk full", l.testFull)
}

// testKilled kills loggers.
func (l *lab) testKilled(t *testing.T) {
	var sum leftBehind
	for n := range *kills {
		dir := pcptest.ShortDir(t)
		cmd := l.fast(t, dir, 2+n%2, 17)
		base := filepath.Join(dir, "X")
		for end := rand.Int64N(80_000); sizes(base) < end && cmd.ctx.Err() == nil; {
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) // not in step with the logger
		}
		seen := readAll(t, base)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); cmd.ctx.Err() != nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("the logger ends by itself: %v\n%s", err, logOf(dir))
		}
		sum.check(t, base, seen)
	}
	t.Logf("%+v", sum)
}

// testFull lets files of loggers not grow beyond some size, or gives them a small disk where this
// process may make one.
func (l *lab) testFull(t *testing.T) {
	var sum leftBehind
	for n := range *fulls {
		dir := pcptest.ShortDir(t)
		size, limit := 1+rand.IntN(20_000), []string(nil)
		grow, small := func() {}, false
		if n%4 == 0 || n%4 == 3 { // four have both versions and both ways
			grow, small = smallDisk(t, dir, 16<<10+3*size)
		}
		if !small {
			limit = []string{"prlimit", fmt.Sprintf("--fsize=%d", size)}
		}
		cmd := l.fast(t, dir, 2+n%2, 1000, limit...)
		base := filepath.Join(dir, "X")
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var seen []uint64
		running := true
		for running {
			select {
			case err := <-ended:
				if running = false; cmd.ctx.Err() != nil || err == nil {
					t.Fatalf("the logger ends so: %v\n%s", err, logOf(dir))
				}
			default:
				seen = readAll(t, base)
			}
		}
		if log := logOf(dir); !small && size > 1000 && !strings.Contains(log, "file too large") { // the log is a file, too
			t.Errorf("the log says of size %d\n%s", size, log)
		}
		grow()
		sum.check(t, base, seen)
	}
	t.Logf("%+v", sum)
}

// smallDisk has a directory be a disk of some size, until the end of the test. Grow gives it room.
func smallDisk(t *testing.T, dir string, size int) (grow func(), ok bool) {
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)) != nil {
		return func() {}, false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return func() {
		if err := syscall.Mount("", dir, "tmpfs", syscall.MS_REMOUNT, "size=1m"); err != nil {
			t.Error(err)
		}
	}, true
}

// A running logger.
type running struct {
	*exec.Cmd
	ctx context.Context
}

// fast starts a logger that writes all the time, volumes of so many records, with a command before
// it.
func (l *lab) fast(t *testing.T, dir string, version, volume int, before ...string) running {
	t.Helper()
	config := "log mandatory on 10 msec { sample.bin sample.colour sample.string sample.event }\nlog mandatory on 20 msec { sample.long sample.float sample.drift }\n"
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	args := append(before, l.ours, "-c", "config", "-h", l.pmcd.Host(), "-V", fmt.Sprint(version), "-v", fmt.Sprint(volume), "X")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(l.env, "PCP_RUN_DIR="+dir, "PCP_TMP_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return running{cmd, ctx}
}

// logOf is the log of a logger.
func logOf(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "pmlogger.log"))
	return string(text)
}

// sizes is how much there is of an archive.
func sizes(base string) (total int64) {
	files, _ := filepath.Glob(base + ".*")
	for _, path := range files {
		if info, err := os.Stat(path); err == nil { // a temporary file may have gone
			total += info.Size()
		}
	}
	return total
}

// readAll returns a hash of each data record of an archive that another process may be writing.
func readAll(t *testing.T, base string) (hashes []uint64) {
	t.Helper()
	set, err := archive.Options{Growing: true}.Open(context.Background(), base)
	if err != nil {
		return nil // it is not there, or has only just begun
	}
	defer set.Close()
	for rec, err := range set.Records() {
		if err != nil {
			break // the end of what is being written
		}
		if rec.Kind == archive.KindResult || rec.Kind == archive.KindMark {
			h := fnv.New64a()
			h.Write(rec.Raw)
			hashes = append(hashes, h.Sum64())
		}
	}
	return hashes
}

// leftBehind counts what loggers leave that were killed.
type leftBehind struct{ archives, empty, torn, repaired, records int }

// cutTail is what PCP's pmlogcheck says of an archive that ends in the middle of a record, before
// its first entry of the index, or with a volume that has just begun.
var cutTail = regexp.MustCompile(`truncat|corrupted record|warning temporal index is missing|X\.[1-9]\d*: contains no PCP data`)

// check checks that an archive has all that was seen before, that PCP finds no fault but the cut
// end of a file, and that one can go on with it, mended before or not.
func (s *leftBehind) check(t *testing.T, base string, seen []uint64) {
	t.Helper()
	left := readAll(t, base)
	if len(left) < len(seen) || !slices.Equal(left[:len(seen)], seen) {
		t.Errorf("%d records were seen, and %d others are left", len(seen), len(left))
	}
	if len(left) == 0 {
		s.empty++
		return
	}
	s.archives++
	s.records += len(left)
	out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", base)
	if status != 0 || out+stderr != "" {
		s.torn++
		if !cutTail.MatchString(out + stderr) {
			t.Errorf("pmlogcheck: %d %s%s", status, out, stderr)
		}
	}
	if s.archives%2 == 0 { // the others go on as they are
		repaired, err := archive.RepairOptions{Discard: true}.Repair(t.Context(), base)
		if err != nil {
			t.Error(err)
			return
		}
		if len(repaired) > 0 {
			s.repaired++
		}
	}
	w, err := archive.WriterOptions{}.Append(base)
	if err != nil {
		t.Error(err)
		return
	}
	if err := errors.Join(w.WriteMark(w.Last().Add(time.Millisecond)), w.Close()); err != nil {
		t.Error(err)
	}
	if now := readAll(t, base); len(now) != len(left)+1 || !slices.Equal(now[:len(left)], left) {
		t.Errorf("%d records and a mark have become %d records", len(left), len(now))
	}
	if out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", base); status != 0 || out+stderr != "" {
		t.Errorf("pmlogcheck after a mark: %d %s%s", status, out, stderr)
	}
}
