package logrewrite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// FuzzRewrite applies arbitrary rules to an archive. Any output must be readable.
func FuzzRewrite(f *testing.F) {
	for _, rules := range []string{
		`global { hostname -> web2 tz -> "CET" time -> -1:30:00 } metric boot.time { type -> double name -> b.t }`,
		`indom 60.1 { inst 1 -> 60 iname "sda" -> "disk" iname "sdc" -> delete indom -> duplicate 61.1 }`,
		`metric disk.dev.read { type -> U64 name -> disk.reads units -> 0,0,1,0,0,ONE sem -> counter indom -> NULL output sum }`,
		`text metric 60.0.4 oneline { text -> "other" } label domain 60 "agent" { value -> "x" } label context { new "a" 1 }`,
		`metric 60.*.* { pmid -> 62.*.* } indom 60.* { indom -> 62.* }`,
	} {
		f.Add(false, uint8(3), rules)
		f.Add(true, uint8(2), rules)
	}
	f.Fuzz(func(t *testing.T, rescale bool, version uint8, text string) {
		rules, err := Parse("rules", strings.NewReader(text))
		if err != nil {
			return
		}
		in := input(t, int(2+version%2))
		out := in + ".out"
		err = (Options{Rescale: rescale}).Rewrite(t.Context(), in, out, rules)
		if err != nil {
			if left, _ := filepath.Glob(out + "*"); left != nil {
				t.Errorf("left after %v: %v", err, left)
			}
			return
		}
		set, err := archive.Open(t.Context(), out)
		if errors.Is(err, pdu.ErrNoData) { // all metrics are deleted
			return
		}
		if err != nil {
			if left, _ := filepath.Glob(out + "*"); left == nil { // no data record is left
				return
			}
			t.Fatal(err)
		}
		defer set.Close()
		for r, err := range set.Records() {
			if err != nil {
				t.Fatal(err)
			}
			var values pdu.Result
			if r.Kind == archive.KindResult {
				if err := r.Result(&values); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range values.All() {
				if _, ok := set.Metadata().Desc(s.PMID); !ok {
					t.Errorf("no descriptor of %v", s.PMID)
				}
			}
		}
	})
}
