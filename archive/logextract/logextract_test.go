package logextract_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/internal/session"
	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/pdu"
)

// run runs an extraction into the directory of the first input, and returns the base name of the
// output.
func run(t testing.TB, o logextract.Options, inputs ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	if err := o.Run(t.Context(), inputs, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCopy(t *testing.T) {
	in := names(t, "in")[0]
	b := build(t, in, 2)
	b.labels(at(0), "one")
	b.instances(at(0), 6, 5) // not ascending
	b.values(at(0), 1, 6, 5)
	b.values(at(1), 2, 5)
	b.labels(at(2), "two")
	b.instances(at(2), 5, 7)
	b.check(b.WriteText(archive.TextRecord{Kind: pdu.TextOneLine | pdu.TextPMID, Ident: uint32(manyID), Text: "many things"}))
	b.values(at(2), 3, 5, 7)
	b.check(b.WriteMark(at(2.001)))
	b.values(at(3), 4)
	b.check(b.Close())
	want := dump(t, in)
	for _, version := range []int{2, 3} {
		out := run(t, logextract.Options{Version: version}, in)
		if d := cmp.Diff(want, dump(t, out)); d != "" {
			t.Errorf("version %d (-want +got):\n%s", version, d)
		}
		set, err := archive.Open(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		l := set.Label()
		if l.Version != version || l.Host != "web1" || l.TimeZone != "UTC" || !l.Start.Equal(at(0)) || l.PID != int32(os.Getpid()) {
			t.Errorf("label %+v", l)
		}
		if text, _ := set.Metadata().Text(pdu.TextOneLine|pdu.TextPMID, uint32(manyID)); text != "many things" {
			t.Errorf("help text %q", text)
		}
		set.Close()
	}
}

// TestSameShape checks records that differ from the previous one only in their value blocks and
// times. They are copied, converted and cut, among other records and merged with another archive.
func TestSameShape(t *testing.T) {
	n := names(t, "a", "b")
	var want []string
	for i, base := range n {
		b := build(t, base, 2)
		b.instances(at(0), 5, 6)
		for k := range 12 {
			w := pdu.ResultWriter{Time: at(float64(2*k + i))}
			w.Begin(singleID)
			w.Uint32(pdu.NoInst, uint32(k/4)) // in situ, so every fourth record has another shape
			w.Begin(manyID)
			for inst := range pdu.InstID(2) {
				w.Uint64(5+inst, uint64(100*i+k)<<33+uint64(inst))
			}
			w.Begin(textID)
			w.String(pdu.NoInst, "archive "+string(rune('a'+i))+strings.Repeat("!", k/6)+string(rune('a'+k)))
			b.check(b.WriteSets(&w))
		}
		b.check(b.Close())
		for k, line := range dump(t, base) {
			want = slices.Insert(want, k*(i+1)+i, line)
		}
	}
	want = slices.Insert(want, len(want)-1, "22.001 mark") // where the first input ends
	for _, version := range []int{2, 3} {
		if d := cmp.Diff(want, dump(t, run(t, logextract.Options{Version: version}, n...))); d != "" {
			t.Errorf("version %d (-want +got):\n%s", version, d)
		}
	}
	some := func(version int) []string {
		return dump(t, run(t, logextract.Options{Version: version, Metrics: []logextract.Metric{{Name: text.Names[0]}}}, n...))
	}
	if two, three := some(2), some(3); len(two) != len(want) || !slices.Equal(two, three) {
		t.Errorf("one metric in version 2:\n%q\nand 3:\n%q", two, three)
	}
}

func TestMerge(t *testing.T) {
	n := names(t, "a", "b")
	simple(t, n[0], 0, 3)
	simple(t, n[1], 10, 3)
	want := slices.Concat(dump(t, n[0]), []string{"2.001 mark"}, dump(t, n[1]))
	for _, inputs := range [][]string{n, {n[1], n[0]}, {n[0] + "," + n[1]}, {filepath.Dir(n[0])}} {
		if d := cmp.Diff(want, dump(t, run(t, logextract.Options{}, inputs...))); d != "" {
			t.Errorf("%v (-want +got):\n%s", inputs, d)
		}
	}
}

// TestFailureKeepsOthers checks that a failed extraction keeps files that it has not written, even
// if their names look like the output's.
func TestFailureKeepsOthers(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	simple(t, in, 0, 3)
	for _, o := range []logextract.Options{{From: at(100)}, {VolumeRecords: 1}} {
		for _, name := range []string{"out.2", "out.20261123"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.Run(t.Context(), []string{in}, out); err == nil {
			t.Fatalf("%+v: no error", o)
		}
		left, err := filepath.Glob(out + ".*")
		if diff := cmp.Diff([]string{out + ".2", out + ".20261123"}, left); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", o, err, diff)
		}
	}
}

// TestSessions merges archives of a logger whose collector kept running, or was restarted.
func TestSessions(t *testing.T) {
	n := names(t, "a", "b", "c", "d", "e")
	for i, s := range []session.Session{{PMCD: 7, Seqnum: 1}, {PMCD: 7, Seqnum: 1}, {PMCD: 8, Seqnum: 1}, {}, {}} {
		b := build(t, n[i], 3)
		from := float64(10 * i)
		b.check(s.WritePrologue(b.Writer, at(from)))
		b.values(at(from+1), 1)
		b.check(s.WriteEpilogue(b.Writer, at(from+2)))
		b.check(b.Close())
	}
	for _, test := range []struct {
		always bool
		want   []string
	}{
		{false, []string{"12.001 mark", "22.001 mark"}},
		{true, []string{"2.001 mark", "12.001 mark", "22.001 mark", "32.001 mark"}},
	} {
		out := dump(t, run(t, logextract.Options{Marks: test.always}, n...))
		marks := slices.DeleteFunc(out, func(s string) bool { return !strings.HasSuffix(s, "mark") })
		if d := cmp.Diff(test.want, marks); d != "" {
			t.Errorf("Marks: %v (-want +got):\n%s", test.always, d)
		}
	}
}

func TestWindow(t *testing.T) {
	in := names(t, "in")[0]
	simple(t, in, 0, 10)
	all := dump(t, in)
	for _, test := range []struct {
		o    logextract.Options
		want []string
	}{
		{logextract.Options{From: at(3)}, all[3:]},
		{logextract.Options{Until: at(3)}, all[:4]},
		{logextract.Options{From: at(2.5), Until: at(6.5)}, all[3:7]},
		{logextract.Options{From: at(4), Records: 2}, all[4:6]},
	} {
		if d := cmp.Diff(test.want, dump(t, run(t, test.o, in))); d != "" {
			t.Errorf("%+v (-want +got):\n%s", test.o, d)
		}
	}
}

func TestDaily(t *testing.T) {
	const day = 86400
	in := names(t, "in")[0]
	b := build(t, in, 3)
	for d := range 3 {
		for i := range 5 {
			b.values(at(float64(d*day+i)), uint32(i))
		}
	}
	b.check(b.Close())
	all := dump(t, in)
	want := slices.Concat(all[1:3], []string{"2.001 mark"}, all[6:8], []string{"86402.001 mark"}, all[11:13])
	out := run(t, logextract.Options{From: at(1), Until: at(2), Daily: true}, in)
	if d := cmp.Diff(want, dump(t, out)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestDailyFarFuture merges records that are too many days apart to step through each day.
func TestDailyFarFuture(t *testing.T) {
	in := names(t, "in")[0]
	b := build(t, in, 3)
	const day = 86400
	midnight := at(0).Unix() / day * day
	days := []int64{0, 87_000 /* in the year 2262 */, 1 << 40, 1 << 45}
	for _, d := range days {
		for i := range int64(2) {
			b.values(time.Unix(midnight+d*day+7200+3600*i, 0), uint32(i)) // the first is within the window
		}
	}
	b.check(b.Close())
	o := logextract.Options{From: time.Unix(midnight+3600, 0), Until: time.Unix(midnight+2*3600, 0), Daily: true}
	records, marks := 0, 0
	for _, line := range dump(t, run(t, o, in)) {
		if strings.HasSuffix(line, " mark") {
			marks++
		} else {
			records++
		}
	}
	if records != len(days) || marks < len(days) || marks > 3100 {
		t.Errorf("%d records and %d marks of %d days", records, marks, len(days))
	}
}

func TestVolumes(t *testing.T) {
	in := names(t, "in")[0]
	simple(t, in, 0, 7)
	var volumes []int
	begins := func(number int, _ time.Time) { volumes = append(volumes, number) }
	out := run(t, logextract.Options{VolumeRecords: 3, NewVolume: begins}, in)
	if d := cmp.Diff([]int{1, 2}, volumes); d != "" {
		t.Errorf("notices (-want +got):\n%s", d)
	}
	if d := cmp.Diff(dump(t, in), dump(t, out)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	set, err := archive.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var index []int
	for _, e := range set.Archives()[0].Index() {
		index = append(index, e.Volume)
	}
	if d := cmp.Diff([]int{0, 1, 2, 2}, index); d != "" {
		t.Errorf("volumes in the index (-want +got):\n%s", d)
	}
}

func TestSelect(t *testing.T) {
	in := names(t, "in")[0]
	simple(t, in, 0, 1)
	for _, test := range []struct {
		metrics string
		want    string
		warns   int
	}{
		{"a.many[6 5]", "0 60.0.2 6=6 5=5", 0},
		{"a.many['inst-6' 9]", "0 60.0.2 6=6", 1},
		{"b", "0 60.1.3 -1=text 0", 0},
		{"c.text a.single", "0 60.0.1 -1=0 60.1.3 -1=text 0", 0},
		{"a.many[9] b", "0 60.1.3 -1=text 0", 2},
		{"x", "0 60.0.1 -1=0 60.0.2 5=5 6=6 60.1.3 -1=text 0", 1},
	} {
		metrics, err := logextract.ParseConfig(strings.NewReader(test.metrics))
		if err != nil {
			t.Fatal(err)
		}
		warns := 0
		out := run(t, logextract.Options{Metrics: metrics, Warn: func(error) { warns++ }}, in)
		got, _, _ := strings.Cut(dump(t, out)[0], " instances")
		if strings.ReplaceAll(got, `"`, "") != test.want || warns != test.warns {
			t.Errorf("%s: %s, %d warnings, want %s, %d", test.metrics, got, warns, test.want, test.warns)
		}
	}
}

// TestErrors checks errors that end an extraction. They must leave no output.
func TestErrors(t *testing.T) {
	n := names(t, "a", "b", "host", "zone", "units", "empty")
	simple(t, n[0], 0, 2)
	simple(t, n[1], 5, 2)
	other := func(base string, l archive.Label, m archive.Metric) {
		w, err := archive.WriterOptions{Label: l}.Create(base)
		if err == nil {
			err = errors.Join(w.WriteMetric(m), w.WriteMark(at(20)), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	other(n[2], archive.Label{Host: "web2", TimeZone: "UTC"}, single)
	other(n[3], archive.Label{Host: "web1", TimeZone: "EST-10"}, single)
	changed := single
	changed.Units = pdu.Units(1 << 28)
	other(n[4], archive.Label{Host: "web1", TimeZone: "UTC"}, changed)
	for _, suffix := range []string{".0", ".meta"} {
		l := archive.Label{Version: 3, Host: "web1", Start: at(0), Volume: map[string]int{".meta": archive.VolumeMeta}[suffix]}
		b, err := l.Append(nil)
		if err == nil {
			err = os.WriteFile(n[5]+suffix, b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name   string
		ctx    context.Context
		o      logextract.Options
		inputs []string
		want   func(error) bool
	}{
		{"missing", nil, logextract.Options{}, []string{n[0] + "x"}, input("open")},
		{"hosts", nil, logextract.Options{}, []string{n[0], n[2]}, mismatch("host")},
		{"version", nil, logextract.Options{Version: 2}, n[:2], mismatch("version")},
		{"conflict", nil, logextract.Options{}, []string{n[0], n[4]}, is[*logextract.ConflictError]},
		{"window", nil, logextract.Options{From: at(100)}, n[:2], func(err error) bool { return errors.Is(err, logextract.ErrNoRecords) }},
		{"no records", nil, logextract.Options{Records: -1}, n[:2], func(err error) bool { return errors.Is(err, logextract.ErrNoRecords) }},
		{"empty", nil, logextract.Options{}, n[5:], func(err error) bool { return errors.Is(err, logextract.ErrEmpty) }},
		{"canceled", canceled, logextract.Options{}, n[:2], func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		dir := t.TempDir()
		ctx := test.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		if err := test.o.Run(ctx, test.inputs, filepath.Join(dir, "out")); !test.want(err) {
			t.Errorf("%s: %v", test.name, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s: left behind %v, %v", test.name, files, err)
		}
	}
	if err := (logextract.Options{}).Run(t.Context(), n[:1], n[1]); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an output that exists: %v", err)
	}
	var warns []error
	o := logextract.Options{SkipConflicts: true, Warn: func(err error) { warns = append(warns, err) }}
	out := dump(t, run(t, o, n[0], n[3], n[4], n[5]))
	if strings.Contains(out[0], singleID.String()) || len(out) != 6 { // including two marks of the inputs and two between them
		t.Errorf("with SkipConflicts: %q", out)
	}
	kinds := []func(error) bool{input("open"), mismatch("time zone"), is[*logextract.ConflictError], is[*logextract.SkippedError]}
	for i, is := range kinds {
		if len(warns) != len(kinds) || !is(warns[i]) {
			t.Fatalf("warnings %v", warns)
		}
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// input returns a test for InputErrors of op.
func input(op string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*logextract.InputError](err)
		return ok && e.Op == op
	}
}

// mismatch returns a test for MismatchErrors of what.
func mismatch(what string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*logextract.MismatchError](err)
		return ok && e.What == what
	}
}

// TestDamage reads inputs with a malformed or incomplete record.
func TestDamage(t *testing.T) {
	in := names(t, "in")[0]
	simple(t, in, 0, 4)
	all := dump(t, in)
	b, err := os.ReadFile(in + ".0")
	if err != nil {
		t.Fatal(err)
	}
	size := (len(b) - 808) / 4
	last := slices.Clone(b)
	last[len(last)-size+23] += 100 // of the PMID
	for name, damaged := range map[string][]byte{
		"cut":       b[:len(b)-size-5],
		"number":    slices.Concat(b[:808+2*size+19], []byte{99}, b[808+2*size+20:]),
		"unknown":   last,
		"only some": b[:808+2*size],
	} {
		if err := os.WriteFile(in+".0", damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		var warned error
		out := filepath.Join(t.TempDir(), "out")
		err := logextract.Options{Warn: func(err error) { warned = err }}.Run(t.Context(), []string{in}, out)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch name {
		case "unknown": // the metric of the last record has no descriptor
			if warned == nil || !strings.HasPrefix(warned.Error(), "archive "+in+": no descriptor of metric ") || strings.Contains(warned.Error(), singleID.String()+",") {
				t.Errorf("%s: warned of %v", name, warned)
			}
			got := dump(t, out)
			if d := cmp.Diff(all[:3], got[:3]); d != "" || len(got) != 4 || !strings.HasPrefix(got[3], "3 60.0.2 5=") {
				t.Errorf("%s (-want +got):\n%s\nlast %s", name, d, got[len(got)-1])
			}
			continue
		case "only some":
			if warned != nil {
				t.Errorf("%s: warned of %v", name, warned)
			}
		default:
			if e, ok := errors.AsType[*archive.Error](warned); !ok || !input("read")(warned) || e.Offset != int64(808+2*size) {
				t.Errorf("%s: warned of %#v", name, warned)
			}
		}
		if d := cmp.Diff(all[:2], dump(t, out)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestDesperate checks that Desperate keeps the output files after an error.
func TestDesperate(t *testing.T) {
	n := names(t, "a", "b")
	simple(t, n[0], 0, 2)
	out := filepath.Join(t.TempDir(), "out")
	o := logextract.Options{Desperate: true, From: at(time.Hour.Seconds())}
	if err := o.Run(t.Context(), n[:1], out); !errors.Is(err, logextract.ErrNoRecords) {
		t.Fatal(err)
	}
	for _, suffix := range []string{".meta", ".index"} {
		f, err := archive.Options{}.OpenFile(t.Context(), out+suffix)
		if err != nil {
			t.Fatal(err)
		}
		if l, err := f.Label(); err != nil || l.Host != "web1" {
			t.Errorf("%s: %+v, %v", suffix, l, err)
		}
		f.Close()
	}
}

// TestDamagedBytes changes bytes of an input one by one. Each extraction must end, and either fail
// without output or write a readable archive.
func TestDamagedBytes(t *testing.T) {
	n := names(t, "a", "b")
	b := build(t, n[0], 2)
	b.labels(at(0), "one")
	b.instances(at(0), 5, 6)
	b.values(at(0), 1, 5, 6)
	b.values(at(1), 2, 5, 6)
	b.check(b.Close())
	simple(t, n[1], 5, 2)
	damaged := 0
	for _, suffix := range []string{".meta", ".0"} {
		whole, err := os.ReadFile(n[0] + suffix)
		if err != nil {
			t.Fatal(err)
		}
		for i := 132; i < len(whole); i += 13 {
			for _, bit := range []byte{1, 0x80} {
				changed := slices.Clone(whole)
				changed[i] ^= bit
				if err := os.WriteFile(n[0]+suffix, changed, 0o666); err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				o := logextract.Options{Version: 3, SkipConflicts: i%2 == 0, Warn: func(error) { damaged++ }}
				if err := o.Run(t.Context(), n, filepath.Join(dir, "out")); err != nil {
					damaged++
					if files, _ := os.ReadDir(dir); len(files) > 0 {
						t.Errorf("byte %d of %s: left behind %v", i, suffix, files)
					}
				} else if err := openAll(t, filepath.Join(dir, "out")); err != nil {
					t.Errorf("byte %d of %s: %v", i, suffix, err)
				}
			}
		}
		if err := os.WriteFile(n[0]+suffix, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if damaged < 20 {
		t.Errorf("%d errors and warnings", damaged)
	}
}

// openAll opens an archive and reads all of it.
func openAll(t *testing.T, base string) error {
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		return err
	}
	defer set.Close()
	for r, err := range set.Records() {
		if err != nil {
			return err
		}
		if r.Kind == archive.KindResult {
			if err := r.Result(new(pdu.Result)); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestVolumesMissing reads an input that lacks a volume, and one with a volume of another archive.
func TestVolumesMissing(t *testing.T) {
	n := names(t, "a", "other")
	simple(t, n[0], 0, 6)
	in := run(t, logextract.Options{VolumeRecords: 2}, n[0])
	all := dump(t, in)
	simple(t, n[1], 20, 1)
	other, err := os.ReadFile(n[1] + ".0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(in + ".1"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(slices.Concat(all[:2], all[4:]), dump(t, run(t, logextract.Options{}, in))); d != "" {
		t.Errorf("without volume 1 (-want +got):\n%s", d)
	}
	if err := os.WriteFile(in+".1", other, 0o666); err != nil {
		t.Fatal(err)
	}
	var warned error
	out := run(t, logextract.Options{Warn: func(err error) { warned = err }}, in)
	if d := cmp.Diff(all[:2], dump(t, out)); d != "" || !errors.Is(warned, pdu.ErrLabel) {
		t.Errorf("with another volume 1: warned of %v (-want +got):\n%s", warned, d)
	}
}

// TestDamagedInDirectory merges a directory. An archive that cannot be opened and one without an
// end are warnings then, and errors if they are named alone.
func TestDamagedInDirectory(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	simple(t, in("a"), 0, 2)
	simple(t, in("b"), 10, 2)
	simple(t, in("c"), 20, 2)
	want := slices.Concat(dump(t, in("a")), dump(t, in("c")))
	if err := os.WriteFile(in("x.meta"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(in("b.0"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{1, 2, 3, 4}, 808); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(820); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var warned []string
	out := run(t, logextract.Options{Warn: func(err error) {
		if e, ok := errors.AsType[*logextract.InputError](err); ok {
			warned = append(warned, e.Op)
		}
	}}, dir)
	got := slices.DeleteFunc(dump(t, out), func(line string) bool { return strings.Contains(line, "mark") })
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"end", "open", "read"}, warned); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	for _, name := range []string{"b", "x"} {
		if err := (logextract.Options{}).Run(t.Context(), []string{in(name)}, in("out")); !input("end")(err) && !input("open")(err) {
			t.Errorf("%s alone: %v", name, err)
		}
	}
}

// TestPrefixes merges archives with a metric whose name is above the names of others. Each such
// metric gets a warning, and nothing is omitted.
func TestPrefixes(t *testing.T) {
	n := names(t, "a", "b", "c", "d")
	simple(t, n[0], 0, 2)
	for i, name := range []string{"a.single.one", "a.single.two", "a.single.one.more"} {
		w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(n[i+1])
		if err != nil {
			t.Fatal(err)
		}
		below := archive.Metric{Desc: single.Desc, Names: []string{name}}
		below.PMID = pdu.MakePMID(61, 0, i)
		r := pdu.ResultWriter{Time: at(float64(10 + 10*i))}
		r.Begin(below.PMID)
		r.Uint32(pdu.NoInst, 5)
		if err := errors.Join(w.WriteMetric(below), w.WriteSets(&r), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	var warned []string
	out := run(t, logextract.Options{Warn: func(err error) { warned = append(warned, err.Error()) }}, n...)
	want := []string{
		`metric "a.single" is above "a.single.one" and 1 more in the name space: rename one of them with pmlogrewrite`,
		`metric "a.single.one" is above "a.single.one.more" in the name space: rename one of them with pmlogrewrite`,
	}
	if d := cmp.Diff(want, warned); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	values := strings.Join(dump(t, out), "\n")
	for _, id := range []pdu.PMID{singleID, pdu.MakePMID(61, 0, 0), pdu.MakePMID(61, 0, 1), pdu.MakePMID(61, 0, 2)} {
		if !strings.Contains(values, id.String()) {
			t.Errorf("no value of %v in\n%s", id, values)
		}
	}
}

// TestEmptyIndex merges two archives, by their names and as a directory. One has an empty index.
// Nothing is omitted.
func TestEmptyIndex(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	simple(t, a, 0, 2)
	simple(t, b, 10, 2)
	whole := dump(t, run(t, logextract.Options{}, a, b))
	if err := os.WriteFile(b+".index", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, inputs := range [][]string{{a, b}, {dir}} {
		var warned []string
		out := run(t, logextract.Options{Warn: func(err error) { warned = append(warned, err.Error()) }}, inputs...)
		if d := cmp.Diff(whole, dump(t, out)); d != "" {
			t.Errorf("%v (-want +got):\n%s", inputs, d)
		}
		if len(warned) != 1 || !strings.Contains(warned[0], b+".index") || !strings.Contains(warned[0], "without its index") {
			t.Errorf("%v: warned %q", inputs, warned)
		}
	}
}

// TestSameTwice merges an archive with itself. Its instance domain and labels are written once, as
// by PCP's tool, although both inputs have them.
func TestSameTwice(t *testing.T) {
	n := names(t, "a")
	b := build(t, n[0], 3)
	b.instances(at(0), 5, 6)
	b.labels(at(0), "x")
	b.values(at(0), 1, 5, 6)
	b.values(at(1), 2, 5, 6)
	b.check(b.Close())
	out := run(t, logextract.Options{}, n[0], n[0])
	set, err := archive.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if got := set.Metadata().InDom(indomID).Len(); got != 1 {
		t.Errorf("%d records of the instance domain, want 1", got)
	}
	f, err := set.Archives()[0].File(archive.VolumeMeta)
	if err != nil {
		t.Fatal(err)
	}
	labels := 0
	for r, err := range f.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == archive.KindLabels {
			labels++
		}
	}
	if labels != 1 {
		t.Errorf("%d records of labels, want 1", labels)
	}
}

// TestConflicts checks that the error for two different descriptors of a metric names the
// difference.
func TestConflicts(t *testing.T) {
	n := names(t, "a")
	simple(t, n[0], 0, 2)
	for what, change := range map[string]func(*archive.Metric){
		"name":      func(m *archive.Metric) { m.Names = []string{"a.other"} },
		"type":      func(m *archive.Metric) { m.Type = pdu.Type64 },
		"indom":     func(m *archive.Metric) { m.InDom = indomID },
		"semantics": func(m *archive.Metric) { m.Sem = pdu.SemCounter },
		"units":     func(m *archive.Metric) { m.Units = pdu.UnitCount },
	} {
		b := filepath.Join(t.TempDir(), "b")
		changed := single
		change(&changed)
		w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(b)
		if err == nil {
			err = errors.Join(w.WriteMetric(changed), w.WriteMark(at(10)), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		err = logextract.Options{}.Run(t.Context(), []string{n[0], b}, filepath.Join(t.TempDir(), "out"))
		if e, ok := errors.AsType[*logextract.ConflictError](err); !ok || e.What != what {
			t.Errorf("%s: %v", what, err)
		}
	}
}
