package pmdaproc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/hanging"
)

// nprocs returns the number of processes that a client gets.
func nprocs(t *testing.T, p *proc, c *pmda.Client) (int, error) {
	var w pdu.ResultWriter
	if err := p.Fetch(t.Context(), &pmda.Request{Client: c}, []pdu.PMID{pdu.MakePMID(Domain, 8, 99)}, &w); err != nil {
		return 0, err
	}
	r, err := w.Result()
	if err != nil {
		return 0, err
	}
	for _, set := range r.All() {
		if set.Err() != nil {
			return 0, set.Err()
		}
		n, err := pdu.As[uint32](set.Atom(0, pdu.TypeU32))
		return int(n), err
	}
	return 0, errors.New("no set")
}

// TestHangingGroup checks that a control group on a file system that does not reply delays no other
// client, and its own client only briefly.
func TestHangingGroup(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"proc/10", "proc/11"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p := newProc(&Options{Root: root, NoAccessChecks: true})
		p.add()
		answer := make(chan struct{})
		p.groups.list = func(v *view) []entry {
			if v.cgroup != "/fine" {
				<-answer
			}
			return []entry{{id: 11}, {id: 12}, {id: 10}}
		}
		client := func(cgroup string) *pmda.Client {
			c := pmda.NewClient(1, uint64(len(cgroup)))
			p.clients.change(c, func(s *settings) { s.cgroup = cgroup })
			return c
		}
		await := func(c *pmda.Client, want int, wantErr error) {
			t.Helper()
			if n, err := nprocs(t, p, c); n != want || !errors.Is(err, wantErr) {
				t.Errorf("%d processes, %v, want %d, %v", n, err, want, wantErr)
			}
		}

		stuck := client("/hanging")
		done := make(chan error)
		go func() {
			_, err := nprocs(t, p, stuck)
			done <- err
		}()
		synctest.Wait()
		began := time.Now()
		await(client(""), 2, nil)
		await(client("/fine"), 2, nil)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("others have waited for %v", waited)
		}
		if err := <-done; !errors.Is(err, pdu.ErrAgain) || time.Since(began) != hanging.Time {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		began = time.Now()
		await(stuck, 0, pdu.ErrAgain)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("the next time it waits for %v", waited)
		}
		for i := range hanging.Most {
			await(client("/hanging/"+"xxxxxxxxxx"[:i]), 0, pdu.ErrAgain)
		}
		if n := p.groups.calls.Len(); n != hanging.Most {
			t.Errorf("%d groups hang", n)
		}
		await(client("/fine"), 0, pdu.ErrAgain) // too many calls of the user hang
		close(answer)
		synctest.Wait()
		await(stuck, 2, nil)
		if p.groups.calls.Len() != 0 {
			t.Errorf("%d groups hang", p.groups.calls.Len())
		}
	})
}
