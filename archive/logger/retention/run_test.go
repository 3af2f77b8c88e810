package retention_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/archive/logger/retention"
)

// TestRunLocked checks that Run waits for PCP's scripts, but not until the next day.
func TestRunLocked(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now))
		record(t, dir, "20261121.00.10")
		record(t, dir, "20261121.10.10")
		record(t, dir, "20261123.08.00")
		lock := filepath.Join(dir, "lock")
		if err := os.WriteFile(lock, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(lock, now, now); err != nil {
			t.Fatal(err)
		}
		merged := make(chan time.Time, 10)
		o := retention.Options{Location: time.UTC, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		o.Merge = func(ctx context.Context, inputs []string, output string) error {
			merged <- time.Now()
			return logextract.Options{}.Run(ctx, inputs, output)
		}
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- retention.Run(ctx, dir, o) }()
		time.Sleep(25 * time.Minute)
		synctest.Wait()
		if len(merged) != 0 {
			t.Errorf("merged %v after the lock was made", (<-merged).Sub(now))
		}
		if err := os.Remove(lock); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if after := (<-merged).Sub(now); after != 30*time.Minute {
			t.Errorf("merged %v after the start", after)
		}
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
