package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestInteropCounterReset compares the values between the records around the reset of a counter,
// and their rates. As in C, the values lie on a line between those of the two records. A rate
// from before the reset to the first part of that line is positive, and so does not show the reset.
func TestInteropCounterReset(t *testing.T) {
	pcptest.Need(t, "pmval")
	ours := pcptest.Build(t, "./examples/pmval")
	base := filepath.Join(t.TempDir(), "reset")
	types := []pdu.Type{pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble}
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	name := func(typ pdu.Type) string { return "reset.t" + strings.ToLower(typ.String()) }
	for _, typ := range types {
		if _, err := im.AddMetric(name(typ), pdu.Desc{Type: typ, InDom: pdu.NoInDom, Sem: pdu.SemCounter}); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	for i, value := range []string{"50", "100", "3", "53", "103"} {
		for _, typ := range types {
			err = errors.Join(err, im.PutText(name(typ), "", value))
		}
		err = errors.Join(err, im.Write(start.Add(time.Duration(i)*10*time.Second)))
	}
	if err := errors.Join(err, im.Close()); err != nil {
		t.Fatal(err)
	}
	for _, typ := range types {
		for _, options := range []string{"-r -t 12", "-t 12"} {
			args := strings.Fields("-z " + options + " -a " + base + " " + name(typ))
			if diff := cmp.Diff(runProgram(t, "pmval", args...), runProgram(t, ours, args...)); diff != "" {
				t.Errorf("pmval %s (-PCP +ours):\n%s", strings.Join(args, " "), diff)
			}
		}
	}
}
