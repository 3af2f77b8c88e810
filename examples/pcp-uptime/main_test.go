package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
)

// TestMissingValue: the error of a missing value has the name of its metric.
func TestMissingValue(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	var errs []error
	for _, name := range metrics {
		_, err := im.AddMetric(name, pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemInstant, InDom: pdu.NoInDom})
		errs = append(errs, err)
	}
	errs = append(errs, im.Put("kernel.all.uptime", "", pdu.Uint32(60)), im.Write(time.Unix(1000, 0)))
	for _, name := range metrics {
		errs = append(errs, im.Put(name, "", pdu.Uint32(1)))
	}
	if err := errors.Join(append(errs, im.Write(time.Unix(1001, 0)), im.Close())...); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PCP_ARCHIVE", base)
	t.Setenv("PCP_DERIVED_CONFIG", "")
	args := os.Args
	defer func() { os.Args = args }()
	os.Args = []string{"pcp-uptime"}
	err = run(t.Context(), &pcptool.Command{Name: "pcp-uptime", HighRes: true})
	const want = "Missing metric value(s) ['kernel.all.nusers', 'kernel.all.load']"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
