package helptext_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/pdu"
)

var targets = cmp.AllowUnexported(pdu.TextTarget{})

// entries are some, not in the order of a directory.
var entries = []helptext.Entry{
	{Key: "7.2", Of: pdu.TextOfInDom(pdu.MakeInDom(7, 2)), OneLine: "indom", Help: "text"},
	{Key: "a", Of: pdu.TextOfMetric(pdu.MakePMID(2, 2, 3)), OneLine: "One line"},
	{Key: "b", Of: pdu.TextOfMetric(pdu.MakePMID(1, 2, 3)), OneLine: "x", Help: "1\n2"},
	{Key: "c", Of: pdu.TextOfMetric(pdu.MakePMID(9, 0, 4)), Help: "h"},
	{Key: "9.1", Of: pdu.TextOfInDom(pdu.MakeInDom(9, 1))},
}

const compiledPag = "PcPh22\n\n@ 7.2 indom\x00text\x00\n@ a One line\x00\x00\n@ b x\x001\n2\x00\n@ c \x00h\x00\n@ 9.1 \x00\x00"

// compiledDir is the directory in a byte order.
func compiledDir(order binary.AppendByteOrder) (b []byte) {
	for _, w := range []uint32{
		0x50635068, 0x31320000, 5,
		9<<22 | 4, 56, 57,
		2<<22 | 2<<10 | 3, 30, 39,
		1<<22 | 2<<10 | 3, 45, 47,
		1<<31 | 9<<22 | 1, 66, 67,
		1<<31 | 7<<22 | 2, 14, 20,
	} {
		b = order.AppendUint32(b, w)
	}
	return b
}

func TestCompile(t *testing.T) {
	dir, pag, err := helptext.Compile(entries)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(compiledPag, string(pag)); diff != "" {
		t.Errorf(".pag (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(compiledDir(binary.NativeEndian), dir); diff != "" {
		t.Errorf(".dir (-want +got):\n%s", diff)
	}
	for _, e := range []helptext.Entry{{Key: "a\x00"}, {OneLine: "\x00"}, {Help: "x\x00"}} {
		if _, _, err := helptext.Compile([]helptext.Entry{{}, e}); err == nil || !strings.HasPrefix(err.Error(), "entry 1: ") {
			t.Errorf("Compile(%q): error %v", e, err)
		}
	}
}

func TestDecode(t *testing.T) {
	var want []helptext.Entry
	for _, i := range []int{3, 1, 2, 4, 0} {
		e := entries[i]
		e.Key = ""
		want = append(want, e)
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		got, err := helptext.Decode(compiledDir(order), []byte(compiledPag))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, targets); diff != "" {
			t.Errorf("%v (-want +got):\n%s", order, diff)
		}
	}
	// As C's reader, of the second word only the upper half, and nothing behind the entries.
	dir := append(compiledDir(binary.LittleEndian), "behind"...)
	dir[4] = 1
	if got, err := helptext.Decode(dir, []byte(compiledPag)); err != nil || len(got) != 5 {
		t.Errorf("%d entries, error %v", len(got), err)
	}
}

func TestDecodeMalformed(t *testing.T) {
	good := compiledDir(binary.LittleEndian)
	with := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	const header = "Bad format, not version 2 PCP help text"
	for _, tt := range []struct {
		name string
		dir  []byte
		pag  string
		want string
	}{
		{"no directory", nil, compiledPag, header},
		{"short header", good[:11], compiledPag, header},
		{"magic", with(0, 0x50635069), compiledPag, header},
		{"version", with(4, 0x31310000), compiledPag, header},
		{"no texts", good, "", header},
		{"texts of version 1", good, "PcPh12\n", header},
		{"short directory", good[:60], compiledPag, "entry 4: the directory ends, it should have 5 entries"},
		{"many entries", with(8, 0xffffffff), compiledPag, "entry 5: the directory ends, it should have 4294967295 entries"},
		{"offset", with(16, uint32(len(compiledPag))), compiledPag, fmt.Sprintf("entry 0: a text begins at %d, behind the end of the file", len(compiledPag))},
		{"high offset", with(20, 0xffffffff), compiledPag, "entry 0: a text begins at 4294967295, behind the end of the file"},
		{"no end", good, compiledPag[:58], "entry 0: the text at 57 has no end, or is part of others"},
		{"overlap", with(16, 0), compiledPag[:19] + strings.Repeat("x", 200) + "\x00", "entry 0: the text at 57 has no end, or is part of others"},
	} {
		got, err := helptext.Decode(tt.dir, []byte(tt.pag))
		if e, ok := errors.AsType[*helptext.FormatError](err); !ok || err.Error() != tt.want || got != nil || !errors.Is(e, syscall.EINVAL) {
			t.Errorf("%s: %d entries, error %v, want %s", tt.name, len(got), err, tt.want)
		}
	}
}

// FuzzDecode reads compiled files from outside: the texts are no longer than the files, and
// what is accepted survives.
func FuzzDecode(f *testing.F) {
	f.Add(compiledDir(binary.LittleEndian), []byte(compiledPag))
	f.Add(compiledDir(binary.BigEndian), []byte(compiledPag))
	f.Add(compiledDir(binary.LittleEndian)[:50], []byte(compiledPag)[:40])
	f.Add([]byte("hPcP\x00\x0021\xff\xff\xff\xff"), []byte("PcPh22\n"))
	f.Fuzz(func(t *testing.T, dir, pag []byte) {
		got, err := helptext.Decode(dir, pag)
		if err != nil {
			if _, ok := errors.AsType[*helptext.FormatError](err); !ok || got != nil {
				t.Errorf("%d entries, error %v", len(got), err)
			}
			return
		}
		size := 0
		for _, e := range got {
			size += len(e.OneLine) + len(e.Help)
		}
		if size > len(pag) || len(got) > len(dir)/12 {
			t.Errorf("%d entries of %d bytes from %d and %d", len(got), size, len(dir), len(pag))
		}
		dir2, pag2, err := helptext.Compile(got)
		if err != nil {
			t.Fatal(err)
		}
		again, err := helptext.Decode(dir2, pag2)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(helptext.Index(got), helptext.Index(again), targets); diff != "" {
			t.Errorf("compiled again (-before +after):\n%s", diff)
		}
	})
}

func TestRead(t *testing.T) {
	dir := &fstest.MapFile{Data: compiledDir(binary.NativeEndian)}
	pag := &fstest.MapFile{Data: []byte(compiledPag)}
	big := &fstest.MapFile{Data: make([]byte, helptext.MaxFile+1)}
	for _, tt := range []struct {
		name string
		fsys fstest.MapFS
		want string // error
	}{
		{"good", fstest.MapFS{"x/help.dir": dir, "x/help.pag": pag}, ""},
		{"no directory", fstest.MapFS{"x/help.pag": pag}, "open x/help.dir: file does not exist"},
		{"no texts", fstest.MapFS{"x/help.dir": dir}, "open x/help.pag: file does not exist"},
		{"swapped", fstest.MapFS{"x/help.dir": pag, "x/help.pag": dir}, "Bad format, not version 2 PCP help text"},
		{"folder", fstest.MapFS{"x/help.dir/y": dir, "x/help.pag": pag}, "Bad format, not version 2 PCP help text"},
		{"big", fstest.MapFS{"x/help.dir": big, "x/help.pag": pag}, "x/help.dir has more than 16777216 bytes"},
	} {
		got, err := helptext.Read(tt.fsys, "x/help")
		if tt.want == "" && (err != nil || len(got) != 5) || tt.want != "" && (err == nil || err.Error() != tt.want || got != nil) {
			t.Errorf("%s: %d entries, error %v, want %q", tt.name, len(got), err, tt.want)
		}
	}
	source, err := helptext.ReadSource(fstest.MapFS{"help": {Data: []byte("@ a x\n")}}, "help")
	if string(source) != "@ a x\n" || err != nil {
		t.Errorf("source %q, error %v", source, err)
	}
	if _, err := helptext.ReadSource(fstest.MapFS{"help/x": {}}, "help"); err == nil || err.Error() != "help is no regular file" {
		t.Errorf("a folder: error %v", err)
	}
	if _, err := helptext.ReadSource(fstest.MapFS{}, "help"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

// TestIndex: of a metric the first entry counts, of an instance domain the last.
func TestIndex(t *testing.T) {
	m, d := pdu.TextOfMetric(pdu.MakePMID(1, 2, 3)), pdu.TextOfInDom(pdu.MakeInDom(1, 2))
	index := helptext.Index([]helptext.Entry{{Of: m, Help: "1"}, {Of: d, Help: "2"}, {Of: m, Help: "3"}, {Of: d, Help: "4"}})
	if got := index[m].Help + index[d].Help; got != "14" || len(index) != 2 {
		t.Errorf("%d entries, %s", len(index), got)
	}
}
