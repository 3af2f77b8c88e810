package pcptest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const sampleCapture = `# made by hand

# this remark is about the file, the next about a PDU
# of two lines
< 00000014 00007000 00000000 00000000 02010e44
>000000150000701100000000 0000000e3231333500
== 9.4 Errors
# PM_ERR_PMID
< 00000010 00007000 00000000 ffffcfba
# after the last PDU
`

func TestParseCapture(t *testing.T) {
	want := []PDU{
		{Note: "this remark is about the file, the next about a PDU\nof two lines", Dir: ToClient,
			Bytes: []byte("\x00\x00\x00\x14\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x01\x0e\x44")},
		{Dir: ToServer, Bytes: []byte("\x00\x00\x00\x15\x00\x00\x70\x11\x00\x00\x00\x00\x00\x00\x00\x0e2135\x00")},
		{Section: "9.4 Errors", Note: "PM_ERR_PMID", Dir: ToClient,
			Bytes: []byte("\x00\x00\x00\x10\x00\x00\x70\x00\x00\x00\x00\x00\xff\xff\xcf\xba")},
	}
	fsys := fstest.MapFS{"a.txt": {Data: []byte(sampleCapture)}}
	got, err := ReadCaptureFS(fsys, "a.txt")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("err %v (-want +got):\n%s", err, diff)
	}
	var b bytes.Buffer
	if err := WriteCapture(&b, got); err != nil {
		t.Fatal(err)
	}
	again, err := ParseCapture(&b, "again")
	if diff := cmp.Diff(want, again); diff != "" || err != nil {
		t.Errorf("written and read: err %v (-want +got):\n%s", err, diff)
	}
	if got[1].Type() != 0x7011 || (PDU{}).Type() != 0 {
		t.Errorf("types %#x and %#x, want 0x7011 and 0", got[1].Type(), PDU{}.Type())
	}
}

func TestParseCaptureErrors(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"length", "> 00000011 00007000 00000000 ffffcfba", "x:1: the PDU's length word says 17 bytes, the line has 16"},
		{"short", "#\n\n< 00000004", "x:3: a PDU of 4 bytes is shorter"},
		{"hex", "< 0000000c 00007000 0000000g", "x:1: encoding/hex: invalid byte"},
		{"odd", "< 0000000c 00007000 0000000", "x:1: encoding/hex: odd length"},
		{"line", "0000000c 00007000 00000000", `x:1: want a line that starts with`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := ParseCapture(strings.NewReader(tc.in), "x")
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || got != nil {
				t.Errorf("got %v, %v, want an error that starts with %q", got, err, tc.want)
			}
		})
	}
}

// TestGoldenCaptures reads every golden capture, and keeps them small.
func TestGoldenCaptures(t *testing.T) {
	files, err := filepath.Glob("../../pdu/testdata/captures/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden captures: %v", err)
	}
	var total int64
	for _, file := range files {
		pdus, err := ReadCapture(file)
		if err != nil || len(pdus) == 0 {
			t.Errorf("%s: %d PDUs, %v", file, len(pdus), err)
		}
		st, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if total += st.Size(); st.Size() > 60_000 {
			t.Errorf("%s has %d bytes, more than 60,000", file, st.Size())
		}
	}
	if total > 1_500_000 {
		t.Errorf("the golden captures have %d bytes, more than 1,500,000", total)
	}
}
