//go:build linux

package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRecord checks that many loggers that record a minute miss no second. It runs on a fake clock.
func TestRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{loggers: 50, metrics: 10, interval: time.Second, lasts: time.Minute, dir: t.TempDir()}
		f, err := o.record(t.Context())
		if err == nil {
			err = f.read(o)
		}
		if err != nil || f.records != 50*60 || f.missed != 0 {
			t.Errorf("%d records, %d missed, %v", f.records, f.missed, err)
		}
	})
}
