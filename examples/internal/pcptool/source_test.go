package pcptool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeSources writes files of hosts and folios for TestSources, and returns their directory.
func writeSources(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"hosts":     "one\n# a comment\n\n  two more words\nthree,four\n",
		"host":      "one\n",
		"folio":     "PCPFolio\nVersion: 1\n# x\nCreated: on vm\nArchive:\thost\t/abs/y\n\nArchive: h z\nArchive:\th ../q r\n",
		"nomagic":   "Folio\n",
		"empty":     "",
		"noversion": "PCPFolio\n",
		"version2":  "PCPFolio\nVersion: 2\n",
		"nohost":    "PCPFolio\nVersion: 1\nArchive:\n",
		"nopath":    "PCPFolio\nVersion: 1\n\nArchive:a b\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSources has the sources that the C library's pmGetOptions(3) finds in these options.
func TestSources(t *testing.T) {
	dir := writeSources(t)
	t.Setenv("PCP_ARCHIVE_DIR", dir)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, single, multi string }{
		{"-O 3", "a[$/" + host + "]", "a[$/" + host + "]"},
		{"-O 3 -h x", "time window options are supported for archives only", "time window options are supported for archives only"},
		{"-O 3 -a x", "a[x]", "a[x]"},
		{"-a x -a y", "a[x,y]", "a[x y]"},
		{"-a x,y", "a[x,y]", "a[x,y]"},
		{"-a x,y -a y -a z -a x -a xx", "a[x,y,z,xx]", "a[x,y y z x xx]"},
		{"-a x -a y,x -a y", "a[x,y,x]", "a[x y,x y]"},
		{"--archive-list=a,b --archive=c", "a[a,b,c]", "a[a b c]"},
		{"--archive-list=a,,b,", "a[a,,b,]", "a[a  b]"},
		{"-h x -h y", "too many hosts requested: y", "h[x y]"},
		{"-h x,y", "h[x,y]", "h[x,y]"},
		{"--host-list=a,,b,", "too many hosts requested: a,,b,", "h[a b]"},
		{"--host-list=,a", "h[a]", "h[a]"},
		{"-h c --host-list=a", "too many hosts requested: a", "h[c a]"},
		{"-h c --host-list=", "h[c]", "h[c]"},
		{"-H $/hosts", "too many hosts requested: $/hosts", "h[one two three,four]"},
		{"-H $/host", "h[one]", "h[one]"},
		{"-h a -H $/host", "too many hosts requested: $/host", "h[a one]"},
		{"-H $/nosuch", "cannot open hosts file $/nosuch: No such file or directory", "cannot open hosts file $/nosuch: No such file or directory"},
		{"-h a -a b", "only one host or archive allowed", "only one host or archive allowed"},
		{"-a b -h a", "only one host or archive allowed", "only one host or archive allowed"},
		{"-a b -H $/host", "only one of hosts or archives allowed", "only one of hosts or archives allowed"},
		{"-a b --host-list=a", "only one of hosts or archives allowed", "only one of hosts or archives allowed"},
		{"-h b --archive-list=a", "only one of hosts or archives allowed", "only one of hosts or archives allowed"},
		{"--archive-folio=$/folio", "a[/abs/y,$/z,$/../q]", "a[/abs/y $/z $/../q]"},
		{"-h b --archive-folio=$/folio", "only one of hosts or archives allowed", "only one of hosts or archives allowed"},
		{"--archive-folio=$/nosuch", "cannot open archive folio $/nosuch: No such file or directory", ""},
		{"--archive-folio=$/nomagic", "archive folio $/nomagic has bad magic", ""},
		{"--archive-folio=$/empty", "archive folio $/empty has no header", ""},
		{"--archive-folio=$/noversion", "archive folio $/noversion has no version", ""},
		{"--archive-folio=$/version2", "unknown version archive folio $/version2", ""},
		{"--archive-folio=$/nohost", "missing host on archive folio line 3", ""},
		{"--archive-folio=$/nopath", "missing path on archive folio line 4", ""},
	} {
		for _, multi := range []bool{false, true} {
			want := tt.single
			if multi && tt.multi != "" {
				want = tt.multi
			}
			c := &Command{Name: "pmx", Multi: multi}
			c.AddOptions("General options", c.Standard("archive", "archive-list", "archive-folio", "host", "host-list", "hostsfile", "origin")...)
			_, err := c.Parse(strings.Fields(strings.ReplaceAll(tt.args, "$", dir)))
			got := ""
			switch names := c.Archives(); {
			case len(names) > 0:
				got = fmt.Sprintf("a%v", names)
			case err == nil:
				got = fmt.Sprintf("h%v", c.Hosts())
			}
			if err != nil {
				line, _, _ := strings.Cut(err.Error(), "\n")
				got = strings.TrimPrefix(line, "pmx: ")
			}
			if diff := cmp.Diff(strings.ReplaceAll(want, "$", dir), got); diff != "" {
				t.Errorf("%s, multi %t (-want +got):\n%s", tt.args, multi, diff)
			}
		}
	}
}
