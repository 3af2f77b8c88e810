package logimport_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
)

var (
	imports    = flag.Int("imports", 10, "how many random imports to compare with libpcp_import")
	importSeed = flag.Uint64("importseed", 0, "the seed of the first random import")
)

var disks = pdu.MakeInDom(logimport.Domain, 1)

// begun returns an Importer with two metrics, one of them with instances.
func begun(t testing.TB, version int) *logimport.Importer {
	t.Helper()
	im, err := logimport.New(filepath.Join(t.TempDir(), "a"), archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = im.AddMetric("load", pdu.Desc{Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
	_, err2 := im.AddMetric("disk.read", pdu.Desc{Type: pdu.TypeU64, InDom: disks, Sem: pdu.SemCounter})
	if err := errors.Join(err, err2, im.AddInstance(disks, "sdb", 7), im.AddInstance(disks, "sda", 3)); err != nil {
		t.Fatal(err)
	}
	return im
}

// texts returns the records of an archive as text, with the instances at the time of each.
func texts(t testing.TB, base string) []string {
	t.Helper()
	s, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var lines []string
	c := s.Cursor()
	for err = c.Next(); err == nil; err = c.Next() {
		r, err := c.Result()
		if err != nil {
			t.Fatal(err)
		}
		line := c.Time().UTC().Format("05.000")
		for _, set := range r.All() {
			d, _ := s.Metadata().Desc(set.PMID)
			line += fmt.Sprint(" ", set.PMID, " ", set.Err())
			for inst, a := range set.All(d.Type) {
				text := a.String()
				if v, err := pdu.As[float64](a); err == nil && d.Type == pdu.TypeDouble {
					text = fmt.Sprint(v) // with all digits
				}
				line += fmt.Sprint(" ", inst, "=", text)
			}
		}
		if in := s.Metadata().InDom(disks); in != nil {
			line += fmt.Sprint(" ", in.At(c.Time()))
		}
		lines = append(lines, line)
	}
	if !errors.Is(err, pdu.ErrEOL) {
		t.Fatal(err)
	}
	return lines
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// base returns the base name of an archive that has files.
func base(im *logimport.Importer) string { return strings.TrimSuffix(im.Writer().Paths()[0], ".meta") }

// TestInstances checks that instances added in any order keep their names, and that values are
// sorted by instance.
func TestInstances(t *testing.T) {
	for _, version := range []int{2, 3} {
		im := begun(t, version)
		err := errors.Join(
			im.Put("disk.read", "sdb", pdu.Uint64(2)), im.PutText("disk.read", "sda", "1"), im.Write(time.Unix(1, 0)),
			im.AddInstance(disks, "nvme0", 5), im.PutText("disk.read", "nvme0", "9"), im.PutText("load", "", "0.5"), im.Write(time.Unix(2, 0)),
			im.PutMark(), im.Close())
		if err != nil {
			t.Fatal(err)
		}
		check(t, texts(t, base(im)),
			"01.000 245.0.2 <nil> 3=1 7=2 [{3 sda} {7 sdb}]",
			"02.000 245.0.2 <nil> 5=9 245.0.1 <nil> -1=0.5 [{3 sda} {5 nvme0} {7 sdb}]",
			"02.001 [{3 sda} {5 nvme0} {7 sdb}]")
	}
}

// TestHandles puts values with handles.
func TestHandles(t *testing.T) {
	im := begun(t, 3)
	sda, err := im.Handle("disk.read", "sda")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what      string
		got, want error
	}{
		{"value", sda.Put(pdu.Uint64(8)), nil},
		{"twice", sda.Put(pdu.Uint64(8)), logimport.ErrDupValue},
		{"no handle", logimport.Handle{}.Put(pdu.Uint64(1)), logimport.Error(-20007)},
		{"no handle of a text", logimport.Handle{}.PutText("1"), logimport.Error(-20007)},
		{"write", im.Write(time.Unix(1, 0)), nil},
		{"again", sda.Put(pdu.Uint64(9)), nil},
		{"another type", im.Put("load", "", pdu.Uint64(1)), pdu.ErrConv},
		{"negative instance", im.AddInstance(disks, "x", -1), pdu.ErrInst},
		{"no domain", im.AddInstance(pdu.NoInDom, "x", 1), pdu.ErrInDom},
		{"NUL", im.PutHelp(pdu.TextOneLine|pdu.TextPMID, 1, "a\x00"), pdu.ErrText},
		{"write", im.Write(time.Unix(2, 0)), nil},
		{"close", im.Close(), nil},
		{"close again", im.Close(), nil},
		{"closed", errors.Join(sda.Put(pdu.Uint64(1)), im.Write(time.Unix(3, 0))), fs.ErrClosed},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: %v, want %v", test.what, test.got, test.want)
		}
	}
	if _, err := logimport.New(base(im), archive.WriterOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an archive that exists: %v", err)
	}
	if _, err := logimport.New(t.TempDir()+"/x", archive.WriterOptions{Label: archive.Label{Version: 4}}); err != logimport.Error(-20025) {
		t.Errorf("version 4: %v", err)
	}
	check(t, texts(t, base(im)),
		"01.000 245.0.2 <nil> 3=8 [{3 sda} {7 sdb}]",
		"02.000 245.0.2 <nil> 3=9 245.0.1 "+pdu.ErrConv.Error()+" [{3 sda} {7 sdb}]")
}

// TestNext checks that the next archive has the metrics, instances, handles and texts of the
// previous one, and only its own values.
func TestNext(t *testing.T) {
	im := begun(t, 3)
	h, err := im.Handle("disk.read", "sdb")
	if err != nil {
		t.Fatal(err)
	}
	help := uint32(pdu.MakePMID(logimport.Domain, 0, 1))
	err = errors.Join(im.PutHelp(pdu.TextOneLine|pdu.TextPMID, help, "load"), h.PutText("1"), im.Write(time.Unix(5, 0)), h.PutText("2"))
	if err != nil {
		t.Fatal(err)
	}
	first := base(im)
	if err := im.Next(first, archive.WriterOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the same name again: %v", err)
	}
	err = errors.Join(im.Next(first+"b", archive.WriterOptions{}), h.PutText("3"), im.Write(time.Unix(1, 0)), im.Close())
	if err != nil {
		t.Fatal(err)
	}
	check(t, texts(t, first), "05.000 245.0.2 <nil> 7=1 [{3 sda} {7 sdb}]")
	check(t, texts(t, first+"b"), "01.000 245.0.2 <nil> 7=3 [{3 sda} {7 sdb}]")
	s, err := archive.Open(t.Context(), first+"b")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if text, _ := s.Metadata().Text(pdu.TextOneLine|pdu.TextPMID, help); text != "load" {
		t.Errorf("help text %q", text)
	}
}

// TestTexts checks that PutText converts numbers like strtod and strtol, within the range of the
// type.
func TestTexts(t *testing.T) {
	const no = "Impossible value or scale conversion"
	for _, test := range []struct{ text, i32, u32, i64, u64, double string }{
		{" 5", "5", "5", "5", "5", "5"},
		{"+5", "5", "5", "5", "5", "5"},
		{"-5", "-5", no, "-5", no, "-5"},
		{"5 ", no, no, no, no, no},
		{"", no, no, no, no, no},
		{"++5", no, no, no, no, no},
		{"1_0", no, no, no, no, no},
		{"0x10", no, no, no, no, "16"},
		{"0x1p3", no, no, no, no, "8"},
		{"010", "10", "10", "10", "10", "10"},
		{"1.5", no, no, no, no, "1.5"},
		{"2147483648", no, "2147483648", "2147483648", "2147483648", "2.147483648e+09"},
		{"18446744073709551615", no, no, no, "18446744073709551615", "1.8446744073709552e+19"},
		{"18446744073709551616", no, no, no, no, "1.8446744073709552e+19"},
		{"1e400", no, no, no, no, no},
	} {
		im := begun(t, 2)
		row := []string{test.i32, test.u32, test.i64, test.u64, "", test.double}
		want := "01.000"
		for typ := pdu.Type32; typ <= pdu.TypeDouble; typ++ {
			if typ == pdu.TypeFloat {
				continue
			}
			id, err := im.AddMetric(fmt.Sprint("m", int(typ)), pdu.Desc{Type: typ, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete})
			if err != nil {
				t.Fatal(err)
			}
			err = im.PutText(fmt.Sprint("m", int(typ)), "", test.text)
			if (err != nil) != (row[typ] == no) || err != nil && err != pdu.ErrConv {
				t.Errorf("%q as %v: %v", test.text, typ, err)
			}
			if want += " " + id.String() + " "; row[typ] == no {
				want += pdu.ErrConv.Error()
			} else {
				want += "<nil> -1=" + row[typ]
			}
		}
		if err := errors.Join(im.Write(time.Unix(1, 0)), im.Close()); err != nil {
			t.Fatal(err)
		}
		check(t, texts(t, base(im)), want)
	}
}

// TestAllocs checks that putting values with handles does not allocate.
func TestAllocs(t *testing.T) {
	im := begun(t, 3)
	read, err := im.Handle("disk.read", "sda")
	load, err2 := im.Handle("load", "")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	step := func() {
		n++
		if err := errors.Join(read.Put(pdu.Uint64(uint64(n))), load.PutText("0.25"), im.PutText("disk.read", "sdb", "12"), im.Write(time.Unix(n, 0))); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(200, step); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
