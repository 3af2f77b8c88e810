package logger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// TestLost checks that nothing is recorded while the collector is lost, and that a mark follows.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		r.wait(1500 * time.Millisecond)
		src.Break(nil)
		r.wait(3 * time.Second)
		if r.l.Status().Connected {
			t.Error("connected")
		}
		src.Restore()
		if err := r.stop(2 * time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s a=1", "1s a=1", "1.001s mark", "5s a=1", "6s a=1")
		want(t, "events", r.kinds(), "Lost", "Restored", "Validating", "Ended")
	})
}

// TestLostTLS checks that a collector that returns with an invalid certificate is reported once per
// loss.
func TestLostTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		for range 2 {
			r.wait(1500 * time.Millisecond)
			src.Break(nil)
			r.wait(3 * time.Second)
			src.Break(fmt.Errorf("%w: x509: certificate has expired", pdu.ErrTLS))
			r.wait(10 * time.Second)
			src.Restore()
			r.wait(2 * time.Second)
		}
		if err := r.stop(0); err != nil {
			t.Error(err)
		}
		want(t, "events", r.kinds(), "Lost", "Lost", "Restored", "Validating", "Lost", "Lost", "Restored", "Validating", "Ended")
		if lost := reported[logger.Lost](r); !errors.Is(lost[1].Err, pdu.ErrTLS) || !strings.Contains(lost[1].String(), "x509: certificate has expired") {
			t.Errorf("reported %v", lost[1])
		}
	})
}

// TestLostCounts checks that records missed while the collector is lost count for EndRecords.
func TestLostCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{EndRecords: 6})
		start := time.Now()
		r.wait(1500 * time.Millisecond)
		src.Break(nil)
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		if after := time.Since(start); after != 5020*time.Millisecond {
			t.Errorf("it ended after %v", after)
		}
		want(t, "records", r.records(), "0s a=1", "1s a=1")
		want(t, "events", r.kinds(), "Lost", "Ended")
	})
}

// TestAutoReconnect uses a context that reconnects automatically. The archive still has one mark.
func TestAutoReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		src.AutoReconnect = true
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		r.wait(1500 * time.Millisecond)
		src.Break(nil)
		r.wait(2 * time.Second)
		src.Restore()
		if err := r.stop(15 * time.Second); err != nil {
			t.Error(err)
		}
		records := strings.Join(r.records(), "; ")
		if strings.Count(records, "mark") != 1 || !strings.HasPrefix(records, "0s a=1; 1s a=1; 1.001s mark; ") || !strings.HasSuffix(records, "; 18s a=1") {
			t.Errorf("records %s", records)
		}
		want(t, "events", r.kinds(), "Lost", "Restored", "Validating", "Ended")
	})
}

// TestAgentFails checks that metrics of an agent that returns no texts and labels are recorded
// without them.
func TestAgentFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a", "b")
		src.OnRequest = func(_ context.Context, q pmapitest.Request) error {
			switch q.Method {
			case "Texts", "Labels", "Names":
				return pdu.ErrTimeout
			}
			return nil
		}
		r := record(t, src, "log mandatory on 1 sec { a b }", logger.Options{})
		if err := r.stop(1500 * time.Millisecond); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s b=2 a=1", "1s b=2 a=1")
		want(t, "metadata", r.metadata(), "desc b", "desc a")
	})
}

// TestEndWithoutMetadata ends a logger during a request for metadata. It must write no incomplete
// metadata, for any cause of the end.
func TestEndWithoutMetadata(t *testing.T) {
	for _, method := range []string{"Texts", "Labels", "Names"} {
		synctest.Test(t, func(t *testing.T) {
			src, _ := sourceOf("a")
			asked := make(chan struct{}, 1)
			src.OnRequest = func(ctx context.Context, q pmapitest.Request) error {
				if q.Method == method {
					asked <- struct{}{}
					<-ctx.Done()
					return errors.New("Caught signal 15")
				}
				return nil
			}
			r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
			<-asked
			if err := r.stop(0); err != nil {
				t.Error(err)
			}
			want(t, "records", r.records())
			want(t, "metadata", r.metadata())
		})
	}
}

// TestLostAtEnd checks that a logger that ends while its collector is lost completes the archive.
func TestLostAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		r.wait(1500 * time.Millisecond)
		src.Break(nil)
		if err := r.stop(3 * time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s a=1", "1s a=1")
		var last time.Time
		r.each(func(rec *archive.Record, set *archive.Set) {
			if rec.Kind == archive.KindResult {
				last = rec.Time
			}
		})
		if got := r.l.Status(); !got.Last.Equal(last) || last.Sub(got.Start) != 1001*time.Millisecond {
			t.Errorf("the last record is of %v, status %+v", last, got)
		}
	})
}

// TestMetricsChange checks that a metric that differs on the new connection ends the logger.
func TestMetricsChange(t *testing.T) {
	for name, c := range map[string]struct {
		is   func(src *pmapitest.Source)
		what string
	}{
		"type": {func(s *pmapitest.Source) { pmapitest.Add(s, pmapitest.Metric[string]{Name: "a", PMID: 7}) }, "Type"},
		"units": {func(s *pmapitest.Source) {
			pmapitest.Add(s, pmapitest.Metric[int32]{Name: "a", PMID: 7, Units: pdu.UnitCount})
		}, "Units"},
		"semantics": {func(s *pmapitest.Source) {
			pmapitest.Add(s, pmapitest.Metric[int32]{Name: "a", PMID: 7, Sem: pdu.SemCounter})
		}, "Semantics"},
		"domain": {func(s *pmapitest.Source) {
			pmapitest.Add(s, pmapitest.Metric[int32]{Name: "a", PMID: 7, InDom: s.InDom("x")})
		}, "Instance domain"},
		"pmid": {func(s *pmapitest.Source) { pmapitest.Add(s, pmapitest.Metric[int32]{Name: "a", PMID: 8}) }, "PMID"},
		"gone": {func(s *pmapitest.Source) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &pmapitest.Source{}
				m := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: 7})
				m.Set(1)
				r := record(t, src, "log mandatory on 1 sec a", logger.Options{EndOnChange: true})
				r.wait(1500 * time.Millisecond)
				src.Break(nil)
				r.wait(time.Second)
				m.Remove()
				c.is(src)
				src.Restore()
				r.wait(3 * time.Second)
				if err := <-r.done; !errors.Is(err, logger.ErrMetricsChanged) {
					t.Errorf("error %v", err)
				}
				r.cancel()
				var parts []string
				for _, e := range reported[logger.MetricChanged](r) {
					parts = append(parts, e.What)
				}
				if got := strings.Join(parts, " "); got != c.what {
					t.Errorf("changed: %s, want %s", got, c.what)
				}
				if c.what == "" && len(reported[logger.MetricGone](r)) != 1 {
					t.Error("not reported")
				}
				want(t, "records", r.records(), "0s a=1", "1s a=1")
			})
		})
	}
}

// TestMetricChangesWhileRunning checks that a metric that changes is left out until it agrees with
// the archive again.
func TestMetricChangesWhileRunning(t *testing.T) {
	type source = pmapitest.Source
	for name, change := range map[string]func(s *source) (remove func()){
		"units": func(s *source) func() {
			m := pmapitest.Add(s, pmapitest.Metric[uint32]{Name: "a", PMID: 7, Units: pdu.TimeUSec})
			m.Set(7000)
			return m.Remove
		},
		"domain": func(s *source) func() {
			m := pmapitest.Add(s, pmapitest.Metric[uint32]{Name: "a", PMID: 7, Units: pdu.TimeMSec, InDom: s.InDom("x")})
			m.Set(9)
			return m.Remove
		},
		"type": func(s *source) func() {
			m := pmapitest.Add(s, pmapitest.Metric[string]{Name: "a", PMID: 7, Units: pdu.TimeMSec})
			m.Set("x")
			return m.Remove
		},
		"pmid": func(s *source) func() {
			m := pmapitest.Add(s, pmapitest.Metric[uint32]{Name: "a", PMID: 8, Units: pdu.TimeMSec})
			m.Set(8)
			return m.Remove
		},
	} {
		for _, ends := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				src := new(source)
				same := pmapitest.Metric[uint32]{Name: "a", PMID: 7, Units: pdu.TimeMSec}
				a := pmapitest.Add(src, same)
				a.Set(7)
				pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "b", PMID: 9}).Set(1)
				r := record(t, src, "log mandatory on 1 sec { a b }", logger.Options{EndOnChange: ends})
				r.wait(1500 * time.Millisecond)
				a.Remove()
				remove := change(src)
				r.wait(2 * time.Second)
				lines := []string{"0s b=1 a=7", "1s b=1 a=7"}
				if ends {
					if err := <-r.done; !errors.Is(err, logger.ErrMetricsChanged) {
						t.Errorf("%s: error %v", name, err)
					}
				} else {
					remove()
					pmapitest.Add(src, same).Set(6)
					if err := r.stop(2 * time.Second); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					lines = append(lines, "1.001s mark", "2s b=1", "3s b=1", "3.001s mark", "4s b=1 a=6", "5s b=1 a=6")
				}
				want(t, name, r.records(), lines...)
				if n := len(reported[logger.MetricChanged](r)); n != 1 {
					t.Errorf("%s: %d changes reported", name, n)
				}
				r.cancel()
			})
		}
	}
}

// TestMetricAway checks that a metric that is missing for a while does not end the logger.
func TestMetricAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := new(pmapitest.Source)
		a := pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "a", PMID: 7})
		a.Set(7)
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{EndOnChange: true})
		r.wait(1500 * time.Millisecond)
		a.Remove()
		r.wait(2 * time.Second)
		pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "a", PMID: 7}).Set(8)
		if err := r.stop(time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s a=7", "1s a=7", "2s a!", "3s a!", "4s a=8")
		want(t, "events", r.kinds(), "MetricGone", "Ended")
	})
}

// TestLabelsOfNewInstances checks that the archive has the labels of an instance from its first
// value on, with the labels of the others.
func TestLabelsOfNewInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := new(pmapitest.Source)
		d := src.InDom("red", "green")
		role := "first"
		d.SetLabels("", func(i pdu.Instance) string { return `{"name":"` + i.Name + `","role":"` + role + `"}` })
		value := func(time.Time, pdu.Instance) (int32, error) { return 1, nil }
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: pdu.MakePMID(60, 0, 1), InDom: d, Value: value})
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "b", PMID: pdu.MakePMID(60, 0, 2), InDom: d, Value: value})
		e := src.InDom("up")
		e.SetLabels("", func(i pdu.Instance) string { return `{"state":"` + i.Name + `"}` })
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "c", PMID: pdu.MakePMID(60, 0, 3), InDom: e, Value: value})
		r := record(t, src, `log mandatory on 1 sec { a["red"] c } log mandatory on 2 sec { b["green"] }`, logger.Options{})
		r.wait(1500 * time.Millisecond)
		role = "second"
		src.Notify(pdu.ChangeLabels)
		r.wait(time.Second)
		e.SetNames("up", "down")
		if err := r.stop(time.Second); err != nil {
			t.Error(err)
		}
		got := slices.DeleteFunc(r.metadata(), func(s string) bool { return !strings.HasPrefix(s, "labels instances") })
		want(t, "labels", got, `labels instances {"state":"up"}`, `labels instances {"name":"red","role":"first"}`,
			`labels instances {"name":"green","role":"first"} {"name":"red","role":"first"}`,
			`labels instances {"name":"red","role":"second"} {"name":"green","role":"second"}`,
			`labels instances {"state":"up"} {"state":"down"}`)
	})
}

// TestHostChanges checks that the logger goes on when the collector's host has another name, unless
// it ends on changes.
func TestHostChanges(t *testing.T) {
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src := &pmapitest.Source{Host: "first"}
			pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "a", PMID: 7}).Set(7)
			r := record(t, src, "log mandatory on 1 sec a", logger.Options{EndOnChange: ends})
			r.wait(1500 * time.Millisecond)
			src.Host = "second"
			src.Notify(pdu.ChangeHostname)
			if err := r.stop(2 * time.Second); err != nil {
				t.Error(err)
			}
			if ends {
				want(t, "records", r.records(), "0s a=7", "1s a=7")
				want(t, "events", r.kinds(), "Ended")
				return
			}
			want(t, "records", r.records(), "0s a=7", "1s a=7", "2s a=7", "3s a=7")
			want(t, "events", r.kinds(), "hostChanged", "Ended")
		})
	}
}

// TestNamesChange checks that a new agent causes a mark, and that new names below a name of the
// configuration are recorded.
func TestNamesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{}
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "x.a", PMID: 1}).Set(1)
		r := record(t, src, "log mandatory on 1 sec { x y }", logger.Options{})
		r.wait(1500 * time.Millisecond)
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "x.b", PMID: 2}).Set(2)
		r.wait(2 * time.Second)
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "y.z", PMID: 3}).Set(3)
		src.Notify(pdu.ChangeAddAgent)
		if err := r.stop(2 * time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s x.a=1", "1s x.a=1", "2s x.a=1", "3s x.b=2 x.a=1", "3.001s mark",
			"4s x.b=2 x.a=1", "5s y.z=3 x.b=2 x.a=1")
	})
}

// TestInstancesChange checks that instances that come and go are recorded with the values: as whole
// lists in version 2, and as deltas in version 3.
func TestInstancesChange(t *testing.T) {
	for version, indoms := range map[int][]string{
		2: {"indom +3 -0", "indom +4 -0", "indom +2 -0"},
		3: {"indom +3 -0", "indom delta +1 -0", "indom delta +0 -2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			src := &pmapitest.Source{}
			d := src.InDom("red", "green", "blue")
			value := func(time.Time, pdu.Instance) (int32, error) { return 1, nil }
			pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: 1, InDom: d, Value: value})
			pmapitest.Add(src, pmapitest.Metric[int32]{Name: "b", PMID: 2, InDom: d, Value: value})
			r := record(t, src, "log mandatory on 1 sec { a b }", logger.Options{Writer: archive.WriterOptions{Label: archive.Label{Version: version}}})
			r.wait(1500 * time.Millisecond)
			d.SetNames("red", "green", "blue", "pink")
			r.wait(time.Second)
			d.SetNames("pink", "blue")
			if err := r.stop(time.Second); err != nil {
				t.Error(err)
			}
			got := slices.DeleteFunc(r.metadata(), func(s string) bool { return !strings.HasPrefix(s, "indom") })
			want(t, "instance domains", got, indoms...)
			records := r.records()
			if len(records) != 4 || !strings.HasSuffix(records[3], "a=3:1,2:1") {
				t.Errorf("records %q", records)
			}
		})
	}
}

// TestInstanceLists checks that only the requested instances are recorded, with a profile for each
// group.
func TestInstanceLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{}
		d := src.InDom("red", "green", "blue")
		value := func(time.Time, pdu.Instance) (int32, error) { return 1, nil }
		for i, name := range []string{"a", "b", "c"} {
			pmapitest.Add(src, pmapitest.Metric[int32]{Name: name, PMID: pdu.PMID(i + 1), InDom: d, Value: value})
		}
		r := record(t, src, `log mandatory on 1 sec { a["red"] b c["blue"] }`, logger.Options{})
		if err := r.stop(500 * time.Millisecond); err != nil {
			t.Error(err)
		}
		// a and c share a group, and get each other's instances, as in pmlogger
		want(t, "records", r.records(), "0s b=0:1,1:1,2:1", "0s c=0:1,2:1 a=0:1,2:1")
	})
}

// TestMetadata checks that metadata comes with the first values of a metric, in the order of
// pmlogger, and that labels that change are recorded.
func TestMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{Labels: `{"site":"here"}`}
		d := src.InDom("red", "green")
		d.SetLabels(`{"model":"RGB"}`, func(i pdu.Instance) string { return `{"name":"` + i.Name + `"}` })
		value := func(time.Time, pdu.Instance) (int32, error) { return 1, nil }
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: pdu.MakePMID(60, 0, 1), InDom: d, Value: value, Text: "line", Help: "help", Labels: `{"own":1}`})
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "b", PMID: pdu.MakePMID(60, 0, 0), Text: "other", Help: "more"})
		src.SetLabels(pdu.LabelDomain, 60, `{"agent":"linux"}`)
		r := record(t, src, "log mandatory on 1 sec { a b }", logger.Options{})
		r.wait(1500 * time.Millisecond)
		src.SetLabels(pdu.LabelDomain, 60, `{"agent":"other"}`)
		d.SetNames("red", "green", "blue")
		if err := r.stop(time.Second); err != nil {
			t.Error(err)
		}
		want(t, "metadata", r.metadata(), "desc a", `labels context {"site":"here"}`, `labels domain {"agent":"linux"}`, `labels indom {"model":"RGB"}`,
			`labels pmid {"own":1}`, `labels instances {"name":"red"} {"name":"green"}`, "text 5 line", "text 6 help", "indom +2 -0",
			"desc b", "text 5 other", "text 6 more",
			`labels domain {"agent":"other"}`, "indom delta +1 -0", `labels instances {"name":"red"} {"name":"green"} {"name":"blue"}`)
	})
}

// TestClockBack checks that a clock that is set back stops recording until it has caught up.
func TestClockBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		r.wait(2500 * time.Millisecond)
		src.Advance(-3 * time.Second)
		if err := r.stop(5 * time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s a=1", "1s a=1", "2s a=1", "2s mark", "2s a=1", "3s a=1", "4s a=1")
		want(t, "events", r.kinds(), "clockBack", "clockCaughtUp", "Ended")
	})
}

// TestFailures checks that a metric that fails has its error in the record, and that a fetch that
// fails makes no record.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, m := sourceOf("a", "b")
		r := record(t, src, "log mandatory on 1 sec { a b }", logger.Options{})
		r.wait(500 * time.Millisecond)
		m[0].Fail(pdu.ErrAgain)
		r.wait(time.Second)
		src.FailFetch(pdu.ErrPermission)
		r.wait(time.Second)
		src.FailFetch(nil)
		m[0].Fail(nil)
		m[0].Set(9)
		if err := r.stop(time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s b=2 a=1", "1s b=2 a!", "3s b=2 a=9")
		want(t, "events", r.kinds(), "groupFailed", "Ended")
	})
}

// TestOnceFails checks that a metric for one record only is tried again until it is recorded.
func TestOnceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		r := record(t, src, "log mandatory on once a", logger.Options{})
		r.wait(10 * time.Millisecond)
		src.FailFetch(nil)
		if err := r.stop(5 * time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s a=1")
	})
}

// TestEvents checks that the parameters of event records are described, too.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{}
		user := pmapitest.Add(src, pmapitest.Metric[string]{Name: "login.user"})
		logins := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "login.records"})
		r := record(t, src, "log mandatory on 1 sec login.records", logger.Options{})
		r.wait(500 * time.Millisecond)
		logins.Record(pdu.EventPoint, user.Param("ann"))
		if err := r.stop(time.Second); err != nil {
			t.Error(err)
		}
		want(t, "metadata", r.metadata(), "desc login.records", "desc login.user")
		if n := len(r.records()); n != 2 {
			t.Errorf("%d records", n)
		}
	})
}

// TestDerived checks that derived metrics are recorded with the PMIDs that they have in archives,
// also if a name has only derived metrics below it.
func TestDerived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{Derived: new(pmapi.Derived)}
		if err := src.Derived.Define("my.sum", "a + a"); err != nil {
			t.Fatal(err)
		}
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "a", PMID: 1}).Set(4)
		r := record(t, src, "log mandatory on 1 sec { a my }", logger.Options{})
		if err := r.stop(500 * time.Millisecond); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s my.sum=8 a=4")
		r.each(func(rec *archive.Record, set *archive.Set) {
			if rec.Kind != archive.KindDesc {
				return
			}
			if m, err := rec.Metric(); err != nil || m.Names[0] == "my.sum" && !m.PMID.IsLoggedDerived() {
				t.Errorf("%+v, %v", m, err)
			}
		})
	})
}

// TestControl checks the states after requests of pmlc, and the records.
func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &pmapitest.Source{}
		d := src.InDom("red", "green")
		value := func(time.Time, pdu.Instance) (int32, error) { return 1, nil }
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: 1, Value: value})
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "b", PMID: 2, Value: value})
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "c", PMID: 3, InDom: d, Value: value})
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "d", PMID: 4, InDom: d, Value: value})
		r := record(t, src, "log mandatory on 1 sec a log advisory on 2 sec b", logger.Options{})
		r.wait(1500 * time.Millisecond)
		control := func(c logger.Control, s logger.State, interval time.Duration, id pdu.PMID, insts ...pdu.InstID) string {
			states, err := r.l.Control(t.Context(), c, s, interval, []logger.Target{{PMID: id, Insts: insts}})
			if err != nil {
				return err.Error()
			}
			synctest.Wait()
			return states1(states[0])
		}
		for _, c := range []struct{ what, got, want string }{
			{"advisory on mandatory", control(logger.Advisory, logger.Off, 0, 1), "-1: mandatory on 1s, available, logged"},
			{"mandatory off", control(logger.Mandatory, logger.Off, 0, 1), "-1: mandatory off, available, logged"},
			{"maybe", control(logger.Mandatory, logger.Maybe, 0, 1), "-1: advisory off, available, logged"},
			{"maybe of an advisory one", control(logger.Mandatory, logger.Maybe, 0, 2), "-1: advisory off, available, logged"},
			{"a new metric's instance", control(logger.Mandatory, logger.On, time.Second, 3, 1), "1: mandatory on 1s"},
			{"unknown metric", control(logger.Mandatory, logger.On, time.Second, 99), "Unknown or illegal metric identifier"},
			{"advisory maybe", control(logger.Advisory, logger.Maybe, 0, 1), pdu.ErrArg.Error()},
		} {
			if !strings.HasSuffix(c.got, c.want) {
				t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
			}
		}
		r.wait(time.Second)
		states, err := r.l.Enquire(t.Context(), []logger.Target{{PMID: 3}})
		if err != nil || states1(states[0]) != "0: advisory off; 1: mandatory on 1s, available, logged" {
			t.Errorf("%v %v", states, err)
		}
		if got := control(logger.Advisory, logger.On, time.Second, 3, 0); got != "0: advisory on 1s" {
			t.Error(got)
		}
		if got := control(logger.Mandatory, logger.On, 2*time.Second, 3); got != "0: mandatory on 2s, available, logged; 1: mandatory on 2s, available, logged" {
			t.Error(got)
		}
		if got := control(logger.Mandatory, logger.On, time.Second, 3, 0); got != "0: mandatory on 2s, available, logged" {
			t.Error("an instance of a metric that is recorded with all:", got)
		}
		control(logger.Mandatory, logger.Off, 0, 4)
		if got := control(logger.Mandatory, logger.On, time.Second, 4, 0); got != "0: mandatory off" {
			t.Error("an instance of a metric that is off with all:", got)
		}
		if err := r.stop(time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s a=1", "0s b=1", "1s a=1", "1.48s c=1:1", "2.48s c=1:1", "2.48s c=0:1", "2.48s c=0:1,1:1")
	})
}

// TestConcurrentUse uses a logger from other goroutines while it runs.
func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a", "b")
		r := record(t, src, "log mandatory on 10 msec { a b }", logger.Options{})
		done := make(chan bool)
		for range 4 {
			go func() {
				defer func() { done <- true }()
				for range 50 {
					r.l.Status()
					_, _ = r.l.NewVolume("pmlc request")
					_, _ = r.l.Enquire(t.Context(), []logger.Target{{PMID: pdu.MakePMID(60, 0, 0)}})
					_, _ = r.l.Control(t.Context(), logger.Mandatory, logger.On, 20*time.Millisecond, []logger.Target{{PMID: pdu.MakePMID(60, 0, 1)}})
					_ = r.l.Sync()
					time.Sleep(7 * time.Millisecond)
				}
			}()
		}
		for range 4 {
			<-done
		}
		if err := r.stop(0); err != nil {
			t.Error(err)
		}
		if n := len(r.records()); n < 30 {
			t.Errorf("%d records", n)
		}
	})
}

// TestControlLimits checks that clients cannot make a logger keep or send any number of instances.
func TestControlLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const insts, targets, most, named = 1 << 12, 300, 1 << 20, 1 << 13
		src := new(pmapitest.Source)
		names := make([]string, insts)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: 1, InDom: src.InDom(names...)})
		r := record(t, src, "", logger.Options{Linger: true})
		r.wait(time.Second)
		states, err := r.l.Enquire(t.Context(), slices.Repeat([]logger.Target{{PMID: 1}}, targets))
		if err != nil {
			t.Fatal(err)
		}
		values, big := 0, 0
		for _, s := range states {
			values += len(s.Values)
			if errors.Is(s.Err, pdu.ErrTooBig) {
				big++
			}
		}
		if values != most || big != targets-most/insts {
			t.Errorf("%d values, %d metrics too many", values, big)
		}
		for _, tt := range []struct {
			from, to int
			interval time.Duration
			err      error
		}{
			{0, named, time.Minute, nil},
			{named, named + 1, time.Minute, pdu.ErrTooBig},
			{0, named, time.Hour, nil},
		} {
			target := logger.Target{PMID: 1}
			for i := tt.from; i < tt.to; i++ {
				target.Insts = append(target.Insts, pdu.InstID(i))
			}
			states, err := r.l.Control(t.Context(), logger.Advisory, logger.On, tt.interval, []logger.Target{target})
			if err != nil || !errors.Is(states[0].Err, tt.err) {
				t.Errorf("%d..%d: %v, %v", tt.from, tt.to, states[0].Err, err)
			}
		}
		if err := r.stop(time.Second); err != nil {
			t.Error(err)
		}
	})
}

// TestControlOfMany checks that a logger records while it asks the collector about the many metrics
// of a request.
func TestControlOfMany(t *testing.T) {
	pcptest.Attack(t, func() { synctest.Test(t, testControlOfMany) }, nil)
}

func testControlOfMany(t *testing.T) {
	many := pcptest.AttackSize(300, 4000)
	src := new(pmapitest.Source)
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: 1}).Set(1)
	var targets []logger.Target
	d := src.InDom("red", "green")
	for i := range many {
		id := pdu.MakePMID(60, 1+i>>10, i&1023)
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: fmt.Sprint("b.m", i), PMID: id, InDom: d}).Set(1, 1)
		targets = append(targets, logger.Target{PMID: id, Insts: []pdu.InstID{0}})
	}
	r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
	r.wait(1500 * time.Millisecond)
	src.SetDelay(10 * time.Millisecond)
	for name, f := range map[string]func() ([]logger.MetricState, error){
		"Enquire": func() ([]logger.MetricState, error) { return r.l.Enquire(t.Context(), targets) },
		"Control": func() ([]logger.MetricState, error) {
			return r.l.Control(t.Context(), logger.Advisory, logger.Off, 0, targets)
		},
	} {
		before := r.l.Status().Records
		began := time.Now()
		states, err := f()
		if err != nil || len(states) != many || states[many-1].Err != nil {
			t.Fatalf("%s: %d states, %v", name, len(states), err)
		}
		took := time.Since(began)
		if missed := int(took/time.Second) - (r.l.Status().Records - before); missed > 1 {
			t.Errorf("%s took %v, in which %d records are missing", name, took, missed)
		}
		t.Logf("%s of %d metrics took %v, in which %d records were made", name, many, took, r.l.Status().Records-before)
	}
	if err := r.stop(time.Second); err != nil {
		t.Error(err)
	}
}
