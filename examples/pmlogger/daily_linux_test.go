package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// zoneFile makes a time zone that has midnight at the given time.
func zoneFile(t *testing.T, midnight time.Time) string {
	t.Helper()
	offset := int32(24*3600 - midnight.Unix()%(24*3600))
	if offset > 12*3600 {
		offset -= 24 * 3600
	}
	var b bytes.Buffer
	for _, part := range []any{[]byte("TZif"), [16]byte{}, [6]int32{0, 0, 0, 0, 1, 4}, offset, [2]byte{}, []byte("XXT\x00")} {
		if err := binary.Write(&b, binary.BigEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "zone")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInteropMidnight has a logger begin another archive at midnight, while it answers others, and
// C's tools read both.
func TestInteropMidnight(t *testing.T) {
	l := newLab(t)
	pcptest.Need(t, "pmlogextract", "pmlc")
	dir, run := pcptest.ShortDir(t), pcptest.ShortDir(t)
	config := filepath.Join(run, "config")
	if err := os.WriteFile(config, []byte(configFiles["good"]), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var cmd *exec.Cmd
	var bases []string
	log := filepath.Join(run, "log")
	for soon := 2 * time.Second; len(bases) < 2 && ctx.Err() == nil; soon *= 4 { // on a busy machine the logger may begin after midnight
		cmd = exec.CommandContext(ctx, l.ours, "-h", l.pmcd.Host(), "-c", config, "-l", log, "--daily", "--keep=7days", "--max-size", "1g", dir)
		cmd.Args[0] = "pmlogger"
		cmd.Env = append(slices.Clone(l.env), "PCP_RUN_DIR="+run, "PCP_TMP_DIR="+run, "TZ="+zoneFile(t, time.Now().Add(soon)))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for ctx.Err() == nil && len(bases) < 2 {
			if bases = archives(t, dir); len(bases) == 1 && !strings.Contains(bases[0], ".23.5") {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o777)); err != nil {
					t.Fatal(err)
				}
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if len(bases) != 2 {
		t.Fatalf("archives %q", bases)
	}
	_, _, status := pcptest.Run(t, cmd.Env, fmt.Sprintf("connect %d\nflush\nquit\n", cmd.Process.Pid), "pmlc")
	mapped, err := os.ReadFile(filepath.Join(run, "pmlogger", fmt.Sprint(cmd.Process.Pid)))
	if status != 0 || err != nil || !strings.Contains(string(mapped), bases[1]) {
		t.Errorf("pmlc: status %d; map file %s, %v; archives %q", status, mapped, err, bases)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(log)
	got := regexp.MustCompile(`(?m)^(Archive basename: .*|.*(exiting|Warning|Error).*)$`).FindAllString(mask(string(text)), -1)
	want := []string{"Archive basename: " + bases[0], "Archive basename: " + bases[1], "[DATE] pmlogger(PID) Info: pmlogger: Caught signal 15, exiting"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("log: %v (-want +got):\n%s", err, diff)
	}
	all := filepath.Join(run, "all")
	for _, args := range [][]string{append([]string{"pmlogcheck", "-w"}, bases...), append(append([]string{"pmlogextract"}, bases...), all)} {
		if out, errs, status := pcptest.Run(t, nil, "", args...); status != 0 || out+errs != "" {
			t.Errorf("%q: status %d\n%s%s", args, status, out, errs)
		}
	}
	out, _, _ := pcptest.Run(t, nil, "", "pmdumplog", all)
	if strings.Contains(out, "<mark>") || strings.Count(out, "(hinv.ncpu)") != 2 {
		t.Errorf("pmdumplog: %.2000s", out)
	}
}

// archives are the base names of the archives in a directory, of the earliest first.
func archives(t *testing.T, dir string) (bases []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.meta"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		bases = append(bases, strings.TrimSuffix(name, ".meta"))
	}
	return bases
}
