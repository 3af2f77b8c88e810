package retention_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logger/retention"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropDaily compares the results of pmlogger_daily and Maintain, and checks our archives
// with pmlogcheck.
func TestInteropDaily(t *testing.T) {
	pcptest.Need(t, "pmlogger_daily", "pmlogcheck", "pmdumplog", "xz")
	if os.Getuid() != 0 {
		t.Skip("pmlogger_daily is for root")
	}
	today := time.Now().UTC()
	if retention.NextDay(today).Sub(today) < 10*time.Minute {
		t.Skip("the day may end")
	}
	day := func(ago int, clock string) string { return today.AddDate(0, 0, -ago).Format("20060102") + "." + clock }
	bases := []string{day(20, "00.10"), day(3, "00.10"), day(2, "00.10"), day(2, "00.10-00"), day(2, "13.00"), day(1, "00.10"), day(1, "09.00"), day(0, "00.00")}
	dirs := [2]string{}
	for i := range dirs {
		dirs[i] = pcptest.ShortDir(t)
		if err := os.Chmod(dirs[i], 0o777); err != nil {
			t.Fatal(err)
		}
		for _, base := range bases {
			record(t, dirs[i], base)
		}
	}
	daily(t, dirs[0])
	o := retention.Options{Merge: logextract.Options{}.Run, Compress: retention.XZ(), Keep: 14 * 24 * time.Hour, Location: time.UTC}
	if err := retention.Maintain(t.Context(), dirs[1], o); err != nil {
		t.Fatal(err)
	}
	past := func(dir string) []string { // PCP's script does not see the logger, and compresses its archive
		return slices.DeleteFunc(list(t, dir), func(name string) bool { return strings.HasPrefix(name, day(0, "")) })
	}
	got := past(dirs[1])
	if diff := cmp.Diff(past(dirs[0]), got); diff != "" {
		t.Errorf("files (-PCP +ours):\n%s", diff)
	}
	for _, name := range got {
		base, ok := strings.CutSuffix(name, ".index")
		if !ok {
			continue
		}
		var dumps [2]string
		for i, dir := range dirs {
			out, errs, status := pcptest.Run(t, nil, "", "pmdumplog", "-a", filepath.Join(dir, base))
			if status != 0 {
				t.Errorf("pmdumplog %s: status %d\n%s", base, status, errs)
			}
			lines := slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return strings.HasPrefix(line, "PID for pmlogger") })
			dumps[i] = strings.ReplaceAll(strings.Join(lines, "\n"), dir, "DIR")
		}
		if diff := cmp.Diff(dumps[0], dumps[1]); diff != "" {
			t.Errorf("%s (-PCP +ours):\n%s", base, diff)
		}
		if out, errs, status := pcptest.Run(t, nil, "", "pmlogcheck", filepath.Join(dirs[1], base)); status != 0 || out+errs != "" {
			t.Errorf("pmlogcheck %s: status %d\n%s%s", base, status, out, errs)
		}
	}
}

// TestInteropRecord checks the archives of several days with C's tools: pmlogextract writes no mark
// between them.
func TestInteropRecord(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", "pmlogextract", "pmdumplog")
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newRecording(t, dir, "22 20:00:30")
		d.record(dailyOptions, logger.Options{})
		d.until("24 12:00:00")
		d.stop()
	})
	bases := []string{"20261122", "20261123", "20261124.00.00"}
	args := []string{"pmlogextract"}
	for i, base := range bases {
		bases[i] = filepath.Join(dir, base)
		args = append(args, bases[i])
		if out, errs, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", bases[i]); status != 0 || out+errs != "" {
			t.Errorf("pmlogcheck %s: status %d\n%s%s", base, status, out, errs)
		}
	}
	all := filepath.Join(t.TempDir(), "all")
	if out, errs, status := pcptest.Run(t, nil, "", append(args, all)...); status != 0 || out+errs != "" {
		t.Errorf("pmlogextract: status %d\n%s%s", status, out, errs)
	}
	out, _, _ := pcptest.Run(t, nil, "", "pmdumplog", all)
	if strings.Contains(out, "<mark>") || strings.Count(out, "(x.once)") != 3 {
		t.Errorf("pmdumplog: %d of once\n%.2000s", strings.Count(out, "(x.once)"), out)
	}
}

// daily runs pmlogger_daily for a directory.
func daily(t *testing.T, dir string) {
	t.Helper()
	conf := t.TempDir()
	if err := os.Mkdir(filepath.Join(conf, "pmlogger"), 0o777); err != nil {
		t.Fatal(err)
	}
	control := filepath.Join(conf, "control")
	text := "$version=1.1\nLOCALHOSTNAME n n " + dir + " -c config.default\n"
	if err := os.WriteFile(control, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errs, status := pcptest.Run(t, []string{"PCP_LOG_DIR=" + conf, "PCP_RUN_DIR=" + conf, "PCP_TMP_DIR=" + conf}, "",
		"pmlogger_daily", "-c", control, "-f", "-z", "-D", "-x", "0", "-l", filepath.Join(conf, "daily.log"))
	if status != 0 {
		log, _ := os.ReadFile(filepath.Join(conf, "daily.log"))
		t.Fatalf("pmlogger_daily: status %d, %s%s\n%s", status, out, errs, log)
	}
}
