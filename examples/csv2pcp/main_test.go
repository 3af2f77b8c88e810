package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

const sample = `time,disk.dev.read[sda]:counter,disk.dev.read[sdb]:counter,kernel.load,kernel.release:string
2026-11-23 10:30:00.25,10,20,0.5,6.1
2026-11-23T10:30:01,11,,0.75,
1795426202.5,12,22,,"6.2, new"
`

// A table becomes an archive of its values.
func TestConvert(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	var errs bytes.Buffer
	if status := run([]string{"-h", "web1", "-Z", "CET-1", "-V", "2", base}, strings.NewReader(sample), &errs, false); status != 0 || errs.Len() > 0 {
		t.Fatal(status, errs.String())
	}
	s, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if l := s.Label(); l.Version != 2 || l.Host != "web1" || l.TimeZone != "CET-1" || !l.Start.Equal(time.Date(2026, 11, 23, 9, 30, 0, 250e6, time.UTC)) {
		t.Errorf("label %+v", l)
	}
	for _, test := range []struct {
		name string
		sem  pdu.Sem
		typ  pdu.Type
	}{{"disk.dev.read", pdu.SemCounter, pdu.TypeDouble}, {"kernel.load", pdu.SemInstant, pdu.TypeDouble}, {"kernel.release", pdu.SemDiscrete, pdu.TypeString}} {
		id, err := s.Metadata().Names().Lookup(test.name)
		if d, ok := s.Metadata().Desc(id); err != nil || !ok || d.Sem != test.sem || d.Type != test.typ {
			t.Errorf("%s: %+v %v %v", test.name, d, ok, err)
		}
	}
	c := s.Cursor()
	for _, want := range []int{3, 2, 2} {
		if err := c.Next(); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Result(); err != nil || r.Len() != want {
			t.Errorf("%v: %d metrics, %v, want %d", c.Time(), r.Len(), err, want)
		}
	}
}

// The archive of a table must be readable by PCP.
func TestInteropConvert(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", "pmval")
	dir := t.TempDir()
	base, file := filepath.Join(dir, "a"), filepath.Join(dir, "a.csv")
	if err := os.WriteFile(file, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	if status := run([]string{"-Z", "CET-1", base, file}, nil, &errs, false); status != 0 {
		t.Fatal(errs.String())
	}
	if out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", base); status != 0 || out+stderr != "" {
		t.Errorf("pmlogcheck: %d %s%s", status, out, stderr)
	}
	out, _, _ := pcptest.Run(t, nil, "", "pmval", "-z", "-w", "20", "-U", base, "kernel.release")
	if !strings.Contains(out, `"6.1"`) || !strings.Contains(out, `"6.2, new"`) {
		t.Errorf("pmval:\n%s", out)
	}
}

// TestConvertErrors checks that errors of a table name the line.
func TestConvertErrors(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", "no names of columns"},
		{"t,a\nx,1\n", `line 2: "x" is not a time`},
		{"t,a\n1,1\n2,x\n", `line 3: column 2: "x" is not a number: add :string`},
		{"t,a\n2,1\n1,1\n", "line 3: Illegal result timestamp"},
		{"t,a\n2,1,3\n", "line 2: wrong number of fields"},
		{"t,1a\n2,1\n", `column "1a": Illegal metric name`},
		{"t,a,a\n2,1,1\n", `column "a": Metric name already defined`},
		{"t,a[x],a\n2,1,1\n", `column "a": Metric name already defined`},
		{"t,a,a[x]\n2,1,1\n", `column "a[x]": Null instance expected for a singular metric`},
		{"t,a[x],a[x]\n2,1,1\n", `column "a[x]": External instance name already defined`},
		{"t,a[\n2,1\n", `column "a[": want an instance in brackets`},
		{"t,a\n\"1,1\n", "line 2: byte 6: extraneous or missing"},
		{"t,a\n1,1\n2,x\"y\n", `line 3: byte 4: bare " in non-quoted-field`},
		{"t,a,a.b\n1,1,2\n", `column "a.b": Illegal metric name: "a.b" stands below "a", which is a metric`},
		{"t,a.b.c,a.b\n1,1,2\n", `column "a.b": Illegal metric name: "a.b" stands above "a.b.c"`},
		{"t,a:b\n2,1\n", `column "a:b": "b" is none of counter, discrete, string`},
	} {
		var errs bytes.Buffer
		dir := t.TempDir()
		status := run([]string{filepath.Join(dir, "a")}, strings.NewReader(test.in), &errs, false)
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%q: files are left: %v, %v", test.in, left, err)
		}
		if status != 1 || !strings.Contains(errs.String(), test.want) {
			t.Errorf("%q: %d %s, want %s", test.in, status, errs.String(), test.want)
		}
	}
	for _, args := range [][]string{nil, {"a", "b", "c"}, {"-x", "a"}, {"-V", "two", "a"}, {"-V", "4", t.TempDir() + "/a"}, {t.TempDir() + "/a", "/nonexistent"}} {
		var errs bytes.Buffer
		if status := run(args, strings.NewReader(sample), &errs, false); status != 1 || errs.Len() == 0 {
			t.Errorf("%q: %d %s", args, status, errs.String())
		}
	}
}

// Local times are found around a change of the clocks.
func TestClockChanges(t *testing.T) {
	for _, test := range []struct {
		in   string
		want string // times in UTC, or the error
	}{
		{"2026-10-25 01:59:00,1 2026-10-25 02:30:00,2 2026-10-25 02:31:00,2 2026-10-25 02:30:00,3 2026-10-25 03:00:00,4",
			"23:59 00:30 00:31 01:30 02:00"},
		{"2026-10-25 02:30:00,1 2026-10-25 02:30:00,2", "00:30 01:30"},
		{"2026-03-29 01:59:00,1 2026-03-29 03:00:00,2", "00:59 01:00"},
		{"2026-03-29 01:59:00,1 2026-03-29 02:30:00,2",
			"csv2pcp: standard input: line 3: 2026-03-29 02:30:00 does not exist in Europe/Paris, where the clocks are set forward\n"},
	} {
		base := filepath.Join(t.TempDir(), "a")
		var errs bytes.Buffer
		in := "time,a.b\n" + strings.ReplaceAll(test.in, " 2026", "\n2026") + "\n"
		if run([]string{"-Z", "Europe/Paris", base}, strings.NewReader(in), &errs, false) != 0 {
			if errs.String() != test.want {
				t.Errorf("%s: %s, want %s", test.in, errs.String(), test.want)
			}
			continue
		}
		s, err := archive.Open(t.Context(), base)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for c := s.Cursor(); c.Next() == nil; {
			got = append(got, c.Time().UTC().Format("15:04"))
		}
		s.Close()
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %s", test.in, got, test.want)
		}
	}
}

// Progress says how much of a file has been read.
func TestProgress(t *testing.T) {
	var in strings.Builder
	in.WriteString("t,a\n")
	for i := range 5000 {
		fmt.Fprintf(&in, "%d,%d\n", i, i)
	}
	var rows []int
	last := int64(0)
	tab := table{zone: time.UTC, progress: func(n int, read int64) {
		rows = append(rows, n)
		last = read
	}}
	if err := tab.convert(strings.NewReader(in.String()), filepath.Join(t.TempDir(), "a"), archive.WriterOptions{}); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(rows) != "[1024 2048 3072 4096]" || last <= 0 || last >= int64(in.Len()) {
		t.Errorf("progress at rows %v, %d bytes", rows, last)
	}
	if got := progressText(4096, last, 2*last); got != "4096 rows, 50%" {
		t.Error(got)
	}
	if got := progressText(4096, last, 0); got != "4096 rows" {
		t.Error(got)
	}
}

// Conversion of damaged tables ends with an archive, or with an error and no archive.
func TestDamagedTables(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	refused, many := 0, pcptest.AttackSize(60, 2500)
	pcptest.Attack(t, func() {
		for i := range many {
			table := []byte(sample)
			for range 1 + r.IntN(4) {
				at := r.IntN(len(table))
				switch r.IntN(3) {
				case 0:
					table[at] = "\",\n[]:x"[r.IntN(7)]
				case 1:
					table = slices.Delete(table, at, at+1)
				default:
					table = slices.Insert(table, at, '"')
				}
			}
			base := filepath.Join(dir, fmt.Sprint(i))
			status := run([]string{"-Z", "CET-1", base}, bytes.NewReader(table), io.Discard, false)
			left, err := filepath.Glob(base + ".*")
			if err != nil || (status == 0) != (len(left) > 0) {
				t.Errorf("%q: status %d, files %q", table, status, left)
			}
			refused += status
		}
	}, nil)
	t.Logf("%d of %d tables were refused", refused, many)
}
