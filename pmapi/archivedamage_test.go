package pmapi_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// TestOpenDamagedArchive opens a directory with a damaged archive. By default the other one is read
// and a warning logged; a program can refuse.
func TestOpenDamagedArchive(t *testing.T) {
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(old)
	good := counters(t)
	files := fstest.MapFS{
		"dir/good.meta": &fstest.MapFile{Data: good.meta},
		"dir/good.0":    &fstest.MapFile{Data: good.data},
		"dir/bad.meta":  &fstest.MapFile{Data: good.meta},
		"dir/bad.0":     &fstest.MapFile{},
	}
	o := pmapi.ArchiveOptions{Files: archive.Options{FS: files}}
	c, err := o.Open(t.Context(), "dir")
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	if err := c.FetchArchive(t.Context(), &r); err != nil || r.Len() == 0 {
		t.Errorf("%d metrics, %v", r.Len(), err)
	}
	c.Close()
	if got := log.String(); strings.Count(got, "dir/bad.0") != 1 || !strings.Contains(got, "level=WARN") {
		t.Errorf("log %q, want one warning about dir/bad.0", got)
	}
	o.Files.Damaged = func(err error) error { return err }
	_, err = o.Open(t.Context(), "dir")
	if e, ok := errors.AsType[*archive.Error](err); !ok || e.File != "dir/bad.0" || !errors.Is(err, pdu.ErrNoData) {
		t.Errorf("a program that refuses: %v, want the error of dir/bad.0", err)
	}
}
