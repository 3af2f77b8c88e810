package logextract_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/pdu"
)

// drawArchive makes an archive of random records and metadata.
func drawArchive(rt *rapid.T, t *testing.T, base string) {
	b := build(t, base, rapid.IntRange(2, 3).Draw(rt, "version"))
	ids := []pdu.InstID{1, 2}
	now := 0.0
	for i := range rapid.IntRange(1, 12).Draw(rt, "records") {
		if i == 0 || rapid.Bool().Draw(rt, "instances") {
			ids = rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 9), func(n int) pdu.InstID { return pdu.InstID(n) }), 1, 5, rapid.ID).Draw(rt, "ids")
			slices.Sort(ids)
			b.instances(at(now), ids...)
		}
		if rapid.Bool().Draw(rt, "labels") {
			b.labels(at(now), fmt.Sprint("since ", i))
		}
		b.values(at(now), rapid.Uint32().Draw(rt, "value"), ids...)
		if rapid.Bool().Draw(rt, "mark") {
			now += 0.001
			b.check(b.WriteMark(at(now)))
		}
		now += float64(rapid.IntRange(1, 50).Draw(rt, "step")) / 10
	}
	b.check(b.Close())
}

// TestPropertyCutAndMerge checks that a copy, and a merge of two parts, have the same content as
// the original.
func TestPropertyCutAndMerge(t *testing.T) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(t.TempDir(), fmt.Sprint(n))
		mustMkdir(t, dir)
		in := filepath.Join(dir, "in")
		drawArchive(rt, t, in)
		want := dump(t, in)
		extract := func(o logextract.Options, name string, inputs ...string) string {
			out := filepath.Join(dir, name)
			if err := o.Run(t.Context(), inputs, out); err != nil && err != logextract.ErrNoRecords {
				rt.Fatal(err)
			} else if err != nil {
				return ""
			}
			return out
		}
		volumes := rapid.IntRange(0, 3).Draw(rt, "volume")
		if d := cmp.Diff(want, dump(t, extract(logextract.Options{Version: 3, VolumeRecords: volumes}, "copy", in))); d != "" {
			rt.Fatalf("copy (-want +got):\n%s", d)
		}
		cut := at(float64(rapid.IntRange(0, 300).Draw(rt, "cut")) / 10)
		parts := slices.DeleteFunc([]string{
			extract(logextract.Options{Until: cut}, "first", in),
			extract(logextract.Options{From: cut.Add(time.Microsecond)}, "second", in),
		}, func(s string) bool { return s == "" })
		got := dump(t, extract(logextract.Options{}, "merged", parts...))
		marks := func(s string) bool { return strings.HasSuffix(s, "mark") }
		if d := cmp.Diff(slices.DeleteFunc(slices.Clone(want), marks), slices.DeleteFunc(got, marks)); d != "" {
			rt.Fatalf("cut at %v and merged (-want +got):\n%s", cut.Sub(epoch), d)
		}
	})
}
