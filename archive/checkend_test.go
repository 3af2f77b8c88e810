package archive_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// TestCheckEnd damages the end of an archive of two volumes. CheckEnd reports an incomplete record
// once, with its file and offset, even if it is called several times.
func TestCheckEnd(t *testing.T) {
	const first = 808 // offset of the first record
	refused := errors.New("refused")
	for _, test := range []struct {
		name    string
		damage  func(volume []byte) []byte
		growing bool
		verdict error
		want    string
	}{
		{name: "sound"},
		{name: "cut record", damage: func(b []byte) []byte { return b[:len(b)-3] },
			want: "web1.1: record 2 at offset 864: record of 56 bytes, of which the file has 53"},
		{name: "refused", damage: func(b []byte) []byte { return b[:len(b)-3] }, verdict: refused,
			want: "web1.1: record 2 at offset 864: record of 56 bytes, of which the file has 53"},
		{name: "cut length", damage: func(b []byte) []byte { return b[:len(b)-54] }, want: "web1.1: record 2 at offset 864: 2 bytes at the end of the file"},
		{name: "no complete record in the last volume", damage: func(b []byte) []byte { return b[:first+20] },
			want: "web1.1: record 1 at offset 808: record of 56 bytes, of which the file has 20"},
		{name: "label alone in the last volume", damage: func(b []byte) []byte { return b[:first] }},
		{name: "growing", damage: func(b []byte) []byte { return b[:len(b)-3] }, growing: true},
		{name: "malformed", damage: func(b []byte) []byte { be.PutUint32(b[len(b)-4:], 7); return b }}, // reading reports it
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMaker(fstest.MapFS{}, "web1", 3, at(0))
			m.value(0, at(0), 1)
			m.value(0, at(10), 2)
			m.volume(1)
			m.value(1, at(20), 3)
			m.value(1, at(30), 4)
			if f := m.fs["web1.1"]; test.damage != nil {
				f.Data = test.damage(f.Data)
			}
			var reports []string
			o := archive.Options{FS: m.fs, NoIndex: true, Growing: test.growing, Damaged: func(err error) error {
				reports = append(reports, err.Error())
				return test.verdict
			}}
			s, err := o.Open(t.Context(), "web1")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for range 3 {
				if _, err := s.End(); err != nil {
					t.Error(err)
				}
				if err := s.CheckEnd(); err != test.verdict {
					t.Errorf("%v, want %v", err, test.verdict)
				}
			}
			want := ""
			if test.want != "" {
				want = "archive: " + test.want + ": " + pdu.ErrLogRec.Error()
			}
			if got := strings.Join(reports, "\n"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
