package logger_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pdu"
)

// TestNothingRecorded ends a logger that has recorded nothing: it leaves no files, though another
// volume was requested and the connection was lost.
func TestNothingRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		src.FailFetch(pdu.ErrPermission)
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{Writer: archive.WriterOptions{VolumeTime: time.Second}})
		r.wait(1500 * time.Millisecond)
		if n, err := r.l.NewVolume("pmlc request"); n != 0 || err != nil {
			t.Errorf("volume %d, %v", n, err)
		}
		if s := r.l.Status(); s.Start.IsZero() || !s.Last.IsZero() {
			t.Errorf("status from %v to %v", s.Start, s.Last)
		}
		src.Break(nil)
		if err := r.stop(2 * time.Second); err != nil {
			t.Error(err)
		}
		if files, err := filepath.Glob(r.base + "*"); len(files) > 0 || err != nil {
			t.Errorf("files %q, %v", files, err)
		}
	})
}

// TestFirstRecordIsStart has no values for some time: the archive starts with the first record.
func TestFirstRecordIsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		src.FailFetch(pdu.ErrPermission)
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		r.wait(2500 * time.Millisecond)
		before := time.Now()
		src.FailFetch(nil)
		if err := r.stop(2 * time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s a=1", "1s a=1")
		var times []time.Time // of the label, the prologue and the values
		r.each(func(rec *archive.Record, _ *archive.Set) {
			if rec.File.Volume() == 0 && len(times) < 3 {
				times = append(times, rec.Time)
			}
		})
		if times[0].Before(before) || !times[1].Equal(times[0]) || !times[2].Equal(times[0]) {
			t.Errorf("label, prologue and first values at %v, want all at the first values, after %v", times, before)
		}
	})
}
