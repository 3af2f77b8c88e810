package pmapi_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// openChangedBlocks opens an archive of one metric, shop.sold, whose instances 0 to 5 have the
// values 10 to 15 in each of three records. In the second one, change has changed where their
// blocks are.
func openChangedBlocks(t *testing.T, version int, change func(index []byte)) *pmapi.Context {
	t.Helper()
	base := filepath.Join(t.TempDir(), "shop")
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	doors := pdu.MakeInDom(60, 1)
	if _, err := im.AddMetric("shop.sold", pdu.Desc{Type: pdu.TypeU64, InDom: doors, Sem: pdu.SemInstant}); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := im.AddInstance(doors, fmt.Sprint("door", i), pdu.InstID(i)); err != nil {
			t.Fatal(err)
		}
	}
	for second := range int64(3) {
		for i := range 6 {
			if err := im.PutText("shop.sold", fmt.Sprint("door", i), fmt.Sprint(10+i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.Write(time.Unix(1000+second, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Close(); err != nil {
		t.Fatal(err)
	}
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	cursor := set.Cursor()
	for range 2 {
		if err := cursor.Next(); err != nil {
			t.Fatal(err)
		}
	}
	r := cursor.Record()
	at := int(r.Offset) + len(r.Raw) - 4 - 6*12 - 6*8 // before the six blocks and the length
	set.Close()
	data, err := os.ReadFile(base + ".0")
	if err != nil {
		t.Fatal(err)
	}
	if id := binary.BigEndian.Uint32(data[at:]); id != 0 {
		t.Fatalf("instance %d is the first, want 0", id)
	}
	change(data[at+4 : at+6*8])
	if err := os.WriteFile(base+".0", data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Derived metrics have the values and errors of their operands, in any layout of the archive.
func TestDerivedOfChangedBlocks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values string // of the second record; empty if that is malformed
		change func(index []byte)
	}{
		{"as written", "[10 11 12 13 14 15]", func([]byte) {}},
		{"two are exchanged", "[10 12 11 13 14 15]", func(index []byte) {
			second, third := binary.BigEndian.Uint32(index[8:]), binary.BigEndian.Uint32(index[16:])
			binary.BigEndian.PutUint32(index[8:], third)
			binary.BigEndian.PutUint32(index[16:], second)
		}},
		{"two are the same", "[10 11 11 13 14 15]", func(index []byte) { copy(index[16:20], index[8:12]) }},
		{"one is beyond the end", "", func(index []byte) { binary.BigEndian.PutUint32(index[40:], 1<<20) }},
		{"one is among the sets", "", func(index []byte) { binary.BigEndian.PutUint32(index, 4) }},
	} {
		for version := 2; version <= 3; version++ {
			t.Run(fmt.Sprint(tt.name, "/version ", version), func(t *testing.T) {
				plain := openChangedBlocks(t, version, tt.change)
				derived := openChangedBlocks(t, version, tt.change)
				if err := derived.Derive(t.Context(), "shop.same", "shop.sold + 0"); err != nil {
					t.Fatal(err)
				}
				want, got := recordsOf(t, plain, "shop.sold"), recordsOf(t, derived, "shop.same")
				second := "1001 " + tt.values
				if tt.values == "" {
					second = fmt.Sprint(pdu.ErrLogRec)
				}
				if len(want) < 2 || want[1] != second {
					t.Errorf("records %q, want %q as the second", want, second)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("derived %q\nwant    %q", got, want)
				}
			})
		}
	}
}

// recordsOf returns the time and the values of a metric in each record, up to the first error.
func recordsOf(t *testing.T, c *pmapi.Context, name string) (records []string) {
	t.Helper()
	ids, err := c.Lookup(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	for range 5 {
		if err := c.Fetch(t.Context(), ids, &r); err != nil {
			return append(records, fmt.Sprint(pdu.FromError(err)))
		}
		var values []string
		for _, a := range r.At(0).All(pdu.TypeU64) {
			values = append(values, a.String())
		}
		records = append(records, fmt.Sprint(r.Time.Unix(), " ", values))
	}
	return records
}
