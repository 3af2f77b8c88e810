package pmapi_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

func TestOpenSource(t *testing.T) {
	abs, err := filepath.Abs(recordedArchive)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{recordedArchive, abs} {
		c, err := new(pmapi.Dialer).OpenSource(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		if l, err := c.ArchiveLabel(); err != nil {
			t.Errorf("%s: %v, %v, want that of an archive", source, l, err)
		}
		c.Close()
	}
	if _, err := new(pmapi.Dialer).OpenSource(t.Context(), "./none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an archive that there is not: %v", err)
	}
	if _, err := new(pmapi.Dialer).OpenSource(t.Context(), ""); !errors.Is(err, pdu.ErrNotHost) {
		t.Errorf("an empty name: %v, want %v", err, pdu.ErrNotHost)
	}
	t.Chdir(filepath.Dir(filepath.Dir(abs)))
	name := filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(abs)), filepath.Base(abs)))
	want := fmt.Sprintf("%q is an archive: write %q", name, "./"+name)
	if _, err := (&pmapi.Dialer{AutoReconnect: true}).OpenSource(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an archive without a dot: %v, want %s", err, want)
	}
	var f pmapi.Fleet[int]
	if err := f.Add(name); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Fleet.Add of an archive without a dot: %v, want %s", err, want)
	}
	c, err := (&pmapi.Dialer{AutoReconnect: true}).OpenSource(t.Context(), "localhost:1")
	if err != nil {
		t.Fatal(err) // a collector need not be there yet
	}
	defer c.Close()
	if _, err := c.ArchiveLabel(); !errors.Is(err, pdu.ErrNotArchive) {
		t.Errorf("a host: %v, want %v", err, pdu.ErrNotArchive)
	}
}
