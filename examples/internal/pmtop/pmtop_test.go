package pmtop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// A host is a synthetic host with two processors, two disks and an interface. Its values change by
// the same amount each second.
type host struct {
	*pmapitest.Source
	t *testing.T
}

func newHost(t *testing.T) *host {
	h := &host{&pmapitest.Source{Host: "web1", Start: noon}, t}
	for _, m := range [][2]string{{"machine", "x86_64"}, {"release", "6.1"}, {"sysname", "Linux"}} {
		pmapitest.Add(h.Source, pmapitest.Metric[string]{Name: "kernel.uname." + m[0], Sem: pdu.SemDiscrete}).Set(m[1])
	}
	minutes := h.InDom("1 minute", "5 minute", "15 minute")
	pmapitest.Add(h.Source, pmapitest.Metric[float64]{Name: "kernel.all.load", InDom: minutes}).Set(1.5, 0.75, 0.25)
	pmapitest.Add(h.Source, pmapitest.Metric[float64]{Name: "kernel.all.uptime", Units: pdu.TimeSec}).Set(100_000)

	processors := h.InDom("cpu0", "cpu1")
	for _, m := range []struct {
		name      string
		cpu0, cpu uint64 // milliseconds a second
	}{{"user", 800, 500}, {"nice", 100, 100}, {"sys", 50, 100}, {"intr", 0, 50}, {"wait.total", 0, 50}, {"steal", 0, 0}, {"idle", 50, 200}} {
		h.counters("kernel.percpu.cpu."+m.name, pdu.TimeMSec, processors, m.cpu0, m.cpu)
		h.counters("kernel.all.cpu."+m.name, pdu.TimeMSec, nil, m.cpu0+m.cpu)
	}
	for name, kbytes := range map[string]uint64{"mem.physmem": 16 << 20, "mem.util.free": 4 << 20, "mem.util.bufmem": 1 << 20, "mem.util.cached": 3 << 20,
		"mem.util.slabReclaimable": 0, "mem.util.available": 8 << 20, "mem.util.swapTotal": 2 << 20, "mem.util.swapFree": 2 << 20} {
		pmapitest.Add(h.Source, pmapitest.Metric[uint64]{Name: name, Units: pdu.SpaceKByte}).Set(kbytes)
	}
	disks := h.InDom("sda", "nvme0n1")
	for name, v := range map[string][2]uint64{"read": {10, 0}, "write": {0, 300}, "read_rawactive": {20, 0}, "write_rawactive": {0, 1500}, "avactive": {10, 900}} {
		units := pdu.UnitCount
		if strings.HasSuffix(name, "active") {
			units = pdu.TimeMSec
		}
		h.counters("disk.dev."+name, units, disks, v[0], v[1])
	}
	h.counters("disk.dev.read_bytes", pdu.SpaceKByte, disks, 40, 0)
	h.counters("disk.dev.write_bytes", pdu.SpaceKByte, disks, 0, 5000)
	cards := h.InDom("eth0")
	for name, v := range map[string]uint64{"in.bytes": 1 << 20, "out.bytes": 1000, "in.packets": 800, "out.packets": 12, "in.errors": 0, "out.errors": 1, "in.drops": 0, "out.drops": 0} {
		units := pdu.UnitCount
		if strings.HasSuffix(name, "bytes") {
			units = pdu.SpaceByte
		}
		h.counters("network.interface."+name, units, cards, v)
	}
	return h
}

// counters adds a metric whose instances grow at the given rates a second.
func (h *host) counters(name string, units pdu.Units, d *pmapitest.InDom, rates ...uint64) {
	pmapitest.Add(h.Source, pmapitest.Metric[uint64]{Name: name, Sem: pdu.SemCounter, Units: units, InDom: d,
		Value: func(now time.Time, i pdu.Instance) (uint64, error) {
			k := max(int(int32(i.ID)), 0)
			return rates[k] * uint64(now.Sub(noon)/time.Second), nil
		}})
}

// second reads the sample of the second fetch, which has rates.
func (h *host) second(specs ...pmapi.MetricSpec) *sample {
	h.t.Helper()
	ctx := context.Background()
	pc := h.Context()
	h.t.Cleanup(func() { pc.Close() })
	s, err := newSampler(ctx, pc, specs, false, time.Second)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := s.next(ctx); err != nil {
		h.t.Fatal(err)
	}
	h.Advance(2 * time.Second)
	got, err := s.next(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

func shown(lines []line, width int) string {
	var b []byte
	for _, l := range lines {
		b = append(l.appendTo(b, width, false), '\n')
	}
	return string(b)
}

func newView() *view { return &view{location: time.UTC, interval: 2 * time.Second} }

// TestView shows a host whose numbers are known.
func TestView(t *testing.T) {
	got := shown(newView().lines(newHost(t).second(), 100, 0), 100)
	want := ` web1  load 1.50 0.75 0.25  up 1 day 03:46  Linux 6.1 x86_64          2026-11-23 12:00:02  every 2s 
CPU   [||||||||||||||||||||##.   ]  85.0  user 75.0  system 10.0  wait  2.5  stolen  0.0  idle 12.5
   0  [||||||||||||||||||# ]  95.0     1  [||||||||||||###.    ]  75.0  

MEM   [|||||||||||......     ]  50.0 % of 16.0G  used 8.0G  buffers 1.0G  cache 3.0G  available 8.0G
SWAP  [                      ]   0.0 % of 2.0G  used 0

DISK           reads/s  writes/s  read B/s writ. B/s  await ms    busy %
nvme0n1              0       300         0      4.9M      5.00      90.0
sda               10.0         0     40.0K         0      2.00       1.0

NETWORK         in B/s   out B/s  in pkt/s out pkt/s  errors/s   drops/s
eth0              1.0M      1.0K       800      12.0      1.00         0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestChosen shows metrics of the user's choice: those below a name, some instances, texts, and
// what does not exist.
func TestChosen(t *testing.T) {
	h := newHost(t)
	pmapitest.Add(h.Source, pmapitest.Metric[pdu.Atom]{Name: "my.event", Type: pdu.TypeEvent})
	s := h.second(pmapi.MetricSpec{Metric: "kernel.all.load", Instances: []string{"5", "15 minute"}}, pmapi.MetricSpec{Metric: "mem.util.free"},
		pmapi.MetricSpec{Metric: "kernel.uname"}, pmapi.MetricSpec{Metric: "kernel.all.cpu.user"}, pmapi.MetricSpec{Metric: "disk.dev.read"},
		pmapi.MetricSpec{Metric: "no.such"}, pmapi.MetricSpec{Metric: "my.event"}, pmapi.MetricSpec{Metric: "kernel.all.uptime"})
	want := `METRIC               INSTANCE                     VALUE
kernel.all.load      5 minute                      0.75
kernel.all.load      15 minute                     0.25
mem.util.free                                      4.0G byte
kernel.uname.machine                             x86_64
kernel.uname.release                                6.1
kernel.uname.sysname                              Linux
kernel.all.cpu.user                               130.0 %
disk.dev.read        sda                           10.0 /s
disk.dev.read        nvme0n1                          0 /s
no.such                             Unknown metric name
my.event                       Unknown or illegal metric type
kernel.all.uptime                                100000 sec
`
	section := s.chosenSection(100)
	if diff := cmp.Diff(want, shown(append(section.fixed, section.rows...), 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNothing: a host without any of the metrics has a view, too.
func TestNothing(t *testing.T) {
	h := &host{&pmapitest.Source{Host: "bare\x1b[2J", Start: noon}, t}
	pmapitest.Add(h.Source, pmapitest.Metric[int64]{Name: "a.b"}).Set(3)
	got := shown(newView().lines(h.second(pmapi.MetricSpec{Metric: "a"}), 80, 0), 80)
	if !strings.Contains(got, `bare\x1b[2J `) || !strings.HasSuffix(got, "\nMETRIC VALUE\na.b        3\n") {
		t.Errorf("%q", got)
	}
}

// TestHeights: a view is as high as the screen, its lines no wider, and what does not fit is
// counted.
func TestHeights(t *testing.T) {
	s := newHost(t).second()
	s.tables[0].rows = nil
	for i := range 40 {
		s.tables[0].rows = append(s.tables[0].rows, row{name: fmt.Sprint("disk", i), cells: make([]float64, 6)})
	}
	for _, size := range []struct{ width, height int }{{100, 30}, {80, 24}, {40, 10}, {20, 3}, {10, 2}, {1, 1}} {
		lines := newView().lines(s, size.width, size.height)
		if len(lines) != size.height {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range strings.Split(shown(lines, size.width), "\n") {
			if n := text(l).width(); n > size.width {
				t.Errorf("%v: %q has %d characters", size, l, n)
			}
		}
	}
	for width := 1; width <= 120; width++ { // also where a piece of a line ends
		for _, l := range strings.Split(shown(newView().lines(s, width, 30), width), "\n") {
			if n := text(l).width(); n > width {
				t.Errorf("width %d: %q has %d characters", width, l, n)
			}
		}
	}
	all := shown(newView().lines(s, 100, 30), 100)
	if !strings.Contains(all, "\n… 23 more\n") || !strings.Contains(all, "eth0") || !strings.Contains(all, "3 disk  4 network") {
		t.Error(all)
	}
	v := newView()
	v.zoom, v.scroll = "disk", 1000
	zoomed := shown(v.lines(s, 100, 30), 100)
	if !strings.Contains(zoomed, "disk39") || strings.Contains(zoomed, "disk10 ") || v.scroll != 40-27 {
		t.Error(v.scroll, zoomed)
	}
	v.help = true
	if help := shown(v.lines(s, 100, 30), 100); !strings.Contains(help, "quit") || strings.Contains(help, "disk39") {
		t.Error(help)
	}
}

// TestNumbers checks the formats of numbers on the screen.
func TestNumbers(t *testing.T) {
	tests := []struct{ got, want string }{
		{count(0), "0"}, {count(0.001), "0.001"}, {count(1.234), "1.23"}, {count(12.34), "12.3"}, {count(1234.4), "1234"}, {count(123456), "123k"},
		{count(1.5e9), "1.5G"}, {count(-3), "-3.00"}, {count(unknown), "-"}, {count(1e40), "1" + strings.Repeat("0", 19) + "Z"},
		{whole(3), "3"}, {whole(2.5), "2.50"}, {whole(5e9), "5.0G"},
		{size(0), "0"}, {size(999), "999"}, {size(1000), "1.0K"}, {size(1536), "1.5K"}, {size(200 << 10), "200K"}, {size(3 << 40), "3.0T"}, {size(unknown), "-"},
		{percent(12.34), "12.3"}, {percent(unknown), "-"},
		{elapsed(90 * time.Minute), "01:30"}, {elapsed(25 * time.Hour), "1 day 01:00"}, {elapsed(50*time.Hour + time.Minute), "2 days 02:01"},
	}
	for i, test := range tests {
		if test.got != test.want {
			t.Errorf("%d: %q, want %q", i, test.got, test.want)
		}
	}
}

// TestStyled: colours are around the text that they belong to, and a line that is cut ends plain.
func TestStyled(t *testing.T) {
	l := line{{"ab", hot}, {text: "cd"}, {"éf", bold}}
	if got, want := string(l.appendTo(nil, 5, true)), "\x1b[31mab\x1b[0mcd\x1b[1mé\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := string(l.appendTo(nil, 4, true)), "\x1b[31mab\x1b[0mcd"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := string(l.appendTo(nil, 0, true)), "\x1b[31mab\x1b[0mcd\x1b[1méf\x1b[0m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLost: a broken connection is an error of one sample.
func TestLost(t *testing.T) {
	ctx := context.Background()
	h := newHost(t)
	pc := h.Context()
	defer pc.Close()
	s, err := newSampler(ctx, pc, nil, false, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.next(ctx); err != nil {
		t.Fatal(err)
	}
	h.Break(errors.New("the cable"))
	if _, err := s.next(ctx); err == nil {
		t.Error("no error")
	}
	if _, err := s.next(ctx); err == nil {
		t.Error("no error while there is no collector")
	}
	h.Restore()
	h.Advance(time.Minute)
	if _, err := s.next(ctx); err != nil {
		t.Error(err)
	}
}
