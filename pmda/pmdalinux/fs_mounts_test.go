package pmdalinux

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/pmda"
	"pgregory.net/rapid"
)

// newMounts returns mounts on disks without metrics.
func newMounts(root string) *mounts {
	l := newLinux(Options{Root: root})
	m := &mounts{l: l, isListed: onDisk, name: func(device, _ []byte) []byte { return device }}
	m.rows.indom = &pmda.InDom{Serial: pmda.InDomSerial(5), Name: "file system"}
	l.Attach(m.rows.indom)
	return m
}

// TestMountsOnce checks that each of several readings lists each device once, at its first mount.
func TestMountsOnce(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		m := newMounts(root)
		for range rapid.IntRange(1, 8).Draw(t, "readings") {
			var text strings.Builder
			var want, got []string
			for i, device := range rapid.SliceOfN(rapid.StringMatching(`/dev/[a-f]`), 0, 12).Draw(t, "devices") {
				fmt.Fprintf(&text, "%s /%d ext4 rw 0 0\n", device, i)
				if !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(w, device+" ") }) {
					want = append(want, fmt.Sprintf("%s /%d", device, i))
				}
			}
			if err := m.parse([]byte(text.String())); err != nil {
				t.Fatal(err)
			}
			for at, f := range m.rows.Vals {
				got = append(got, m.rows.Names[at]+" "+f.dir)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal("(-want +got)\n", diff)
			}
			if len(m.at) > 2*len(m.rows.Names)+6 {
				t.Fatalf("it remembers %d devices of %d", len(m.at), len(m.rows.Names))
			}
		}
	})
}
