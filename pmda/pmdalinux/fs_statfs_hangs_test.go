package pmdalinux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// TestStatfsHangs checks that fetches of a file system that does not reply wait until their
// deadline, and that fetches without its metrics are not delayed.
func TestStatfsHangs(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"self/mounts": "/dev/sda1 / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n", "loadavg": "1 2 3 4/5 6\n", "stat": "cpu 1 2 3 4\ncpu0 1 2 3 4\nintr 5\n"} {
		path := filepath.Join(root, "proc", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	l := newLinux(Options{Root: root})
	called, reply := make(chan bool), make(chan bool)
	l.statfs = func(u *usage, path []byte) error {
		if filepath.Base(string(path[:len(path)-1])) != "run" {
			called <- true
			<-reply
		}
		*u = usage{blockSize: 1024, blocks: 5, free: 5}
		return nil
	}
	l.add()
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	fetch := func(ctx context.Context, ids ...pdu.PMID) error {
		var w pdu.ResultWriter
		if err := l.Fetch(ctx, &pmda.Request{Client: &pmda.Client{}, Profile: new(pdu.Profile)}, ids, &w); err != nil {
			return err
		}
		r, err := w.Result()
		if err != nil {
			return err
		}
		for _, set := range r.All() {
			if err := set.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	free, tmp, count := pdu.MakePMID(Domain, 5, 3), pdu.MakePMID(Domain, 34, 3), pdu.MakePMID(Domain, 5, 0)
	others := []pdu.PMID{pdu.MakePMID(Domain, 2, 0), pdu.MakePMID(Domain, 0, 20), pdu.MakePMID(Domain, 0, 0), tmp, count}
	first := make(chan error)
	go func() { first <- fetch(t.Context(), append([]pdu.PMID{free}, others...)...) }()
	<-called
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := fetch(soon, others...); err != nil {
		t.Error("others:", err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := fetch(short, free); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("a second fetch of it:", err)
	}
	reply <- true
	if err := <-first; err != nil {
		t.Error("the first:", err)
	}
}
