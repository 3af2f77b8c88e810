package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/examples/internal/logcheck"
	"github.com/pcp-go/pcp/pdu"
)

// made makes an archive of the seconds 1000 and 1010, with a metric and an instance domain. InDoms
// are the seconds of more records of the instance domain.
func made(t *testing.T, base string, version int, inDoms ...int64) {
	t.Helper()
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC"}})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	shards := pdu.MakeInDom(logimport.Domain, 0)
	_, err = im.AddMetric("m.x", pdu.Desc{Type: pdu.TypeU32, InDom: shards, Sem: pdu.SemInstant})
	check(err)
	check(im.AddInstance(shards, "red", 0))
	for n := range 2 {
		check(im.Put("m.x", "red", pdu.Uint32(uint32(n))))
		check(im.Write(time.Unix(int64(1000+10*n), 0)))
	}
	for _, second := range inDoms {
		red := []pdu.Instance{{ID: 0, Name: "red"}}
		check(im.Writer().WriteInDom(archive.InDomRecord{Time: time.Unix(second, 0), InDom: shards, Instances: red}))
	}
	check(im.Close())
}

// checked checks the archives of arguments, and returns what is printed.
func checked(t *testing.T, o logcheck.Options, args ...string) (text string, err error) {
	t.Helper()
	var b bytes.Buffer
	errs := bufio.NewWriter(&b)
	c := newCommand(&o)
	c.Stderr = &b
	if _, err := c.Parse(append([]string{"-Z", "UTC"}, args...)); err != nil {
		t.Fatal(err)
	}
	err = logcheck.Check(t.Context(), c, &o, errs, args)
	errs.Flush()
	return b.String(), err
}

// TestSeveral checks all archives that are named, each once.
func TestSeveral(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	made(t, a, 2)
	made(t, b, 3)
	got, err := checked(t, logcheck.Options{Verbose: 1}, a, b, a+".meta", b+".0")
	if err != nil || strings.Count(got, "Scanning for components") != 2 || strings.Count(got, "Processed 2 pmResult records") != 2 {
		t.Errorf("%v, %s", err, got)
	}
	damage, err := os.ReadFile(a + ".0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a+".0", damage[:len(damage)-5], 0o666); err != nil {
		t.Fatal(err)
	}
	got, err = checked(t, logcheck.Options{}, a, b)
	if err == nil || !strings.Contains(got, "a.0[record 2]: unexpected EOF") {
		t.Errorf("first one damaged: %v, %s", err, got)
	}
}

// TestMetadataTimes names instance domains from before and after the archive.
func TestMetadataTimes(t *testing.T) {
	for _, version := range []int{2, 3} {
		base := filepath.Join(t.TempDir(), "a")
		made(t, base, version, 900, 1005, 5000)
		got, err := checked(t, logcheck.Options{}, base)
		want := strings.ReplaceAll(`BASE.meta[record 3]: InDom 245.0: time Thu Jan  1 00:15:00.000 1970 before start of archive (Thu Jan  1 00:16:40.000 1970)
BASE.meta[record 5]: InDom 245.0: time Thu Jan  1 01:23:20.000 1970 after end of archive (Thu Jan  1 00:16:50.000 1970)
`, "BASE", base)
		if err != nil || got != want {
			t.Errorf("version %d: %v, %s", version, err, got)
		}
	}
}
