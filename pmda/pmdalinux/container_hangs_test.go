package pmdalinux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/hanging"
)

// TestContainerStatfsHangs checks that file systems of a container that do not reply have no
// values, and that they delay fetches only briefly.
func TestContainerStatfsHangs(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"self/mounts": "", "15/mounts": "/dev/a /stuck fuse rw 0 0\n/dev/b /stuck2 fuse rw 0 0\n/dev/c /fine ext4 rw 0 0\n"} {
		path := filepath.Join(root, "proc", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLinux(Options{Root: root})
		answer := make(chan bool)
		l.statfs = func(u *usage, path []byte) error {
			if strings.Contains(string(path), "stuck") {
				<-answer
			}
			*u = usage{blockSize: 1024, blocks: 5, free: 5}
			return nil
		}
		l.add()
		l.addContainers(func(context.Context, string) (int, error) { return 15, nil })
		client := pmda.NewClient(1, 1)
		client.Container = "web"
		values := func() (n int) {
			t.Helper()
			var w pdu.ResultWriter
			if err := l.Fetch(t.Context(), &pmda.Request{Client: client}, []pdu.PMID{pdu.MakePMID(Domain, 5, 3)}, &w); err != nil {
				t.Fatal(err)
			}
			r, err := w.Result()
			if err != nil {
				t.Fatal(err)
			}
			for _, set := range r.All() {
				n = set.Len()
			}
			return n
		}
		for range 4 {
			began := time.Now()
			values()
			if d := time.Since(began); d > hanging.Time {
				t.Errorf("a fetch took %v", d)
			}
		}
		synctest.Wait() // until the abandoned calls of the first fetch have returned
		if n := values(); n != 1 {
			t.Errorf("%d values while two file systems hang, want 1", n)
		}
		close(answer)
		synctest.Wait()
		if n := values(); n != 3 {
			t.Errorf("%d values afterwards, want 3", n)
		}
	})
}
