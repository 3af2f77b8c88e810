package archive_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var update = flag.Bool("update", false, "record the archives of testdata anew with the real PCP")

// recordConfig has pmlogger record numbers of every type, a string, an aggregate, instance domains,
// and metrics without values.
const recordConfig = `
log mandatory on once { sample.colour sample.string.hullo sample.aggregate.hullo }
log mandatory on 100 msec {
	sample.seconds sample.bin sample.float.million sample.double.million
	sample.longlong.million sample.ulonglong.million sample.dynamic.counter
	sample.dynamic.discrete sample.bad.novalues
	sample.error_code sample.dupnames.two.write_me
}
`

// TestRecordTestdata records the archives of testdata, if asked to.
func TestRecordTestdata(t *testing.T) {
	if !*update {
		t.Skip("run with -update to record testdata anew")
	}
	pcptest.Need(t, "pmlogger", "pmcd")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2", "3"} {
		base := "v" + version
		old, _ := filepath.Glob(filepath.Join(dir, base+".*"))
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		_, errs, status := pcptest.RunIn(t, dir, nil, recordConfig, "pmlogger",
			"-h", pmcd.Host(), "-V", version, "-s", "12", "-v", "5", "-t", "100msec", "-l", filepath.Join(t.TempDir(), "log"), base)
		if status != 0 {
			t.Fatalf("pmlogger -V %s: status %d, %s", version, status, errs)
		}
	}
}
