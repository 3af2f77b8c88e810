package logimport_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A twin makes on an Importer the calls that internal/pcptest/testdata/logimport.c makes.
type twin struct {
	t       *testing.T
	dir     string
	base    string
	label   archive.Label
	im      *logimport.Importer
	handles []logimport.Handle
}

// importer returns the Importer of the current archive. The first call creates the archive, whose
// label is then fixed.
func (w *twin) importer() *logimport.Importer {
	if w.im == nil {
		im, err := logimport.New(filepath.Join(w.dir, w.base), archive.WriterOptions{Label: w.label})
		if err != nil {
			w.t.Fatal(err)
		}
		w.im = im
	}
	return w.im
}

func (w *twin) answers(calls []string) []string {
	answers := make([]string, len(calls))
	for i, call := range calls {
		answers[i] = strconv.Itoa(w.call(append(strings.Split(call, "\t"), make([]string, 8)...)))
	}
	if w.im != nil {
		if err := w.im.Close(); err != nil {
			w.t.Error(err)
		}
	}
	return answers
}

func (w *twin) call(a []string) int {
	num := func(i int) uint32 {
		n, err := strconv.ParseUint(a[i], 0, 32)
		if err != nil {
			w.t.Fatal(err)
		}
		return uint32(n)
	}
	switch a[0] {
	case "start":
		w.base = a[1]
		w.label.Version = 2
		return 1
	case "hostname":
		w.label.Host = a[1]
		return 0
	case "timezone":
		w.label.TimeZone = a[1]
		return 0
	case "version":
		w.label.Version = int(num(1))
		return 0
	case "handle":
		h, err := w.importer().Handle(a[1], a[2])
		if err != nil {
			return code(err)
		}
		w.handles = append(w.handles, h)
		return len(w.handles)
	}
	return code(w.do(a, num))
}

func (w *twin) do(a []string, num func(int) uint32) error {
	im := w.importer()
	switch a[0] {
	case "end":
		err := im.Close()
		w.im = nil
		return err
	case "metric":
		_, err := im.AddMetric(a[1], pdu.Desc{PMID: pdu.PMID(num(2)), Type: pdu.Type(num(3)), InDom: pdu.InDom(num(4)), Sem: pdu.Sem(num(5)), Units: pdu.Units(num(6))})
		return err
	case "instance":
		return im.AddInstance(pdu.InDom(num(1)), a[3], pdu.InstID(num(2)))
	case "put":
		return im.PutText(a[1], a[2], a[3])
	case "puthandle":
		n := num(1)
		if n == 0 || int(n) > len(w.handles) {
			return logimport.Handle{}.PutText(a[2])
		}
		return w.handles[n-1].PutText(a[2])
	case "write":
		return im.Write(time.Unix(int64(num(1)), int64(num(2))*1000))
	case "result":
		b := pdu.ResultWriter{Time: time.Unix(int64(num(1)), int64(num(2))*1000)}
		b.Begin(pdu.PMID(num(3)))
		b.Uint32(pdu.InstID(num(4)), num(5))
		r, err := b.Result()
		if err != nil {
			w.t.Fatal(err)
		}
		return im.PutResult(r)
	case "mark":
		return im.PutMark()
	case "text":
		return im.PutHelp(pdu.TextKind(num(1)|num(2)), num(3), a[4])
	case "label":
		value := any(a[5])
		if a[5] == "true" {
			value = true // which the C library stores as a boolean
		}
		return im.PutLabel(pdu.LabelClass(num(1)), num(2), pdu.InstID(num(3)), a[4], value)
	}
	w.t.Fatalf("no such call: %q", a)
	return nil
}

// code returns the number of an error, or 0 for nil.
func code(err error) int {
	if e, ok := errors.AsType[logimport.Error](err); ok {
		return int(e)
	}
	if err == nil {
		return 0
	}
	return int(pdu.FromError(err))
}

// compare makes the calls with C and with this package, and compares the results and the bytes of
// the archives.
func compare(t *testing.T, calls []string) {
	t.Helper()
	c, ours := t.TempDir(), t.TempDir()
	want := pcptest.LogImport(t, c, calls)
	got := (&twin{t: t, dir: ours}).answers(calls)
	for i := range calls {
		if got[i] != want[i] {
			t.Errorf("%q: %s, C says %s", calls[i], got[i], want[i])
		}
	}
	files, err := os.ReadDir(c)
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadDir(ours)
	if err != nil || len(own) != len(files) {
		t.Errorf("files %v, of C %v", own, files)
	}
	for _, f := range files {
		theirs, err := os.ReadFile(filepath.Join(c, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(ours, f.Name()))
		if err != nil {
			t.Error(err)
			continue
		}
		clear(theirs[8:12]) // the process ID
		clear(b[8:12])
		if !bytes.Equal(b, theirs) {
			i := 0
			for i < min(len(b), len(theirs)) && b[i] == theirs[i] {
				i++
			}
			t.Errorf("%s differs: %d bytes, of C %d, from %d: %q, of C %q", f.Name(), len(b), len(theirs), i,
				b[max(i-32, 0):min(i+32, len(b))], theirs[max(i-32, 0):min(i+32, len(theirs))])
		}
	}
	if t.Failed() {
		return
	}
	if out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", filepath.Join(ours, "x")); status != 0 || out+stderr != "" {
		t.Errorf("pmlogcheck: %d %s%s", status, out, stderr)
	}
}

// begin returns the first calls for an archive.
func begin(version int) []string {
	return []string{"start\tx\t0", "hostname\tweb1", "timezone\tUTC", fmt.Sprint("version\t", version)}
}

const (
	indom = "0x3d400001"
	none  = "0xffffffff"
)

// TestInteropCalls checks that each call returns what the C function returns, and that the archive
// has the same bytes.
func TestInteropCalls(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", "gcc", "pcp/import.h", "-lpcp_import")
	lines, err := os.ReadFile("testdata/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for line := range strings.Lines(string(lines)) {
		if fields := strings.Split(strings.TrimSuffix(line, "\n"), " | "); fields[0] != "" && fields[0][0] != '#' {
			calls = append(calls, strings.Join(fields, "\t"))
		}
	}
	for _, version := range []int{2, 3} {
		compare(t, append(begin(version), calls...))
	}
}

// TestInteropRandomImports makes random calls with C and with this package, which must write the
// same bytes.
func TestInteropRandomImports(t *testing.T) {
	pcptest.Need(t, "pmlogcheck", "gcc", "pcp/import.h", "-lpcp_import")
	for i := range *imports {
		seed := *importSeed + uint64(i)
		if *importSeed == 0 {
			seed = rand.Uint64()
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			compare(t, randomCalls(rand.New(rand.NewPCG(seed, 0)), 2+i%2))
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// randomCalls returns calls, some in the order that programs use and some in another.
func randomCalls(r *rand.Rand, version int) []string {
	calls := append(begin(version), fmt.Sprintf("metric\tm.always\t%s\t0\t%s\t3\t0", none, none))
	metrics, instances, now, least := 0, 0, 1000, 0
	for range 400 {
		metric := fmt.Sprintf("m.n%d", r.IntN(metrics+2))
		instance := ""
		if r.IntN(2) == 0 {
			instance = fmt.Sprintf("inst%d", r.IntN(instances+1))
		}
		n := r.IntN(1000)
		switch k := r.IntN(100); {
		case k < 10:
			in := none
			if r.IntN(2) == 0 {
				in = indom
			}
			calls = append(calls, fmt.Sprintf("metric\tm.n%d\t%s\t%d\t%s\t%d\t%d", metrics, none, []int{0, 1, 2, 3, 4, 5, 6, 11}[r.IntN(8)], in, []int{1, 3, 4, 2}[r.IntN(4)], n%3<<28))
			metrics++
		case k < 18:
			calls = append(calls, fmt.Sprintf("instance\t%s\t%d\tinst%d", indom, instances, instances))
			instances++
		case k < 75:
			text := []string{fmt.Sprint(n), " 7", "1.5", "text"}[r.IntN(4)]
			if instance != "" { // C is inconsistent when one instance of a metric has a bad value
				text = fmt.Sprint(n)
			}
			calls = append(calls, fmt.Sprintf("put\t%s\t%s\t%s", metric, instance, text))
		case k < 78:
			calls = append(calls, fmt.Sprintf("handle\t%s\t%s", metric, instance))
		case k < 84:
			calls = append(calls, fmt.Sprintf("puthandle\t%d\t%d", r.IntN(9), n))
		case k < 94:
			now = max(now+r.IntN(3)-n%20/19, least)
			calls = append(calls, "put\tm.always\t\t1", fmt.Sprintf("write\t%d\t%d", now, n))
		case k < 95:
			now += 2
			least = now // C would accept times before the mark
			calls = append(calls, "mark")
		case k < 98:
			kind := r.IntN(2)
			ident := []string{fmt.Sprintf("0x3d4000%02x", 1+r.IntN(9)), []string{indom, "0x3d400077"}[n%2]}[kind]
			calls = append(calls, fmt.Sprintf("text\t%d\t%d\t%s\tText %d", []int{4, 8}[kind], 1+r.IntN(3), ident, n%7))
		default:
			class := r.IntN(7)
			ident := []string{none, "245", indom, "0x3d400000", fmt.Sprintf("0x3d4000%02x", 1+r.IntN(9)), indom, "1"}[class]
			calls = append(calls, fmt.Sprintf("label\t%d\t%s\t%d\tl%d\tvalue %d", 1<<class, ident, instances, n%5, n))
		}
	}
	return append(calls, "put\tm.always\t\t1", fmt.Sprintf("write\t%d\t0", now+5), "end")
}

// TestInteropErrors checks that the texts of errors are those of pmiErrStr.
func TestInteropErrors(t *testing.T) {
	pcptest.Need(t, "gcc", "pcp/import.h", "-lpcp_import")
	var calls, want []string
	for e := logimport.ErrDupMetricName + 1; e >= logimport.Error(-20026); e-- {
		calls = append(calls, fmt.Sprint("error\t", int(e)))
		want = append(want, e.Error())
	}
	if diff := cmp.Diff(pcptest.LogImport(t, t.TempDir(), calls), want); diff != "" {
		t.Errorf("(-C +ours):\n%s", diff)
	}
}
