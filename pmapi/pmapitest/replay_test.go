package pmapitest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

const recorded = "../testdata/derive"

func replay(t *testing.T) *pmapitest.Source {
	t.Helper()
	src, err := pmapitest.Replay(t.Context(), recorded)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// resultText formats the values of a result.
func resultText(t *testing.T, r *pdu.Result, descs []pdu.Desc) string {
	t.Helper()
	b := fmt.Sprintf("%v\n", r.Time)
	for i, s := range r.All() {
		b += fmt.Sprintf("%v: %v", s.PMID, s.Err())
		for inst, a := range s.All(descs[i].Type) {
			text, err := pdu.As[string](a)
			if err != nil {
				v, _ := pdu.As[float64](a)
				text = fmt.Sprint(v)
			}
			b += fmt.Sprintf(" %d=%s", inst, text)
		}
		b += "\n"
	}
	return b
}

// TestReplay compares a live context on a replay with the archive.
func TestReplay(t *testing.T) {
	src := replay(t)
	live := src.Context()
	archive, err := pmapi.Open(t.Context(), recorded)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if mode, at, _ := live.Mode(); mode != pmapi.ModeLive || !at.Equal(src.Start) {
		t.Errorf("mode %v at %v", mode, at)
	}
	if got := live.HostName(t.Context()); got != "vm" {
		t.Error(got)
	}
	names, err := live.Traverse(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "event.") })
	ids, err := live.Lookup(t.Context(), names)
	if err != nil {
		t.Fatal(err)
	}
	descs, err := live.Descs(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.SetMode(t.Context(), pmapi.ModeInterp, src.Start, 700*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		var want, got pdu.Result
		wantErr, gotErr := archive.Fetch(t.Context(), ids, &want), live.Fetch(t.Context(), ids, &got)
		if wantErr != nil || gotErr != nil {
			if !errors.Is(gotErr, pdu.ErrEOL) || !errors.Is(wantErr, pdu.ErrEOL) || n < 12 {
				t.Errorf("after %d: %v in place of %v", n, gotErr, wantErr)
			}
			break
		}
		if diff := cmp.Diff(resultText(t, &want, descs), resultText(t, &got, descs)); diff != "" {
			t.Fatalf("after %d (-archive +live)\n%s", n, diff)
		}
		src.Advance(700 * time.Millisecond)
	}
}

// TestReplayMetadata: the errors are those of a collector, not those of an archive.
func TestReplayMetadata(t *testing.T) {
	src := replay(t)
	c := src.Context()
	bin, err := c.Lookup(t.Context(), []string{"sample.bin"})
	if err != nil {
		t.Fatal(err)
	}
	desc, err := c.Desc(t.Context(), bin[0])
	if err != nil {
		t.Fatal(err)
	}
	if list, err := c.Instances(t.Context(), desc.InDom); err != nil || len(list) != 0 {
		t.Errorf("instances before the first record: %v, %v", list, err)
	}
	src.Advance(time.Second)
	if list, err := c.Instances(t.Context(), desc.InDom); err != nil || len(list) != 9 {
		t.Errorf("instances: %v, %v", list, err)
	}
	for name, tt := range map[string]struct {
		f    func() error
		want pdu.Error
	}{
		"desc":     {func() error { _, err := c.Desc(t.Context(), 7); return err }, pdu.ErrPMID},
		"indom":    {func() error { _, err := c.Instances(t.Context(), 7); return err }, pdu.ErrInDom},
		"instance": {func() error { _, err := c.InstName(t.Context(), desc.InDom, 7); return err }, pdu.ErrInst},
		"text":     {func() error { _, err := c.Text(t.Context(), 7, pdu.TextOneLine); return err }, pdu.ErrText},
		"name":     {func() error { _, err := c.Lookup(t.Context(), []string{"no.such"}); return err }, pdu.ErrName},
		"children": {func() error { _, err := c.Children(t.Context(), "no.such"); return err }, pdu.ErrName},
		"names":    {func() error { _, err := c.Names(t.Context(), 7); return err }, pdu.ErrPMID},
		"store":    {func() error { return c.Store(t.Context(), "sample.drift", 7) }, pdu.ErrPermission},
		"mode":     {func() error { return c.SetMode(t.Context(), pmapi.ModeForward, time.Time{}, 0) }, pdu.ErrMode},
		"archive":  {func() error { _, err := c.ArchiveLabel(); return err }, pdu.ErrNotArchive},
	} {
		if err := tt.f(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if set, err := c.ContextLabels(t.Context()); err != nil || len(set.Labels) == 0 {
		t.Error(set, err)
	}
	dup, err := c.Dup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dup.Lookup(t.Context(), []string{"sample.bin"}); err != nil {
		t.Error(err)
	}
	if _, err := pmapitest.Replay(t.Context(), "no-such-archive"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestReplayGroup replays the whole archive to a monitor, with an outage.
func TestReplayGroup(t *testing.T) {
	src := replay(t)
	src.AutoReconnect = true
	from := src.Start.Add(2500 * time.Millisecond)
	src.BreakAt(from, from.Add(2*time.Second))
	g := src.Context().Group()
	bins := pmapi.AddSet[float64](g, "sample.double.bin_ctr")
	one := pmapi.Add[float64](g, "sample.double.bin_ctr", pmapi.Instance("bin-300"), pmapi.Scale("instant"))
	rate := pmapi.Add[float64](g, "sample.rapid")
	var got []string
	for now, err := range g.Every(t.Context(), time.Second) {
		text := fmt.Sprintf("%v: ", now.Sub(src.Start).Round(time.Second))
		if _, isGap := errors.AsType[*pmapi.Gap](err); isGap {
			got = append(got, text+"gap")
			continue
		} else if err != nil {
			got = append(got, text+"lost")
			continue
		}
		v, err := one.Value()
		_, rateErr := rate.Value()
		got = append(got, fmt.Sprintf("%s%d bins, %v %v, %v", text, bins.Len(), v, pdu.FromError(err), pdu.FromError(rateErr)))
	}
	want := []string{
		"0s: 0 bins, 0 Unknown or illegal instance identifier, Missing metric value(s)", // before the first record
		"1s: 9 bins, 300 No error, Try again. Information not currently available",
		"2s: 9 bins, 300 No error, No error",
		"3s: lost",
		"4s: lost",
		"5s: gap",
		"6s: 9 bins, 300 No error, Try again. Information not currently available",
		"7s: 9 bins, 300 No error, No error",
		"8s: 9 bins, 300 No error, Missing metric value(s)", // the counter has wrapped
		"9s: 0 bins, 0 Missing metric value(s), Missing metric value(s)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestReplaySpeed replays at four times the speed of this computer's clock.
func TestReplaySpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, err := pmapitest.Replay(t.Context(), recorded)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		src.Speed = 4
		g := src.Context().Group()
		pmapi.Add[float64](g, "sample.drift")
		began, n := time.Now(), 0
		var first, last time.Time
		for now, err := range g.Every(t.Context(), 2*time.Second) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 {
				first = now
			}
			last = now
		}
		if took := time.Since(began); n != 5 || last.Sub(first) != 8*time.Second || took != 2500*time.Millisecond {
			t.Errorf("%d fetches in %v, of %v of the archive", n, took, last.Sub(first))
		}
	})
}
