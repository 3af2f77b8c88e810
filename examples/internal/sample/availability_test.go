package sample_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// TestUnavailable has a file that makes all requests fail.
func TestUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "unavailable")
	a := newAgent(t, sample.Options{Unavailable: path})
	r := &pmda.Request{Client: pmda.NewClient(0, 1)}
	ctx := t.Context()
	requests := map[string]func() error{
		"Fetch": func() error { return a.Fetch(ctx, r, []pdu.PMID{pdu.MakePMID(29, 0, 4)}, new(pdu.ResultWriter)) },
		"Desc":  func() error { _, err := a.Desc(ctx, r, pdu.MakePMID(29, 0, 4)); return err },
		"Instances": func() error {
			_, err := a.Instances(ctx, r, pdu.MakeInDom(29, 1), pdu.NoInst, "")
			return err
		},
		"Text": func() error {
			_, err := a.Text(ctx, r, pdu.TextOfMetric(pdu.MakePMID(29, 0, 4)), pdu.TextOneLine)
			return err
		},
		"PMID":     func() error { _, err := a.PMID(ctx, r, "sample.secret.bar"); return err },
		"Names":    func() error { _, err := a.Names(ctx, r, pdu.MakePMID(29, 0, 1000)); return err },
		"Children": func() error { _, err := a.Children(ctx, r, "sample.secret"); return err },
		"Traverse": func() error { _, err := a.Traverse(ctx, r, "sample.secret"); return err },
		"Labels":   func() error { _, err := a.Labels(ctx, r, pdu.LabelsOfDomain(29)); return err },
		"Store": func() error {
			var w pdu.ResultWriter
			w.Begin(pdu.MakePMID(29, 0, 36))
			w.Int32(pdu.NoInst, 3)
			values, err := w.Result()
			return errors.Join(err, a.Store(ctx, r, values))
		},
	}
	for _, there := range []bool{false, true, false} {
		var want error
		if there {
			want = pdu.ErrAgain
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		} else {
			os.Remove(path)
		}
		for name, request := range requests {
			if err := request(); !errors.Is(err, want) {
				t.Errorf("%s: error %v, want %v", name, err, want)
			}
		}
	}
}

// TestNotReady has the agent not ready for two seconds, from the request after the store on.
func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, sample.Options{})
		r := &pmda.Request{Client: pmda.NewClient(0, 1)}
		desc := func() error {
			_, err := a.Desc(t.Context(), r, pdu.MakePMID(29, 0, 4))
			return err
		}
		for _, seconds := range []int32{0, -1} {
			storeInt(t, a, 56, seconds)
			if err := desc(); err != nil {
				t.Errorf("after a store of %d: %v", seconds, err)
			}
		}
		storeInt(t, a, 56, 2)
		time.Sleep(time.Minute)
		if err := desc(); !errors.Is(err, pdu.ErrPMDANotReady) {
			t.Errorf("the first request after the store: %v", err)
		}
		time.Sleep(1999 * time.Millisecond)
		if err := desc(); !errors.Is(err, pdu.ErrPMDANotReady) {
			t.Errorf("just before it is ready: %v", err)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if err := desc(); err != nil {
			t.Errorf("then: %v", err)
		}
	})
}

// storeInt stores a value of a metric.
func storeInt(t *testing.T, a *pmda.Agent, item int, v int32) {
	t.Helper()
	var w pdu.ResultWriter
	w.Begin(pdu.MakePMID(29, 0, item))
	w.Int32(pdu.NoInst, v)
	values, err := w.Result()
	if err := errors.Join(err, a.Store(t.Context(), &pmda.Request{Client: pmda.NewClient(0, 1)}, values)); err != nil {
		t.Fatal(err)
	}
}
