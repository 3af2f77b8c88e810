package fleetview

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// snapshot is that of the second tick of hosts with troubles. The test is in a bubble.
func snapshot(t *testing.T) *Snapshot {
	t.Helper()
	hosts := pmapitest.NewFleet(8, func(i int, src *pmapitest.Source) {
		pmapitest.Add(src, pmapitest.Metric[float64]{Name: "kernel.all.load", InDom: src.InDom("1 minute")}).Set(float64(i) * 400)
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "hinv.ncpu"}).Set(2)
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "mem.physmem"}).Set(1 << 20)
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "mem.util.available"}).Set(1 << uint(i))
		began := time.Now()
		pmapitest.Add(src, pmapitest.Metric[float64]{Name: "kernel.all.cpu.idle", Sem: pdu.SemCounter, Units: pdu.TimeMSec,
			Value: func(now time.Time, _ pdu.Instance) (float64, error) {
				return float64(now.Sub(began).Milliseconds() * int64(i) / 4), nil
			}})
	})
	hosts.Host("host2").Stop(errors.New("no route\nto host"))
	hosts.Host("host4").Restart(func(src *pmapitest.Source) {
		pmapitest.Add(src, pmapitest.Metric[float64]{Name: "kernel.all.load", InDom: src.InDom("1 minute")}).Set(1234567.8)
	})
	columns := Defaults()
	columns[1].Expr, columns[1].Metric, columns[2].Expr, columns[2].Metric = "", "hinv.ncpu", "", "mem.physmem" // the sources of a test have no derived ones
	f, err := NewFleet(new(pmapi.Dialer), columns)
	if err != nil {
		t.Fatal(err)
	}
	if err := hosts.AddTo(f); err != nil {
		t.Fatal(err)
	}
	n := 0
	for tick := range f.Every(t.Context(), time.Second) {
		if n++; n == 2 {
			return NewSnapshot(tick, columns)
		}
		hosts.Host("host3").Hang()
	}
	return nil
}

// text returns lines without colours. It prints the time of the snapshot as 12:00:01.
func text(s *Snapshot, l Layout, o Order) string {
	var b strings.Builder
	for _, line := range s.Lines(l, o) {
		b.Write(line)
		b.WriteByte('\n')
	}
	out := strings.ReplaceAll(b.String(), s.Time.Format(time.TimeOnly), "12:00:01")
	return strings.ReplaceAll(out, s.Time.Add(-time.Second).Format(time.TimeOnly), "12:00:00")
}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot(t)
		for _, tt := range []struct {
			name   string
			layout Layout
			order  Order
			want   string
		}{
			{"all", Layout{Hosts: 10}, Order{}, `
12:00:01  8 hosts: 6 up, 1 late, 1 down

host              *load      cpu %   memory %
host4        1.2346e+06          ?          ?
host8           2800.00       2.00 1.0486e+06
host7           2400.00       2.00 1.0486e+06
host6           2000.00       2.00 1.0486e+06
host5           1600.00       2.00 1.0486e+06
host1              0.00       2.00 1.0486e+06

host3         late since 12:00:01: no reply in time
host2         down since 12:00:00: no route\nto host
host4         hinv.ncpu: Unknown metric name; mem.physmem: Unknown metric name
`},
			{"no value last", Layout{Hosts: 6, Height: 12}, Order{Column: 1, Reverse: true}, `
12:00:01  8 hosts: 6 up, 1 late, 1 down

host               load     *cpu %   memory %
host1              0.00       2.00 1.0486e+06
host5           1600.00       2.00 1.0486e+06
host6           2000.00       2.00 1.0486e+06
host7           2400.00       2.00 1.0486e+06
host8           2800.00       2.00 1.0486e+06
host4        1.2346e+06          ?          ?

host3         late since 12:00:01: no reply in time
and 2 more
`},
			{"reversed, two", Layout{Hosts: 2}, Order{Column: 0, Reverse: true}, `
12:00:01  8 hosts: 6 up, 1 late, 1 down

host              *load      cpu %   memory %
host1              0.00       2.00 1.0486e+06
host5           1600.00       2.00 1.0486e+06

host3         late since 12:00:01: no reply in time
and 2 more
`},
			{"a small screen", Layout{Hosts: 9, Width: 30, Height: 9}, Order{Column: 1}, `
12:00:01  8 hosts: 6 up, 1 lat

host               load     *c
host1              0.00       
host5           1600.00       
host6           2000.00       
host7           2400.00       

and 3 more
`},
			{"a tiny screen", Layout{Hosts: 9, Width: 9, Height: 2}, Order{}, "\n12:00:01 \n\nhost     \n"},
			{"colours", Layout{Hosts: 1, Colour: true}, Order{}, "\n12:00:01  8 hosts: 6 up, 1 late, 1 down\n\n" +
				"\x1b[1mhost              *load      cpu %   memory %\x1b[0m\n" +
				"host4        1.2346e+06          ?          ?\n\nand 3 more\n"},
		} {
			if diff := cmp.Diff(tt.want, "\n"+text(s, tt.layout, tt.order)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	})
}

// TestLinesFit checks that the lines fit on screens of all sizes.
func TestLinesFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot(t)
		for height := range 30 {
			for width := 1; width < 100; width += 7 {
				for hosts := range 12 {
					lines := s.Lines(Layout{Hosts: hosts, Width: width, Height: height}, Order{})
					if height > headerLines && len(lines) > height {
						t.Errorf("%d lines for %d", len(lines), height)
					}
					for _, l := range lines {
						if len(l) > width {
							t.Errorf("%q is longer than %d", l, width)
						}
					}
				}
			}
		}
	})
}

func TestParse(t *testing.T) {
	metric := func(text string) (Column, error) { return ParseMetric(text) }
	expr := func(text string) (Column, error) { return ParseExpr(text, 7) }
	for _, tt := range []struct {
		text  string
		parse func(string) (Column, error)
		want  Column // zero for an error
	}{
		{"kernel.all.pswitch", metric, Column{Label: "pswitch", Metric: "kernel.all.pswitch"}},
		{`kernel.all.load["5 minute"]`, metric, Column{Label: "load[5 minute]", Metric: "kernel.all.load", Instance: "5 minute"}},
		{"a.b[c,d]", metric, Column{}},
		{"web1:a.b", metric, Column{}},
		{"", metric, Column{}},
		{"net = a.in + a.out", expr, Column{Label: "net", Metric: "fleet.column7", Expr: "a.in + a.out"}},
		{"net", expr, Column{}},
		{"=a", expr, Column{}},
		{"a=", expr, Column{}},
	} {
		if got, err := tt.parse(tt.text); (err == nil) != (tt.want != Column{}) || err == nil && got != tt.want {
			t.Errorf("%q: %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
	if _, err := NewFleet(new(pmapi.Dialer), []Column{{Metric: "fleet.x", Expr: "1 +"}}); !errors.Is(err, pdu.ErrBadDerive) {
		t.Errorf("an expression that is wrong: %v", err)
	}
}

// A fakeScreen records the drawn lines and delivers the keys that a test presses.
type fakeScreen struct {
	keys    chan terminal.Key
	resized chan os.Signal
	drawn   chan string // the first rows
	did     []string
}

func (f *fakeScreen) Draw(lines [][]byte) error {
	hosts := ""
	for _, l := range lines[3:] {
		if name, _, ok := strings.Cut(string(l), " "); ok {
			hosts += name + " "
		}
	}
	f.drawn <- hosts
	return nil
}

func (f *fakeScreen) Size() (width, height int) { return 80, 5 }
func (f *fakeScreen) Keys() <-chan terminal.Key { return f.keys }
func (f *fakeScreen) Resized() <-chan os.Signal { return f.resized }
func (f *fakeScreen) Redraw()                   { f.did = append(f.did, "redraw") }
func (f *fakeScreen) Suspend() error            { f.did = append(f.did, "suspend"); return nil }

// TestShow presses keys: drawings follow them, but not too often.
func TestShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot(t)
		screen := &fakeScreen{keys: make(chan terminal.Key), resized: make(chan os.Signal), drawn: make(chan string, 100)}
		snapshots := make(chan *Snapshot)
		shown := make(chan error)
		show := func(ctx context.Context) {
			go func() { shown <- Show(ctx, screen, 2, Order{}, snapshots) }()
		}
		ctx, cancel := context.WithCancel(t.Context())
		show(t.Context())
		screen.keys <- '2' // before there is anything to show
		await := func(what, want string) {
			t.Helper()
			began := time.Now()
			if got := <-screen.drawn; got != want {
				t.Errorf("%s: %q is drawn, want %q", what, got, want)
			}
			if d := time.Since(began); d > drawPause {
				t.Errorf("%s: drawn after %v", what, d)
			}
		}
		snapshots <- s
		await("snapshot", "host4 host8 ")
		for range 50 {
			snapshots <- s
			screen.keys <- 'x'
			screen.resized <- os.Interrupt
		}
		await("many at once", "host4 host8 ")
		screen.keys <- '2'
		await("key 2", "host1 host5 ")
		screen.keys <- 'r'
		screen.keys <- '1'
		screen.keys <- '9'
		await("keys r and 1", "host1 host5 ")
		screen.keys <- terminal.KeyRedraw
		screen.keys <- terminal.KeySuspend
		await("other keys", "host1 host5 ")
		if diff := cmp.Diff([]string{"redraw", "suspend"}, screen.did); diff != "" {
			t.Errorf("done (-want +got):\n%s", diff)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if n := len(screen.drawn); n != 0 {
			t.Errorf("%d drawings more", n)
		}
		ends := func(what string) {
			t.Helper()
			if err := <-shown; err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		screen.keys <- 'q'
		ends("q")
		show(t.Context())
		screen.keys <- terminal.KeyInterrupt
		ends("Ctrl-C")
		show(ctx)
		cancel()
		ends("the end of ctx")
		show(t.Context())
		close(screen.keys)
		ends("no terminal any longer")
		screen.keys = nil
		show(t.Context())
		close(snapshots)
		ends("no snapshots any longer")
	})
}
