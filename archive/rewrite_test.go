package archive_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// writtenAnew lists the archives of the test suite with records that change when they are decoded
// and encoded again. The values say why.
var writtenAnew = map[string]string{
	"vldb-disks": "names that end with a NUL",
	"bozo-disk":  describedTwice, "daily_report": describedTwice, "log-derived": describedTwice,
}

const describedTwice = "metrics that are described more than once"

// TestInteropCopies copies archives that PCP wrote. The bytes are the same, for records that are
// copied unchanged and for records that are decoded and encoded again.
func TestInteropCopies(t *testing.T) {
	for _, base := range suiteArchives(t, 60_000) {
		t.Run(strings.TrimPrefix(base, suite+"/"), func(t *testing.T) {
			t.Parallel()
			s, err := archive.Open(t.Context(), base)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, decoded := range []bool{false, true} {
				write := (*archive.Writer).WriteRecord
				if decoded {
					write = writeDecoded
				}
				w := copyAll(t, s, archive.WriterOptions{Label: s.Label(), IndexEvery: -1}, write)
				diff := otherBytes(t, s, opened(t, w))
				if why := writtenAnew[strings.TrimPrefix(base, suite+"/")]; (diff != "") != (decoded && why != "") {
					t.Errorf("decoded %v: %q; expected %q", decoded, diff, why)
				}
			}
		})
	}
}

// copyAll copies all records of an archive.
func copyAll(t *testing.T, s *archive.Set, o archive.WriterOptions, write func(*archive.Writer, *archive.Record) error) *archive.Writer {
	t.Helper()
	w, err := o.Create(filepath.Join(t.TempDir(), "copy"))
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range s.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if err := write(w, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// writeDecoded decodes a record and writes its content.
func writeDecoded(w *archive.Writer, r *archive.Record) error {
	switch r.Kind {
	case archive.KindResult:
		var p pdu.Result
		return cmp.Or(r.Result(&p), w.WriteResult(&p))
	case archive.KindMark:
		return w.WriteMark(r.Time)
	case archive.KindDesc:
		m, err := r.Metric()
		return cmp.Or(err, w.WriteMetric(m))
	case archive.KindInDom, archive.KindInDomDelta:
		d, err := r.InDom()
		return cmp.Or(err, w.WriteInDom(d))
	case archive.KindLabels:
		l, err := r.Labels()
		return cmp.Or(err, w.WriteLabels(l))
	case archive.KindText:
		x, err := r.Text()
		return cmp.Or(err, w.WriteText(x))
	case archive.KindIndex:
		e, err := r.Entry()
		return cmp.Or(err, w.WriteIndex(e))
	}
	return w.WriteRecord(r)
}

// otherBytes compares the files of two archives, unpacked, and says where they differ.
func otherBytes(t *testing.T, a, b *archive.Set) (diff string) {
	t.Helper()
	x, y := a.Archives()[0], b.Archives()[0]
	volumes := []int{archive.VolumeMeta}
	if x.Files().Index != "" {
		volumes = append(volumes, archive.VolumeIndex)
	}
	for _, v := range x.Files().Volumes {
		volumes = append(volumes, v.Number)
	}
	if len(x.Files().Volumes) != len(y.Files().Volumes) || (x.Files().Index == "") != (y.Files().Index == "") {
		return fmt.Sprintf("files %+v, copied %+v", x.Files(), y.Files())
	}
	for _, v := range volumes {
		was, is := fileBytes(t, x, v), fileBytes(t, y, v)
		if a.Label().Version == 2 { // old writers left what was there behind the NUL of the time zone
			end := 88 + bytes.IndexByte(was[88:], 0)
			clear(was[end:128])
		}
		if !bytes.Equal(was, is) {
			i := 0
			for i < min(len(was), len(is)) && was[i] == is[i] {
				i++
			}
			diff += fmt.Sprintf("file %d: %d bytes, copied %d, the first other one at %d\n", v, len(was), len(is), i)
		}
	}
	return diff
}

func fileBytes(t *testing.T, a *archive.Archive, volume int) []byte {
	t.Helper()
	f, err := a.File(volume)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestInteropConverts converts an archive from version 2 to version 3. C programs find the same in
// both.
func TestInteropConverts(t *testing.T) {
	pcptest.Need(t, "pmdumplog", suite+"/omnibus_v2.meta")
	s, err := archive.Open(t.Context(), suite+"/omnibus_v2")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	label := s.Label()
	label.Version = 3
	w := copyAll(t, s, archive.WriterOptions{Label: label}, (*archive.Writer).WriteRecord)
	checkWithC(t, w.Base())
	ours, _, _ := pcptest.Run(t, nil, "", "pmdumplog", "-dim", w.Base())
	theirs, _, _ := pcptest.Run(t, nil, "", "pmdumplog", "-dim", suite+"/omnibus_v2")
	if sizes := regexp.MustCompile(`\[\d+ bytes\]|(\.\d{6})(000)?`); sizes.ReplaceAllString(ours, "$1") != sizes.ReplaceAllString(theirs, "$1") {
		t.Errorf("converted:\n%s\nwas:\n%s", ours, theirs)
	}
	back := s.Label()
	again := copyAll(t, opened(t, w), archive.WriterOptions{Label: back}, (*archive.Writer).WriteRecord)
	for _, v := range []int{archive.VolumeMeta, 0} {
		if !bytes.Equal(fileBytes(t, s.Archives()[0], v), fileBytes(t, opened(t, again).Archives()[0], v)) {
			t.Errorf("file %d of an archive that was converted and back is another one", v)
		}
	}
}
