package pcptool_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// recorded is an archive of package archive.
const recorded = "../../../archive/testdata/v3"

// openArchive opens an archive with the options given.
func openArchive(t *testing.T, c *pcptool.Command, name string, args ...string) *pmapi.Context {
	t.Helper()
	c.Name = "pmx"
	c.AddOptions("General options", c.Standard("archive", "origin", "start", "finish", "align")...)
	if _, err := c.Parse(append([]string{"-a", name}, args...)); err != nil {
		t.Fatal(err)
	}
	pc, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	return pc
}

// TestFetchAtOrigin fetches a metric that was recorded once, at the start, after a metric of the
// end.
func TestFetchAtOrigin(t *testing.T) {
	c := new(pcptool.Command)
	pc := openArchive(t, c, recorded)
	if !pcptool.IsArchive(pc) {
		t.Error("not an archive")
	}
	if err := c.SetTimes(t.Context(), pc); err != nil {
		t.Fatal(err)
	}
	ids, err := pc.Lookup(t.Context(), []string{"sample.seconds", "pmcd.pmlogger.port"})
	if err != nil {
		t.Fatal(err)
	}
	for _, origin := range []time.Time{c.End.Add(-200 * time.Millisecond), c.Begin} {
		var seconds, port pdu.Result
		if c.Origin = origin; c.FetchAtOrigin(t.Context(), pc, ids[:1], &seconds) != nil || seconds.Time.Before(origin) {
			t.Errorf("sample.seconds is as of %v, want %v or later", seconds.Time, origin)
		}
		if err := c.FetchAtOrigin(t.Context(), pc, ids[1:], &port); err != nil || port.Time.Before(origin) {
			t.Errorf("pmcd.pmlogger.port is as of %v, error %v, want %v or later", port.Time, err, origin)
		}
	}
}

// damaged makes an archive whose end cannot be found.
func damaged(t *testing.T) (name string) {
	t.Helper()
	dir := t.TempDir()
	for _, suffix := range []string{"0", "meta"} {
		text, err := os.ReadFile(recorded + "." + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix == "0" {
			text = append(text[:binary.BigEndian.Uint32(text)], bytes.Repeat([]byte{0xff}, 100)...)
		}
		if err := os.WriteFile(filepath.Join(dir, "bad."+suffix), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "bad")
}

func TestWithoutEnd(t *testing.T) {
	name := damaged(t)
	warning := "pmx: Cannot locate end of archive " + name + ": Corrupted record in a PCP archive log\n\n" +
		"WARNING: This archive is sufficiently damaged that it may not be possible to\n" +
		"         produce complete information.  Continuing and hoping for the best.\n\n"
	for _, tt := range []struct {
		originOnly bool
		args, want string
	}{
		{false, "", warning},
		{true, "", ""},
		{true, "-O 3", warning},
	} {
		var stderr strings.Builder
		c := &pcptool.Command{OriginOnly: tt.originOnly, Stderr: &stderr}
		pc := openArchive(t, c, name, strings.Fields(tt.args)...)
		if err := c.SetTimes(t.Context(), pc); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, stderr.String()); diff != "" {
			t.Errorf("%+v: (-want +got):\n%s", tt, diff)
		}
		if !c.End.IsZero() || c.Begin.IsZero() || c.SampleCount(time.Second) != -1 {
			t.Errorf("%+v: from %v to %v, %d samples", tt, c.Begin, c.End, c.SampleCount(time.Second))
		}
	}
}

func TestSampleCount(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		end  time.Duration
		want int
	}{{0, 1}, {999 * time.Millisecond, 1}, {time.Second, 2}, {-500 * time.Millisecond, 1}, {-time.Second, 0}, {-time.Hour, 0}} {
		c := pcptool.Command{Samples: -1, Origin: at, End: at.Add(tt.end)}
		if got := c.SampleCount(time.Second); got != tt.want {
			t.Errorf("%v: %d samples, want %d", tt.end, got, tt.want)
		}
	}
}
