// Package pmapitest makes sources of metrics for tests of programs that use package pmapi. A test
// sets the metrics, values, faults and time of a [Source]. Its contexts need no collector and no
// socket. This test of a function alarms takes no time, although it fetches for five seconds:
//
//	var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.Local)
//
//	func TestAlarms(t *testing.T) {
//		src := &pmapitest.Source{Start: noon, End: noon.Add(5 * time.Second)}
//		pmapitest.Add(src, pmapitest.Metric[float64]{
//			Name: "kernel.all.load", InDom: src.InDom("1 minute", "5 minute", "15 minute"),
//			Value: func(now time.Time, _ pdu.Instance) (float64, error) {
//				if now.Equal(noon) {
//					return 0, pdu.ErrPMDANotReady
//				}
//				return now.Sub(noon).Seconds(), nil
//			},
//		})
//		got := alarms(t.Context(), src.Context(), 3)
//		if want := []string{"12:00:00", "12:00:04", "12:00:05"}; !slices.Equal(got, want) {
//			t.Errorf("alarms at %q, want %q", got, want)
//		}
//	}
//
// The code under test uses the context like any other:
//
//	func alarms(ctx context.Context, c *pmapi.Context, limit float64) (at []string) {
//		g := c.Group()
//		load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
//		for now := range g.Every(ctx, time.Second) {
//			if v, err := load.Value(); err != nil || v > limit {
//				at = append(at, now.Format(time.TimeOnly))
//			}
//		}
//		return at
//	}
//
// The file monitor_test.go of this package has these functions, and the same test with a collector.
//
// # Metrics
//
// [Add] adds a metric to a source. Its values are Go values: Metric.Set sets them, or the function
// Value computes them at each fetch. Instance domains, help texts and labels are optional.
//
//	ncpu := pmapitest.Add(src, pmapitest.Metric[float64]{Name: "hinv.ncpu"})
//	ncpu.Set(4)
//
// Metrics and instances may appear, disappear, and change their names and PMIDs at any time. The
// next fetch of each context reports changed metrics, as with a collector. [AddEvents] adds a
// metric of event records; each context gets every record once.
//
// The semantics and units of a metric matter to rates, to pmapi.Scale and to derived metrics. A
// counter of CPU time has Sem: pdu.SemCounter and Units: pdu.TimeMSec. Derived metrics come from
// the field Derived of a source and from pmapi.Context.Derive.
//
// # Time
//
// A source with a Start has its own time. It passes only with Source.Advance, with delays, and
// with the pauses of pmapi.Group.Every, which take no real time. Without a Start, a source uses the
// time of package time, which testing/synctest makes virtual for the whole program.
//
// After the End of a source, fetches fail as at the end of an archive, which ends a loop over Every
// despite any faults. A test of such a loop sets the End.
//
// # Faults
//
//   - [Metric.Fail] makes one metric fail, and [Source.FailFetch] every fetch.
//   - [Source.Break] breaks the connections. After [Source.Restore] contexts can reconnect, by
//     Context.Reconnect or automatically with AutoReconnect, which reports a *pmapi.Gap.
//   - [Source.BreakAt] does both at given times of the source.
//   - [Source.SetDelay] delays every request.
//   - The function Source.OnRequest is called before every request, and can delay it or make it
//     fail.
//
// This loses the connection from second 2 to second 4:
//
//	src.BreakAt(noon.Add(2*time.Second), noon.Add(4*time.Second))
//
// # Archives
//
// [Replay] returns a source that replays archives as a live host, at once or at a chosen speed. A
// test can run a monitor on a recorded day, with faults in it.
//
// # Many hosts
//
// [NewFleet] makes hosts with the names host1, host2 and so on, for tests of programs that use
// pmapi.Fleet. Each host has a Source. A test stops and starts a host, makes it hang or slow, and
// replaces its metrics.
//
//	func TestOutages(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			hosts := pmapitest.NewFleet(100, func(i int, src *pmapitest.Source) {
//				pmapitest.Add(src, pmapitest.Metric[float64]{Name: "load"}).Set(float64(i))
//			})
//			f := &pmapi.Fleet[*pmapi.Item[float64]]{
//				Items: func(g *pmapi.Group) *pmapi.Item[float64] {
//					return pmapi.Add[float64](g, "load")
//				},
//			}
//			if err := hosts.AddTo(f); err != nil {
//				t.Fatal(err)
//			}
//			time.AfterFunc(1500*time.Millisecond, hosts.Host("host42").Hang)
//			time.AfterFunc(3500*time.Millisecond, func() { hosts.Host("host7").Stop(nil) })
//			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
//			defer cancel()
//			if got := outages(ctx, f); !slices.Equal(got, []string{"host42", "host7"}) {
//				t.Errorf("outages of %q", got)
//			}
//		})
//	}
//
// # Collectors and agents
//
// A monitor can also be tested together with a collector and an agent. pmapi.Local connects them
// without a socket, so in a bubble of testing/synctest time passes only while all of them wait.
// TestAlarmsWithCollector in the file monitor_test.go is such a test.
//
// # Concurrency
//
// All methods are safe for concurrent use. Functions of the test are called without locks, so they
// may call any method.
package pmapitest
