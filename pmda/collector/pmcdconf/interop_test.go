package pmcdconf

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropConfig checks that pmcd -v reports the same faults for every case, and reads the same
// access rules.
func TestInteropConfig(t *testing.T) {
	pcptest.Need(t, "pmcd")
	complaint := regexp.MustCompile(`(?m)^pmcd config(.*)$`)
	for _, c := range slices.Concat(agentCases, accessCases) {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pmcd.conf")
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, stderr, status := runVerify(t, file)
			var said []string
			for _, m := range complaint.FindAllStringSubmatch(stderr, -1) {
				said = append(said, m[1])
			}
			conf, err := Load(file)
			same := (err == nil) == (status == 0)
			diff := cmp.Diff(slices.Sorted(slices.Values(said)), slices.Sorted(slices.Values(complaints(conf, err))))
			switch {
			case c.differs != "" && same && diff == "":
				t.Errorf("no difference any more, though pmcd %s", c.differs)
			case c.differs == "" && (!same || diff != ""):
				t.Errorf("pmcd -v exits %d, we with %v (-pmcd +we):\n%s", status, err, diff)
			}
			if err != nil || status != 0 {
				return
			}
			var tables bytes.Buffer
			conf.Access.WriteTables(&tables, nil)
			if !strings.HasSuffix(stderr, tables.String()) {
				t.Errorf("tables: pmcd has\n%s\nwe have\n%s", stderr, &tables)
			}
		})
	}
}

// runVerify runs pmcd -v with the option that also prints the access tables. If pmcd crashes, the
// script exits with status 127.
func runVerify(t *testing.T, file string) (stdout, stderr string, status int) {
	t.Helper()
	const script = `"$0" "$@"; s=$?; [ $s -gt 127 ] && s=127; exit $s`
	return pcptest.Run(t, nil, "", "/bin/sh", "-c", script, pcptest.Tool(t, "pmcd"), "-v", "-D", "appl1", "-c", file)
}

// TestInteropExtraAccess checks that the extra file of rules is used, and that messages about its
// errors have their own prefix.
func TestInteropExtraAccess(t *testing.T) {
	pcptest.Need(t, "pmcd")
	for _, extra := range []string{"allow .* : all;\n", "", "#\n", "[access]\nallow .* : all;\n", "disallow 1.2.3.4 : store;\n", "foo"} {
		file := filepath.Join(t.TempDir(), "pmcd.conf")
		for name, text := range map[string]string{file: pipe + "[access]\nallow 1.2.3.4 : all;\n", file + ".access": extra} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, stderr, status := runVerify(t, file)
		conf, err := Load(file)
		if (err == nil) != (status == 0) {
			t.Errorf("%q: pmcd -v exits %d, we with %v", extra, status, err)
		}
		for _, c := range complaints(conf, err) {
			if !strings.Contains(stderr, c+"\n") {
				t.Errorf("%q: pmcd does not say %q but\n%s", extra, c, stderr)
			}
		}
	}
}
