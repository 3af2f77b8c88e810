package pmdammv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// A vandal changes a file in all possible ways while it is served.
type vandal struct {
	path string
	good []byte
	rnd  *rand.Rand
}

// act makes one change.
func (v *vandal) act() error {
	n := v.rnd.IntN(len(v.good))
	switch v.rnd.IntN(8) {
	case 0:
		return os.Truncate(v.path, int64(n))
	case 1:
		return os.Remove(v.path)
	case 2: // truncated and written again in place
		return os.WriteFile(v.path, v.good, 0o644)
	case 3:
		return os.WriteFile(v.path, v.good[:n], 0o644)
	case 4: // replaced by another file
		tmp := v.path + ".tmp"
		dot := filepath.Join(filepath.Dir(tmp), "."+filepath.Base(tmp))
		return errors.Join(os.WriteFile(dot, v.good, 0o644), os.Rename(dot, v.path))
	case 5: // a part is damaged
		b := bytes.Clone(v.good)
		for range 1 + v.rnd.IntN(8) {
			b[v.rnd.IntN(len(b))] ^= 1 << v.rnd.IntN(8)
		}
		return os.WriteFile(v.path, b, 0o644)
	case 6: // another kind of file
		return errors.Join(os.RemoveAll(v.path), os.Mkdir(v.path, 0o755), os.Remove(v.path))
	}
	return v.regenerate(n)
}

// regenerate changes the generation of a file as a writer does.
func (v *vandal) regenerate(n int) error {
	f, err := os.OpenFile(v.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	g := binary.NativeEndian.AppendUint64(nil, uint64(n)+1)
	_, err = f.WriteAt(make([]byte, 8), 16)
	_, err2 := f.WriteAt(g, 8)
	_, err3 := f.WriteAt(g, 16)
	return errors.Join(err, err2, err3)
}

// TestVandals replaces, cuts, damages and removes files while clients fetch. An untouched file is
// served all the time, and nothing crashes.
func TestVandals(t *testing.T) {
	dir := t.TempDir()
	good := recorded(t)
	calm := bytes.Clone(good)
	binary.NativeEndian.PutUint32(calm[36:], 12)
	write(t, filepath.Join(dir, "calm"), calm)
	c := newClient(t, Options{Dir: dir}, defaultLimits)
	c.want("mmv.calm.rate", "2.5")
	done := make(chan struct{})
	var vandals sync.WaitGroup
	for i := range 3 {
		v := vandal{filepath.Join(dir, fmt.Sprint("f", i)), good, rand.New(rand.NewPCG(uint64(i), 7))}
		vandals.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if err := v.act(); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
					return
				}
			}
		})
	}
	var clients sync.WaitGroup
	for range 2 {
		k := &client{TB: t, agent: c.agent, request: c.request}
		clients.Go(func() { k.fetchCalm(t) })
	}
	clients.Wait()
	close(done)
	vandals.Wait()
	// A program that writes its file again gives it another generation. All files are written
	// before any is fetched, because the metrics of a damaged one may contradict those of the
	// others in its cluster.
	binary.NativeEndian.PutUint64(good[8:], 1<<40)
	binary.NativeEndian.PutUint64(good[16:], 1<<40)
	for i := range 3 {
		write(t, filepath.Join(dir, fmt.Sprint("f", i)), good)
	}
	for i := range 3 {
		c.want(fmt.Sprintf("mmv.f%d.rate", i), "2.5")
	}
	if c.dir.kept > 4 || c.dir.used.bytes != 4*int64(len(good)) {
		t.Errorf("%d files with %d bytes are open", c.dir.kept, c.dir.used.bytes)
	}
}

// fetchCalm fetches metrics of all files, and checks those of the untouched one.
func (c *client) fetchCalm(t *testing.T) {
	var ids []pdu.PMID
	for _, cluster := range []int{12, 11} {
		for item := range 5 {
			ids = append(ids, pdu.MakePMID(Domain, cluster, item))
		}
	}
	for range 400 {
		c.w.Reset()
		if err := c.Fetch(t.Context(), &c.request, ids, &c.w); err != nil {
			t.Error(err)
			return
		}
		r, err := c.w.Result()
		if err != nil {
			t.Error(err)
			return
		}
		if v, err := pdu.As[float64](r.At(4).Atom(0, pdu.TypeDouble)); r.At(4).Len() != 1 || err != nil || v != 2.5 {
			t.Errorf("mmv.calm.rate: %d values, %v, %v", r.At(4).Len(), v, err)
			return
		}
		if r.At(1).Len() != 2 {
			t.Errorf("mmv.calm.hits: %d values", r.At(1).Len())
		}
		c.names()
	}
}

// TestCountWhileGrowing checks that a count never decreases while metrics are added. A fetch from a
// file may have no count, if the writer is delayed for longer than the agent waits. A fetch from a
// Registry always has it.
func TestCountWhileGrowing(t *testing.T) {
	eachShop(t, func(t *testing.T, c *client, r *mmv.Registry, orders *mmv.Counter, id pdu.PMID) {
		var grow sync.WaitGroup
		grow.Go(func() {
			for i := range 500 {
				r.Gauge(fmt.Sprintf("more%d", i), mmv.Metric{}).Set(1)
				orders.Inc()
			}
		})
		last := uint64(0)
		for deadline := time.Now().Add(30 * time.Second); last < 505 && time.Now().Before(deadline); {
			n, err := c.count(id)
			if c.dir != nil && (errors.Is(err, pdu.ErrPMID) || errors.Is(err, pdu.ErrAgain)) {
				continue
			}
			if err != nil || n < last {
				t.Errorf("after %d there is %d, %v", last, n, err)
				break
			}
			last = n
		}
		grow.Wait()
		c.want("mmv.shop.orders", "505")
		c.want("mmv.shop.more499", "1")
	})
}

// count fetches a counter without instances.
func (c *client) count(id pdu.PMID) (uint64, error) {
	c.Helper()
	c.w.Reset()
	if err := c.Fetch(c.Context(), &c.request, []pdu.PMID{id}, &c.w); err != nil {
		return 0, err
	}
	r, err := c.w.Result()
	if err != nil {
		return 0, err
	}
	if err := r.At(0).Err(); err != nil {
		return 0, err
	}
	return pdu.As[uint64](r.At(0).Atom(0, pdu.TypeU64))
}
